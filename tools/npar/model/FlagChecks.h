// Checks of flags that several subcommands have.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::driver {

/// Digits that CLI11 does not take for octal (010) or hexadecimal ones (0x10). The other checks of numbers ask for it too.
const CLI::Validator &decimalNumber();
/// A number of seconds: finite and above 0.
const CLI::Validator &seconds();
/// A whole number from 0 on, of 64 bits.
const CLI::Validator &wholeNumber();
/// A whole number from `least` to `most`.
CLI::Validator wholeNumber(int64_t least, int64_t most);
/// A number from `least` to `most`, in decimal; NaN is none.
CLI::Validator number(double least, double most);
/// A number of bytes above 0, such as 5GB or 500MiB (kB and kb are 1,000, KiB is 1,024), which it turns into digits.
const CLI::Validator &byteSize();
/// A word that is not empty.
const CLI::Validator &notEmpty();

} // namespace npar::driver
