// Recognizes configuration files of programs that npar does not read, to refuse them by name.
#pragma once

#include <string>

namespace npar::foreign {

/// The name of the program that the keys of a YAML or JSON text belong to ("GPT-NeoX"); null: none that npar knows of.
const char *otherProgramOf(const std::string &text);

} // namespace npar::foreign
