// The backends that exist, by name.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// "cpu", "cuda" or "null"; anything else is refused with the list, and "cuda" where there is no GPU or no driver for it. `products` and
/// `attention`: of "cuda", who computes them (SessionOptions).
Result<std::unique_ptr<Backend>> createBackend(const std::string &name, const Spread &spread, const std::string &products = "own",
                                               const std::string &attention = "own");

/// Bytes in which each worker of such a backend packs operands and keeps sums while it runs the program; 0 where it has no such memory, or
/// where `load` will refuse the program.
uint64_t bytesPerWorker(const std::string &name, const program::Program &program, const Spread &spread);

} // namespace npar::engine
