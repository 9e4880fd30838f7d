// Takes the work of other stand-in libraries.
#include "tests/engine/backends/standin/Guest.h"
#include "tests/engine/backends/standin/Call.h"

using namespace npar::standin;

NPAR_STANDIN_CALL Code nparStandinEnqueue(Handle handle, const GuestWork &work) {
  return withStream(handle, [&](Call &call, Stream &stream) {
    Memory &memory = call.driver.memory;
    call.driver.enqueue(stream, [&memory, device = call.device.number, work]() -> Outcome {
      return work([&](uint64_t address, uint64_t size) { return memory.find(device, address, size); });
    });
    return Code::Success;
  });
}

NPAR_STANDIN_CALL int nparStandinDevice() {
  int number = -1;
  withContext([&](Call &call) {
    number = call.device.number;
    return Code::Success;
  });
  return number;
}
