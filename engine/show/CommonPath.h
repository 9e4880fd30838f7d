// Names for steps that repeat in equal blocks, so that they are listed once.
#pragma once

#include "engine/program/Program_generated.h"

#include <string>

namespace npar::show {

/// `h.3.attn` and `h.4.attn` are `h.*.attn`: what differs between equal blocks is their number.
std::string joinedPath(const std::string &a, const std::string &b);

/// The path without the numbers of blocks: `h.*.attn` of `h.3.attn`.
std::string blockPattern(const std::string &path);

/// Causes that differ only in the variable that they name, of one block or another, count together: that variable is left out.
program::CauseT withoutPath(program::CauseT cause);

} // namespace npar::show
