// Finds the instruction sets of this processor and its operating system for products, from plain code to tiles, and masks them on request.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

/// Each contains the ones before it. `Pairs` is AVX-512 with bf16 (VDPBF16PS). `Tiles` is AMX with bf16 (TDPBF16PS), usable after the
/// system granted its state to the process.
enum class InstructionSet { Plain, Avx2, Avx512, Pairs, Tiles };

/// The best of `availableInstructionSets` that `most` allows: plain, avx2, avx512, pairs or tiles; null or empty allows all. BadInput for
/// any other word, which would otherwise silently mask nothing.
Result<InstructionSet> bestInstructionSet(const char *most);

/// The same, with the environment variable NPAR_INSTRUCTIONS.
Result<InstructionSet> bestInstructionSet();

/// All sets of this processor, even masked ones, ascending: for tests that compare them. Detected once.
std::vector<InstructionSet> availableInstructionSets();

std::string wordOf(InstructionSet set);

} // namespace npar::engine
