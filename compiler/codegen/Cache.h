// Compiled kernels on disk: equal kernels are compiled once per machine and compiler build.
#pragma once

#include "engine/files/PrivateFolder.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace npar::codegen {

/// A folder of entries named by the hash of their sources. Each carries its key and a hash of key and bytes: a damaged one, and one under
/// another's name, is a miss and is written again. The folder is nobody else's (PrivateFolder.h), for what it holds is executed.
/// Safe for several processes: entries are written under another name and renamed. Any failure to read or write is a miss.
class KernelCache {
public:
  /// `folder` empty: the default place. A disabled cache misses always.
  KernelCache(std::string folder, bool enabled);
  /// Why a folder is not used that $NPAR_CACHE names or that others can write; empty when it is, or none is named.
  const std::string &problem() const { return complaint; }
  /// The key of a source text; includes the identity of this compiler's build.
  std::string key(llvm::StringRef source) const;
  std::optional<std::string> find(llvm::StringRef key) const;
  void put(llvm::StringRef key, llvm::StringRef object) const;

private:
  std::optional<program::PrivateFolder> folder;
  std::string complaint;
};

} // namespace npar::codegen
