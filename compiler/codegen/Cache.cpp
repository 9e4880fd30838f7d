// Reads and writes cache entries: a line with the hash of the object, then the object.
#include "compiler/codegen/Cache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <dlfcn.h>

namespace npar::codegen {

static std::string hash(llvm::StringRef text) {
  llvm::XXH128_hash_t value = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return llvm::utohexstr(value.high64, true, 16) + llvm::utohexstr(value.low64, true, 16);
}

// The file that holds this code: a rebuilt compiler shares no entries with its predecessor.
static const std::string &buildIdentity() {
  static const std::string identity = [] {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&buildIdentity), &info) || !info.dli_fname)
      return std::string("unknown");
    auto file = llvm::MemoryBuffer::getFile(llvm::sys::fs::exists(info.dli_fname) ? info.dli_fname : "/proc/self/exe", false, false);
    return file ? hash((*file)->getBuffer()) : std::string("unknown");
  }();
  return identity;
}

KernelCache::KernelCache(std::string given, bool enabled) : folder(std::move(given)) {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (folder.empty())
    folder = variable("NPAR_CACHE");
  if (folder.empty() && !variable("XDG_CACHE_HOME").empty())
    folder = variable("XDG_CACHE_HOME") + "/npar/kernels";
  if (folder.empty() && !variable("HOME").empty())
    folder = variable("HOME") + "/.cache/npar/kernels";
  if (!enabled || buildIdentity() == "unknown")
    folder.clear();
  if (folder.empty())
    return;
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error && !llvm::sys::fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error)
    error = llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  if (!error)
    return;
  if (folder == variable("NPAR_CACHE")) // asked for; the default place may be missing without a word
    complaint = "'" + folder + "' (NPAR_CACHE) cannot keep kernels: " + error.message() + "; all are compiled each time";
  folder.clear();
}

std::string KernelCache::key(llvm::StringRef source) const { return hash((buildIdentity() + "\n" + source).str()); }

std::optional<std::string> KernelCache::find(llvm::StringRef key) const {
  if (folder.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(folder + "/" + key + ".o", false, false);
  if (!file)
    return std::nullopt;
  auto [line, object] = (*file)->getBuffer().split('\n');
  if (line != hash(object))
    return std::nullopt;
  return object.str();
}

void KernelCache::put(llvm::StringRef key, llvm::StringRef object) const {
  if (folder.empty())
    return;
  int descriptor;
  llvm::SmallString<128> temporary;
  if (llvm::sys::fs::createUniqueFile(folder + "/" + key + "-%%%%%%%%.tmp", descriptor, temporary))
    return;
  llvm::raw_fd_ostream stream(descriptor, true);
  stream << hash(object) << '\n' << object;
  stream.close();
  bool written = !stream.has_error();
  stream.clear_error();
  if (!written || llvm::sys::fs::rename(temporary, folder + "/" + key + ".o"))
    llvm::sys::fs::remove(temporary);
}

} // namespace npar::codegen
