// What repeats in equal blocks is said once: the words for it.
#pragma once

#include <string>

namespace npar::driver {

/// `h.3.attn` and `h.4.attn` are `h.*.attn`: what differs between equal blocks is their number.
std::string joinedPath(const std::string &a, const std::string &b);

/// Causes that differ only in the path they name, such as `'h.0.ln_1.weight.grad.0' was accumulated ...`, count together.
std::string withoutPaths(const std::string &cause);

} // namespace npar::driver
