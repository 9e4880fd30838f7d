// Loads the native code that travels inside a compiled program, from memory.
#include "engine/backends/cpu/KernelObject.h"

#include "engine/files/Descriptor.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

namespace npar::engine {

namespace {
using Key = std::pair<uint64_t, uint64_t>;
std::mutex loadedMutex;
std::map<Key, std::weak_ptr<KernelObject>> loadedObjects;
} // namespace

Result<std::shared_ptr<KernelObject>> KernelObject::load(const uint8_t *bytes, size_t size) {
  XXH128_hash_t hash = XXH3_128bits(bytes, size);
  std::lock_guard<std::mutex> lock(loadedMutex);
  std::weak_ptr<KernelObject> &known = loadedObjects[{hash.high64, hash.low64}];
  if (std::shared_ptr<KernelObject> object = known.lock())
    return object;

  auto failure = [](const std::string &what) { return Status::runFailed("cannot load the program's kernels: " + what); };
  files::Descriptor file(memfd_create("npar-kernels", MFD_CLOEXEC));
  if (!file)
    return failure(std::string("memfd_create: ") + std::strerror(errno));
  for (size_t written = 0; written < size;) {
    ssize_t n = ::write(file.get(), bytes + written, size - written);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return failure(std::string("write to memory: ") + std::strerror(errno));
    written += static_cast<size_t>(n);
  }
  std::string path = "/proc/self/fd/" + std::to_string(file.get());
  std::unique_ptr<void, int (*)(void *)> handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), ::dlclose);
  if (!handle) {
    const char *why = ::dlerror();
    return failure(why ? why : "unknown reason");
  }
  std::unique_ptr<KernelObject> made(new KernelObject(handle.get(), file.get()));
  handle.release(), file.release();
  std::shared_ptr<KernelObject> object = std::move(made);
  known = object;
  return object;
}

KernelObject::~KernelObject() {
  ::dlclose(handle);
  ::close(file);
}

KernelFunction KernelObject::find(const std::string &symbol) const {
  return reinterpret_cast<KernelFunction>(::dlsym(handle, symbol.c_str()));
}

} // namespace npar::engine
