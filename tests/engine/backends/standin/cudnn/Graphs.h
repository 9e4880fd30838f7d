// Graphs of operations on tensors as the stand-in for cuDNN executes them: one operation after the other, on whole tensors of float32.
#pragma once

#include "tests/engine/backends/standin/cudnn/Descriptors.h"

#include <functional>

namespace npar::standin::dnn {

/// Empty, or the error in a graph's operations. Each must read tensors in memory or results of earlier operations.
std::string whyNoGraph(const Descriptor &graph);

/// Attention forward, or its gradient, or something else.
enum class Pattern { Forward, Gradient, None };
Pattern patternOf(const Descriptor &graph);

/// Bytes of the matrix of rows and keys that a gradient stores.
uint64_t workspaceOf(const Descriptor &graph);

/// The tensors in memory or on the host, by number.
std::vector<DescriptorPointer> tensorsInMemory(const Descriptor &graph);
/// Number of bytes from a tensor's first element to its last.
uint64_t bytesOf(const Descriptor &tensor);

/// Returns the bytes of a tensor.
using FindTensor = std::function<uint8_t *(int64_t number)>;
/// `turn`: sums are parted at another place for another one; 0: not at all. `blind`: what selects selects nothing.
void execute(const Descriptor &graph, uint64_t turn, bool blind, const FindTensor &find);

} // namespace npar::standin::dnn
