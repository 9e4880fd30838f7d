// The last part of planning: one global order of communication, then every check of the verifier on what was planned.
#include "compiler/memory/Plan.h"

#include "engine/program/Deadlock.h"
#include "engine/program/Verify.h"

namespace npar::memory {

std::string finishPlan(program::ProgramT &program, bool &deadlock) {
  deadlock = false;
  {
    flatbuffers::FlatBufferBuilder builder(1 << 16);
    builder.Finish(program::Program::Pack(builder, &program));
    const program::Program &packed = *flatbuffers::GetRoot<program::Program>(builder.GetBufferPointer());
    auto orders = program::orderCommunication(packed);
    deadlock = !orders;
    if (deadlock)
      return program::findDeadlock(packed, /*withCommunicationOrder=*/false);
    for (size_t index = 0; index < program.classes.size(); ++index)
      program.classes[index]->communication_order = (*orders)[index];
  }
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.Finish(program::Program::Pack(builder, &program));
  engine::Status status = program::verifyProgram(*flatbuffers::GetRoot<program::Program>(builder.GetBufferPointer()));
  return status.ok() ? "" : status.message();
}

} // namespace npar::memory
