// Compiled kernels on disk: equal kernels are compiled once per machine and compiler build.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace npar::codegen {

/// A folder of entries named by the hash of what they were made from. Entries carry the hash of their bytes: a damaged one is a miss.
/// Safe for several processes: entries are written beside and renamed. Any failure to read or write is a miss.
class KernelCache {
public:
  /// `folder` empty: the default place. A disabled cache misses always.
  KernelCache(std::string folder, bool enabled);
  /// Why the folder that $NPAR_CACHE names is not used; empty when it is, or none is named.
  const std::string &problem() const { return complaint; }
  /// The key of a source text; includes the identity of this compiler's build.
  std::string key(llvm::StringRef source) const;
  std::optional<std::string> find(llvm::StringRef key) const;
  void put(llvm::StringRef key, llvm::StringRef object) const;

private:
  std::string folder, complaint;
};

} // namespace npar::codegen
