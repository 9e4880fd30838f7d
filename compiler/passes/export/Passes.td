// The passes of phase export.
#ifndef NPAR_COMPILER_PASSES_EXPORT_PASSES_TD
#define NPAR_COMPILER_PASSES_EXPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExportPlanMemory : Pass<"export-plan-memory", "::mlir::ModuleOp"> {
  let summary = "plans memory and order: one rank.program per pipeline stage";
  let description = [{
    Every value gets a place: variables and what is written to them lie in the static region (in place wherever the old value is dead or
    the kernel permits), forward values that the backward needs in the stash, messages in boxes, the rest in scratch, coloured by live
    intervals. Steps depend on each other exactly where they share memory. Slots of stash and boxes come from colouring the tasks'
    intervals. All communication gets one global order. The result is checked as the engine will check it: matching, agreement, deadlock,
    ownership, overlap; boxes grow when the messages cannot be ordered.

    ```mlir
    pipe.fragment @F0 stage(0) phase(F) {
      %x = nn.read @w : tensor<64xf32, #l>
      %y = rank.launch @relu_0(%x) : (tensor<64xf32, #l>) -> tensor<64xf32, #l>
      pipe.send %y to(1) event(0) : tensor<64xf32, #l>
    }
    // becomes
    rank.program @stage0 stage(0) ... {
      rank.fragment "F0" phase(F) {
        rank.step kernel "relu_0" (static[0, 256]) -> (outbox0[0, 256]) after [] does {kernel = @relu_0} ...
        rank.step send "send" (outbox0[0, 256]) -> () after [0] does {axis = "pp", peer = 1 : i64, event = 0 : i64, ...} ...
      }
      ...
    }
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect", "::npar::rank::RankDialect"];
}

def ExportCheckLimits : Pass<"export-check-limits", "::mlir::ModuleOp"> {
  let summary = "refuses a program that needs more than the plan's `require` allows";
  let description = [{
    Module attribute `npar.require = {memory = bytes, bubble = share, memory_loc, bubble_loc}`: no `rank.program` has a larger arena; of
    the time from the first to the last planned task that runs per micro-batch, over all stages together, no larger share is waiting.
  }];
  let dependentDialects = ["::npar::dist::DistDialect", "::npar::rank::RankDialect"];
}

#endif
