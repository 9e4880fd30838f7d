// Packs, seals and verifies: the last thing that happens at every compile is what the engine will do at load.
#include "compiler/emit/Emit.h"

#include "engine/program/Loader.h"

using namespace mlir;

namespace npar {

FailureOr<std::vector<uint8_t>> emitProgram(ModuleOp module, const KernelCode &code) {
  FailureOr<std::unique_ptr<program::ProgramT>> program = buildProgram(module);
  if (failed(program))
    return failure();
  (*program)->kernel_object = code.object;
  (*program)->target_features = code.targetFeatures;
  std::vector<uint8_t> bytes = program::packProgram(**program);
  auto loaded = program::LoadedProgram::fromBytes(bytes, (*program)->model);
  if (!loaded.ok())
    return module.emitError("internal error: ") << loaded.status().message(), failure();
  return bytes;
}

} // namespace npar
