// What the driver's stand-in offers to libraries that stand in for others of CUDA's: work in streams, bytes of device memory.
#pragma once

#include "tests/engine/backends/standin/Queue.h"

namespace npar::standin {

/// Where the bytes of [address, address + size) lie, or null where they are no memory that the stream's device may use.
using FindBytes = std::function<uint8_t *(uint64_t address, uint64_t size)>;
using GuestWork = std::function<Outcome(const FindBytes &find)>;

} // namespace npar::standin

extern "C" {
/// Puts work into a stream of the thread's current context, as a kernel's launch does.
npar::standin::Code nparStandinEnqueue(npar::standin::Handle stream, const npar::standin::GuestWork &work);
/// The device of the thread's current context; -1: there is none.
int nparStandinDevice();
}
