// Creates the backends by name.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// Creates "cpu", "cuda" or "null". Refuses any other name, with the list, and "cuda" without a GPU or a driver for it. `products` and
/// `attention`: for "cuda", their implementation (SessionOptions). `order`: for "cpu", that of products of bf16, and not Fastest.
Result<std::unique_ptr<Backend>> createBackend(const std::string &name, const Spread &spread, const std::string &products = "own",
                                               const std::string &attention = "own",
                                               program::ProductOrder order = program::ProductOrder::Portable);

/// The order that a backend takes for products of bf16: `asked`, or for Fastest that of this processor. GPUs have the portable one;
/// BadInput if they are asked for another.
Result<program::ProductOrder> productOrder(const std::string &name, program::ProductOrder asked);

/// Bytes of packed operands and sums of each worker of such a backend while it runs the program; 0 if the backend has no such memory, or if
/// `load` will refuse the program.
uint64_t bytesPerWorker(const std::string &name, const program::Program &program, const Spread &spread);

} // namespace npar::engine
