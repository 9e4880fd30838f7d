// Takes the fingerprints of this process's files, and compares them with those of process 0.
#include "engine/job/SameFiles.h"

#include "engine/job/ReadFiles_generated.h"
#include "engine/tables/Tables.h"

#include <fmt/format.h>

namespace npar::job {

std::vector<uint8_t> pack(const std::vector<ReadFile> &files) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::ReadFile>> all;
  for (const ReadFile &file : files) {
    std::vector<flatbuffers::Offset<wire::FingerprintPart>> parts;
    for (const files::Fingerprint::Part &part : file.fingerprint.parts)
      parts.push_back(wire::CreateFingerprintPartDirect(builder, part.what.c_str(), part.hash.c_str()));
    all.push_back(wire::CreateReadFileDirect(builder, file.path.c_str(), file.fingerprint.bytes, &parts));
  }
  return tables::finish(builder, wire::CreateReadFilesDirect(builder, &all));
}

engine::Result<std::vector<ReadFile>> unpackFiles(const std::vector<uint8_t> &bytes) {
  auto *message = tables::read<wire::ReadFiles>(bytes);
  if (!message)
    return engine::Status::internal("internal error: the processes of the job perform different operations");
  std::vector<ReadFile> files;
  for (const wire::ReadFile *each : *message->files()) {
    ReadFile file{each->path()->str(), {each->bytes(), {}}};
    for (const wire::FingerprintPart *part : *each->parts())
      file.fingerprint.parts.push_back({part->what()->str(), part->hash()->str()});
    files.push_back(std::move(file));
  }
  return files;
}

/// Describes the first difference between two files' paths or fingerprints; empty if they agree.
static std::string difference(const ReadFile &first, const ReadFile &other, const std::string &firstName, const std::string &otherName) {
  if (first.path != other.path)
    return fmt::format("{} reads '{}', but {} reads '{}': all processes of a job must read the same files", otherName, other.path,
                       firstName, first.path);
  const files::Fingerprint &here = first.fingerprint, &there = other.fingerprint;
  std::string what, one, two;
  if (here.bytes != there.bytes)
    what = "it has", one = fmt::format("{} bytes", here.bytes), two = fmt::format("{} bytes", there.bytes);
  for (size_t i = 0; what.empty() && i < here.parts.size() && i < there.parts.size(); ++i)
    if (here.parts[i].hash != there.parts[i].hash)
      what = fmt::format("the hash of its {} is", here.parts[i].what), one = here.parts[i].hash, two = there.parts[i].hash;
  if (what.empty())
    return "";
  return fmt::format("'{}' differs between {} and {}: {} {} in the first, {} in the second\nnpar: help: put the same copy on all hosts",
                     first.path, otherName, firstName, what, two, one);
}

std::vector<std::string> differences(const std::vector<std::vector<ReadFile>> &processes, const std::vector<std::string> &names) {
  constexpr size_t most = 8;
  std::vector<std::string> texts;
  const std::vector<ReadFile> &first = processes.front();
  for (size_t process = 1; process < processes.size(); ++process) {
    const std::vector<ReadFile> &other = processes[process];
    if (other.size() != first.size()) {
      texts.push_back(fmt::format("{} reads {} files, but {} reads {}: all processes of a job must read the same files", names[process],
                                  other.size(), names[0], first.size()));
      continue;
    }
    for (size_t i = 0; i < first.size(); ++i)
      if (std::string text = difference(first[i], other[i], names[0], names[process]); !text.empty())
        texts.push_back(text);
  }
  if (size_t all = texts.size(); all > most) {
    texts.resize(most);
    texts.push_back(fmt::format("... and {} more differences", all - most));
  }
  return texts;
}

} // namespace npar::job
