// Reads and writes cache entries: a line with the key and the hash, then the object.
#include "compiler/codegen/Cache.h"

#include "engine/files/CodeFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

namespace npar::codegen {

static std::string hash(llvm::StringRef text) {
  llvm::XXH128_hash_t value = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return llvm::utohexstr(value.high64, true, 16) + llvm::utohexstr(value.low64, true, 16);
}

// The file that holds this code: a rebuilt compiler shares no entries with its predecessor.
static const std::string &buildIdentity() {
  static const std::string identity = [] {
    std::string path = files::fileOfCode(reinterpret_cast<const void *>(&buildIdentity));
    auto file = llvm::MemoryBuffer::getFile(path, false, false);
    return file ? hash((*file)->getBuffer()) : std::string("unknown");
  }();
  return identity;
}

/// The first line of an entry.
static std::string lineOf(llvm::StringRef key, llvm::StringRef object) {
  return "npar kernel 2 " + key.str() + " " + hash((key + "\n" + object).str()) + "\n";
}

KernelCache::KernelCache(std::string given, bool enabled) {
  files::CachePlace place = given.empty() ? files::cachePlace("kernels") : files::CachePlace{std::move(given), "", false};
  if (!enabled || place.root.empty() || buildIdentity() == "unknown")
    return;
  engine::Result<files::PrivateFolder> opened = files::PrivateFolder::open(place.root, place.below);
  std::string why = opened.ok() ? "" : opened.status().message();
  if (opened.ok() && llvm::sys::fs::access(place.path(), llvm::sys::fs::AccessMode::Write))
    why = "'" + place.path() + "' cannot be written";
  bool refused = opened.status().code() == engine::Code::CheckFailed;
  if (why.empty())
    folder.emplace(std::move(*opened));
  else if (place.asked || refused) // the default place may be missing without a word
    complaint = "'" + place.path() + "'" + (place.asked ? " (NPAR_CACHE)" : "") + " cannot store kernels: " + why +
                "; all kernels are compiled each time";
}

std::string KernelCache::key(llvm::StringRef source) const { return hash((buildIdentity() + "\n" + source).str()); }

std::optional<std::string> KernelCache::find(llvm::StringRef key) const {
  constexpr uint64_t largest = uint64_t{1} << 30;
  if (!folder)
    return std::nullopt;
  engine::Result<std::optional<std::vector<uint8_t>>> bytes = folder->read((key + ".o").str(), largest);
  if (!bytes.ok() || !*bytes)
    return std::nullopt;
  llvm::StringRef text(reinterpret_cast<const char *>((*bytes)->data()), (*bytes)->size());
  llvm::StringRef object = text.substr(std::min(text.size(), text.find('\n') + 1));
  if (text.drop_back(object.size()) != lineOf(key, object))
    return std::nullopt;
  return object.str();
}

void KernelCache::put(llvm::StringRef key, llvm::StringRef object) const {
  if (!folder)
    return;
  std::string entry = lineOf(key, object) + object.str();
  (void)folder->write((key + ".o").str(), entry.data(), entry.size()); // a cache that cannot be written costs time, nothing else
}

} // namespace npar::codegen
