// Shared text forms of the program printers (numbers, lists, source places), and the printer of the tables that are the same for all ranks.
#pragma once

#include "engine/program/Program_generated.h"

#include <string>

namespace npar::program {

/// Prints the tables that are the same for all ranks: sizes, variables, inputs, results, rules for weight files, kernels.
std::string printTables(const Program &program);

/// `0.5`, `1e-05`
std::string numberText(double value);

/// ` at gpt2.npar:34`; empty if the place is not known.
std::string placeText(const SourcePlace *source);

/// `[a, b, c]`
template <typename Range> std::string listText(const Range &values) {
  std::string text;
  for (auto value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

} // namespace npar::program
