// Creates the backends by name.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// Creates "cpu", "cuda" or "null". Refuses any other name, with the list, and "cuda" without a GPU or a driver for it. `products` and
/// `attention`: for "cuda", their implementation (SessionOptions).
Result<std::unique_ptr<Backend>> createBackend(const std::string &name, const Spread &spread, const std::string &products = "own",
                                               const std::string &attention = "own");

/// Bytes of packed operands and sums of each worker of such a backend while it runs the program; 0 if the backend has no such memory, or if
/// `load` will refuse the program.
uint64_t bytesPerWorker(const std::string &name, const program::Program &program, const Spread &spread);

} // namespace npar::engine
