// Describes an elaborated or compiled choice of model, plan and train block in words.
#pragma once

#include "tools/lib/lsp/Facts.h"

#include <string>
#include <vector>

namespace npar::lsp {

std::string bytesText(uint64_t bytes);

/// "f32[batch, seq]"
std::string typeText(const dsl::TensorType &type);

/// "batch 8, seq 32"
std::string sizesText(const dsl::Program &program, const std::vector<std::string> &axes);

/// Size of an axis, the rules that split it, its size on each rank. `named`: begins with its name.
std::string axisText(const Elaborated &choice, const dsl::Axis &axis, bool named);

/// The collectives over a mesh axis, by kind.
std::vector<std::string> collectivesOver(const Elaborated &choice, const std::string &axis);

/// A constant that is a list of axes, with their sizes.
std::string axesText(const Elaborated &choice, const dsl::NamedValue &value);

/// "4 × 32 × 128 elements, 64.0 KiB"
std::string localText(const compiler::PlacedValue &placed);

/// Type and sizes of a parameter; of a compiled choice also its bytes on a rank, those of the optimizer, and its owner.
std::string parameterText(const Elaborated &choice, const dsl::NamedValue &value);

/// The parts of the batch, and the pipeline's bubble.
std::string batchText(const Elaborated &choice);

} // namespace npar::lsp
