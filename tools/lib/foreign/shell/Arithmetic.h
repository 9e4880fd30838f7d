// The shell's arithmetic on 64-bit numbers, which wrap around.
#pragma once

#include "tools/lib/foreign/shell/Environment.h"

namespace npar::foreign::shell {

struct Number {
  Number(int64_t value = 0, UnknownPointer unknown = nullptr) : value(value), unknown(std::move(unknown)) {}
  int64_t value;
  UnknownPointer unknown; ///< null: the value is known
};

/// Computes an expression such as `(TP * PP) / 2`, which may set variables. `at`: where it is in the script. What is wrong in it, as a
/// division by zero, makes the result unknown.
Number sumOf(const Text &expression, Environment &environment, Origin at);

} // namespace npar::foreign::shell
