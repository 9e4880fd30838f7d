// Commands whose output npar computes: echo, printf, seq, expr, bc, dirname and others that only depend on their words and their input.
#pragma once

#include "tools/lib/foreign/shell/Environment.h"

#include <optional>

namespace npar::foreign::shell {

/// What `words[0]` prints; nothing if npar does not compute it. `input`: its standard input, null for none.
std::optional<Text> printedBy(const std::vector<Text> &words, const Text *input, Environment &environment, Origin at);

/// The text that printf makes of its words; nothing if npar does not follow the format.
std::optional<Text> formatted(const Text &format, const std::vector<Text> &words, size_t first, Environment &environment);

} // namespace npar::foreign::shell
