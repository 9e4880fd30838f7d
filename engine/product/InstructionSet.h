// Which instruction sets this processor and its operating system offer to products, from plain code to tiles, and how to mask them.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

/// Each contains the ones before it. `Tiles` is AMX with bf16 (TDPBF16PS), usable after the system granted its state to the process.
enum class InstructionSet { Plain, Avx2, Avx512, Tiles };

/// The best of `availableInstructionSets` that `most` allows: plain, avx2, avx512 or tiles; null or empty allows all. BadInput for any
/// other word, since it would silently mask nothing.
Result<InstructionSet> bestInstructionSet(const char *most);

/// The same for the variable NPAR_INSTRUCTIONS of the environment.
Result<InstructionSet> bestInstructionSet();

/// All that this processor has, whatever is masked, ascending: for tests that compare them. Asked once.
std::vector<InstructionSet> availableInstructionSets();

std::string wordOf(InstructionSet set);

} // namespace npar::engine
