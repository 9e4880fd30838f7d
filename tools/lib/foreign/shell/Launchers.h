// Knows the programs that start a training program on many devices, and how they are told how many.
#pragma once

#include "tools/lib/foreign/shell/Environment.h"

#include <optional>
#include <string_view>

namespace npar::foreign::shell {

/// The name of a program without its folders.
std::string_view nameOf(const Text &word);
/// The command as a start of a Python program; nothing if it is none. A program that is not known counts, with the reason in `decidedBy`.
std::optional<Launch> launchOf(std::vector<Text> words, const Environment &environment, Origin at);

} // namespace npar::foreign::shell
