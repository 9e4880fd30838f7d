// The interface of the driver's stand-in for stand-ins of other CUDA libraries: work in streams, bytes of device memory.
#pragma once

#include "tests/engine/backends/standin/Queue.h"

namespace npar::standin {

/// Returns the bytes of [address, address + size), or null if the stream's device must not use that memory.
using FindBytes = std::function<uint8_t *(uint64_t address, uint64_t size)>;
using GuestWork = std::function<Outcome(const FindBytes &find)>;

} // namespace npar::standin

extern "C" {
/// Puts work into a stream of the thread's current context, as a kernel's launch does.
npar::standin::Code nparStandinEnqueue(npar::standin::Handle stream, const npar::standin::GuestWork &work);
/// The device of the thread's current context; -1: there is none.
int nparStandinDevice();
}
