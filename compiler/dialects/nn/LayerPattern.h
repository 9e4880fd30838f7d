// Layer patterns of plans such as `h.*.attn`: which layers they name.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace npar::nn {

/// The layer that a pattern names on the way to `path`: `h.3.attn` of `h.3.attn.c_attn` for `h.*.attn`; empty when it names none.
/// `*` stands for one component.
llvm::StringRef matchedLayer(llvm::StringRef pattern, llvm::StringRef path);

/// Whether a layer path or one of its parents matches a pattern.
inline bool matchesLayer(llvm::StringRef pattern, llvm::StringRef path) { return !matchedLayer(pattern, path).empty(); }

} // namespace npar::nn
