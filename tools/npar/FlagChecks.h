// Checks of flags that several subcommands have.
#pragma once

#include "tools/npar/ExitCode.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace npar::driver {

/// A number of seconds: finite and above 0.
const CLI::Validator &seconds();
/// A whole number from 0 on, of 64 bits.
const CLI::Validator &wholeNumber();
/// A word that is not empty.
const CLI::Validator &notEmpty();

/// A flag that names a file. An empty path was not given.
struct FileFlag {
  std::string flag, path;
};

/// Refuses, as usage, an output that is another output or an input: one of them would be lost.
ExitCode checkDistinct(const std::vector<FileFlag> &outputs, const std::vector<FileFlag> &inputs);

} // namespace npar::driver
