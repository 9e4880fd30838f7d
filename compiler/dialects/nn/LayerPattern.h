// Layer patterns of plans such as `h.*.attn`: which layers they name.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace npar::nn {

/// The layer on the way to `path` that a pattern names: `h.3.attn` for the path `h.3.attn.c_attn` and the pattern `h.*.attn`; empty if it
/// names none. `*` matches exactly one component. The empty path, of ops outside all layers, matches no pattern.
llvm::StringRef matchedLayer(llvm::StringRef pattern, llvm::StringRef path);

/// Returns whether a pattern matches a layer path or one of its parents: a pattern also names all layers inside a layer.
inline bool matchesLayer(llvm::StringRef pattern, llvm::StringRef path) { return !matchedLayer(pattern, path).empty(); }

} // namespace npar::nn
