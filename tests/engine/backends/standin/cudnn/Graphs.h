// Graphs of operations on tensors as the stand-in for cuDNN executes them: one operation after the other, on whole tensors of float32.
#pragma once

#include "tests/engine/backends/standin/cudnn/Descriptors.h"

#include <functional>

namespace npar::standin::dnn {

/// Empty, or what is wrong with a graph's operations: each reads what lies in memory or what one before it has written.
std::string whyNoGraph(const Descriptor &graph);

/// Attention forward, or its gradient, or something else.
enum class Pattern { Forward, Gradient, None };
Pattern patternOf(const Descriptor &graph);

/// Of a gradient the matrix of rows and keys that it keeps.
uint64_t workspaceOf(const Descriptor &graph);

/// A tensor that lies in memory or is the host's, by its number.
std::vector<DescriptorPointer> tensorsInMemory(const Descriptor &graph);
/// Bytes from a tensor's first element to behind its last.
uint64_t bytesOf(const Descriptor &tensor);

/// Where a tensor's bytes lie.
using FindTensor = std::function<uint8_t *(int64_t number)>;
/// `turn`: sums are parted at another place for another one; 0: not at all. `blind`: what selects selects nothing.
void execute(const Descriptor &graph, uint64_t turn, bool blind, const FindTensor &find);

} // namespace npar::standin::dnn
