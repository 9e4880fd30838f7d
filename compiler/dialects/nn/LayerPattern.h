// Layer patterns of plans such as `h.*.attn`: which layers they name.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace npar::nn {

/// The layer that a pattern names on the way to `path`: `h.3.attn` of `h.3.attn.c_attn` for `h.*.attn`; empty when it names none.
/// `*` stands for exactly one component. The empty path, of what is in no layer, matches no pattern.
llvm::StringRef matchedLayer(llvm::StringRef pattern, llvm::StringRef path);

/// Whether a layer path or one of its parents matches a pattern: a pattern names all layers inside of a layer, too.
inline bool matchesLayer(llvm::StringRef pattern, llvm::StringRef path) { return !matchedLayer(pattern, path).empty(); }

} // namespace npar::nn
