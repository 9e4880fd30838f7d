// Links kernels' objects with lld inside this process and its memory: no tool chain and no folder is needed where npar runs.
#include "compiler/codegen/Object.h"

#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

LLD_HAS_DRIVER(elf)

using namespace mlir;

namespace npar::codegen {

namespace {
std::error_code lastError() { return std::error_code(errno, std::generic_category()); }

/// An open file that the linker knows by a path.
struct Descriptor {
  int number = -1;
  ~Descriptor() { close(); }
  void close() {
    if (number >= 0)
      ::close(std::exchange(number, -1));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number); }
};

std::error_code writeAll(const Descriptor &file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file.number, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return lastError();
    bytes = bytes.drop_front(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

/// Everything until the last writer closes.
std::vector<uint8_t> readAll(const Descriptor &file) {
  std::vector<uint8_t> bytes, block(1 << 16);
  ssize_t got;
  while ((got = ::read(file.number, block.data(), block.size())) > 0 || (got < 0 && errno == EINTR))
    bytes.insert(bytes.end(), block.begin(), block.begin() + std::max<ssize_t>(got, 0));
  return bytes;
}
} // namespace

FailureOr<std::vector<uint8_t>> linkShared(ArrayRef<std::string> objects, Location loc) {
  static std::mutex oneLinker; // lld keeps global state
  std::lock_guard<std::mutex> guard(oneLinker);
  auto refuse = [&](std::error_code error) {
    return emitError(UnknownLoc::get(loc.getContext()), "cannot link kernels in memory: ") << error.message();
  };
  // One archive instead of a file per kernel, because the number of open files per process is limited.
  std::vector<llvm::NewArchiveMember> members;
  for (size_t i = 0; i < objects.size(); ++i)
    members.emplace_back(llvm::MemoryBufferRef(objects[i], "kernel.o"));
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive =
      llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                 /*Thin=*/false);
  if (!archive)
    return refuse(llvm::errorToErrorCode(archive.takeError()));
  Descriptor input{::memfd_create("npar-link", MFD_CLOEXEC)}, reading, writing;
  int ends[2];
  if (input.number < 0 || ::pipe2(ends, O_CLOEXEC) != 0)
    return refuse(lastError());
  reading.number = ends[0], writing.number = ends[1];
  if (std::error_code error = writeAll(input, (*archive)->getBuffer()))
    return refuse(error);
  // The output is a pipe, because lld would write a temporary file next to a regular output file.
  std::string inputPath = input.path(), outputPath = writing.path();
  const char *arguments[] = {
      "ld.lld",           "-shared",         "--hash-style=gnu", "-O2", "--build-id=none", "--threads=1", "-z", "noexecstack", "-o",
      outputPath.c_str(), "--whole-archive", inputPath.c_str()};
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  std::vector<uint8_t> linked;
  std::thread reader([&] { linked = readAll(reading); });
  lld::Result result = lld::lldMain(arguments, llvm::nulls(), errorStream, {{lld::Gnu, &lld::elf::link}});
  writing.close();
  reader.join();
  if (result.retCode != 0)
    return emitError(loc, "internal error: kernels do not link: ") << llvm::StringRef(errors).trim();
  return linked;
}

} // namespace npar::codegen
