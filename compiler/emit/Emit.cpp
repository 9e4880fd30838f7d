// Builds the program and verifies the very bytes that leave the compiler.
#include "compiler/emit/Emit.h"

using namespace mlir;

namespace npar::compiler {

FailureOr<std::shared_ptr<const program::LoadedProgram>> emitProgram(ModuleOp module, program::ProgramT &program,
                                                                     std::vector<KernelCode> codes) {
  for (KernelCode &code : codes) {
    auto &device = program.codes.emplace_back(std::make_unique<program::DeviceCodeT>());
    device->backend = std::move(code.backend), device->features = std::move(code.features), device->object = std::move(code.object);
  }
  auto loaded = program::LoadedProgram::fromTables(program);
  if (!loaded.ok())
    return module.emitError("internal error: ") << loaded.status().message(), failure();
  return std::move(*loaded);
}

flatbuffers::DetachedBuffer packDraft(const program::ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  program::FinishProgramBuffer(builder, program::Program::Pack(builder, &program));
  return builder.Release();
}

} // namespace npar::compiler
