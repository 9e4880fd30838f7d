// One global order of communication, given to each class as its restriction.
#include "compiler/memory/Allocate.h"

#include "engine/program/Deadlock.h"

namespace npar::memory {

std::string orderCommunication(program::ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.Finish(program::Program::Pack(builder, &program));
  const program::Program &packed = *flatbuffers::GetRoot<program::Program>(builder.GetBufferPointer());
  auto orders = program::orderCommunication(packed);
  if (!orders)
    return program::findDeadlock(packed, /*withCommunicationOrder=*/false);
  for (size_t index = 0; index < program.classes.size(); ++index)
    program.classes[index]->communication_order = (*orders)[index];
  return "";
}

} // namespace npar::memory
