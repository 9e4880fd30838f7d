// Phase export: from the scheduled module to the compiled program (the kernels are outlined by compiler/codegen before).
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace npar::compiler {
/// Takes the scheduled program out of a module whose arithmetic is outlined, one class of ranks per pipeline stage: with memory, order and
/// planned times, the plan's `require` held. Variables and kernels stay in the module; the kernels' code is left to the caller.
///
/// ```mlir
/// pipe.fragment @F0 stage(0) phase(F) {
///   %x = nn.read @w : tensor<64xf32, #l>
///   %y = rank.launch @relu_0(%x) : (tensor<64xf32, #l>) -> tensor<64xf32, #l>
///   pipe.send %y to(1) event(0) : tensor<64xf32, #l>
/// }
/// // becomes, as `printProgram` shows it
/// fragment F0: forward
///   0: kernel relu_0 (static[0, 256]) -> (outbox0[0, 256])  # relu_0, begin 0 end 1.1e-08, 64 flops
///   1: send 64 elements to pp = 1 event 0 (outbox0[0, 256]) -> () after 0  # send, begin 1.1e-08 end 2.5e-08, f32
/// ```
///
/// Errors are reported at the ops that cause them. `movesWork`: see compiler::CompileOptions.
mlir::FailureOr<std::unique_ptr<program::ProgramT>> exportProgram(mlir::ModuleOp module, bool movesWork = true);

} // namespace npar::compiler
