// Compiled kernels on disk: equal kernels are compiled once per machine and compiler build.
#pragma once

#include "engine/files/PrivateFolder.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace npar::codegen {

/// A folder of compiled kernels named by the hash of their sources. Each entry carries its key and a hash of key and bytes: an entry that
/// is damaged or stored under another key counts as a miss and is rewritten. The folder must be private to the user (PrivateFolder.h),
/// because its contents are executed. Several processes can share it: entries are written under a temporary name and renamed. A failed read
/// or write is a miss, never an error.
class KernelCache {
public:
  /// An empty `folder` selects the default folder. A disabled cache always misses.
  KernelCache(std::string folder, bool enabled);
  /// Why the folder named by $NPAR_CACHE is not used, or why a folder that others can write is not; empty if there is no such problem.
  const std::string &problem() const { return complaint; }
  /// The key of a source text; includes the identity of this compiler's build.
  std::string key(llvm::StringRef source) const;
  std::optional<std::string> find(llvm::StringRef key) const;
  void put(llvm::StringRef key, llvm::StringRef object) const;

private:
  std::optional<files::PrivateFolder> folder;
  std::string complaint;
};

} // namespace npar::codegen
