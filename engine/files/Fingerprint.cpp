// Hashes chosen parts of a file.
#include "engine/files/Fingerprint.h"
#include "engine/files/StreamHash.h"

#include "engine/files/ClassFolders.h"
#include "engine/files/Ending.h"
#include "engine/files/Folders.h"
#include "engine/files/RangeFile.h"

#include <algorithm>
#include <cstdio>
#include <xxhash.h>

namespace npar::files {

using engine::Result;
using engine::Status;

namespace {

constexpr uint64_t endBytes = 64 << 10, blockBytes = 4 << 10, blocks = 64, bufferBytes = 4 << 20;

struct Range {
  uint64_t begin, size;
};

Result<std::string> hashOf(const RangeFile &file, const std::vector<Range> &ranges) {
  std::vector<uint8_t> buffer;
  StreamHash hash;
  Status status;
  for (const Range &range : ranges)
    for (uint64_t at = 0; at < range.size && status.ok(); at += bufferBytes) {
      buffer.resize(std::min(bufferBytes, range.size - at));
      status = file.read(range.begin + at, buffer.size(), buffer.data());
      hash.add(buffer.data(), buffer.size());
    }
  if (!status.ok())
    return status;
  return hash.text();
}

/// Ascending; the same for files of the same length.
std::vector<Range> blocksOf(uint64_t size, uint64_t seed) {
  std::vector<uint64_t> begins;
  for (uint64_t i = 0, count = size / blockBytes; i < blocks && count > 0; ++i)
    begins.push_back(XXH3_64bits_withSeed(&i, sizeof(i), seed) % count * blockBytes);
  std::sort(begins.begin(), begins.end());
  std::vector<Range> ranges;
  for (uint64_t begin : begins)
    ranges.push_back({begin, blockBytes});
  return ranges;
}

/// The names of the pictures in the sub-folders of a folder: "ants/0013.jpg", or without sub-folders in the folder itself. No other file
/// and no hidden folder belongs to the data.
Result<std::vector<std::string>> filesOfClasses(const std::string &folder) {
  std::vector<std::string> all;
  TRY(std::vector<std::string> names, classesIn(folder));
  for (const std::string &name : names) {
    TRY(std::vector<std::string> inside, namesIn(folder + "/" + name));
    for (const std::string &file : inside)
      if (isPictureName(file))
        all.push_back(name + "/" + file);
  }
  if (names.empty()) { // pictures without classes
    TRY(std::vector<std::string> inside, namesIn(folder));
    for (const std::string &file : inside)
      if (isPictureName(file))
        all.push_back(file);
  }
  return all;
}

/// Hashes the names and, of each chosen file, its whole contents.
Result<Fingerprint> fingerprintOfFolder(const std::string &path, FingerprintKind kind, uint64_t seed) {
  TRY(std::vector<std::string> names, filesOfClasses(path));
  StreamHash ofNames, ofContents;
  for (const std::string &name : names)
    ofNames.add(name.c_str(), name.size() + 1);
  std::vector<size_t> chosen;
  for (uint64_t i = 0; i < (kind == FingerprintKind::Full ? names.size() : std::min<size_t>(names.size(), blocks)); ++i)
    chosen.push_back(kind == FingerprintKind::Full ? i : XXH3_64bits_withSeed(&i, sizeof(i), seed) % names.size());
  for (size_t index : chosen) {
    const std::string file = path + "/" + names[index];
    if (isFolder(file))
      continue;
    TRY(RangeFile opened, RangeFile::open(file, "file"));
    TRY(std::string hash, hashOf(opened, {{0, opened.size()}}));
    ofContents.add(hash.data(), hash.size());
  }
  return Fingerprint{0, {{"file names", ofNames.text()}, {"contents of " + std::to_string(chosen.size()) + " files", ofContents.text()}}};
}

} // namespace

Result<Fingerprint> fingerprintOf(const std::string &path, FingerprintKind kind, uint64_t seed) {
  if (isFolder(path))
    return fingerprintOfFolder(path, kind, seed);
  Result<RangeFile> file = RangeFile::open(path, "file");
  if (!file.ok())
    return file.status();
  Fingerprint fingerprint;
  fingerprint.bytes = file->size();
  const uint64_t size = file->size(), end = std::min(size, endBytes);
  std::vector<std::pair<std::string, std::vector<Range>>> parts;
  switch (kind) {
  case FingerprintKind::Sampled:
    parts = {{"first " + std::to_string(end) + " bytes", {{0, end}}},
             {"last " + std::to_string(end) + " bytes", {{size - end, end}}},
             {std::to_string(blocks) + " blocks of " + std::to_string(blockBytes) + " bytes", blocksOf(size, seed)}};
    break;
  case FingerprintKind::Full:
    parts = {{std::to_string(size) + " bytes", {{0, size}}}};
    break;
  }
  for (const auto &[what, ranges] : parts) {
    Result<std::string> hash = hashOf(*file, ranges);
    if (!hash.ok())
      return hash.status();
    fingerprint.parts.push_back({what, *hash});
  }
  return fingerprint;
}

} // namespace npar::files
