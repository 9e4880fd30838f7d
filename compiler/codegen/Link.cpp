// Links kernels' objects with lld inside this process: no tool chain is needed where npar runs.
#include "compiler/codegen/Object.h"

#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;

namespace npar::codegen {

namespace {
/// A private directory, removed with what we put in it.
struct TemporaryFolder {
  llvm::SmallString<128> path;
  std::vector<std::string> files;
  ~TemporaryFolder() {
    for (const std::string &file : files)
      llvm::sys::fs::remove(file);
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  std::string add(const llvm::Twine &name) {
    files.push_back((path + "/" + name).str());
    return files.back();
  }
};
} // namespace

FailureOr<std::vector<uint8_t>> linkShared(ArrayRef<std::string> objects, Location loc) {
  static std::mutex oneLinker; // lld keeps global state
  std::lock_guard<std::mutex> guard(oneLinker);
  TemporaryFolder folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("npar-link", folder.path))
    return emitError(loc, "cannot create a temporary directory for the linker: ") << error.message();
  std::string output = folder.add("kernels.so");
  std::vector<std::string> arguments = {"ld.lld",      "-shared", "--hash-style=gnu", "-O2", "--build-id=none",
                                        "--threads=1", "-z",      "noexecstack",      "-o",  output};
  for (size_t i = 0; i < objects.size(); ++i) {
    std::string path = folder.add("kernel" + llvm::Twine(i) + ".o");
    std::error_code error;
    llvm::raw_fd_ostream stream(path, error);
    if (!error) {
      stream << objects[i];
      stream.close();
      error = stream.error();
      stream.clear_error();
    }
    if (error)
      return emitError(loc, "cannot write '") << path << "': " << error.message();
    arguments.push_back(path);
  }
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  lld::Result result = lld::lldMain(pointers, llvm::nulls(), errorStream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return emitError(loc, "kernels do not link: ") << llvm::StringRef(errors).trim();
  auto buffer = llvm::MemoryBuffer::getFile(output, false, false);
  if (!buffer)
    return emitError(loc, "internal error: cannot read the linked kernels: ") << buffer.getError().message();
  return std::vector<uint8_t>((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
}

} // namespace npar::codegen
