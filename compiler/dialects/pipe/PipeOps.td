// The ops of the pipe dialect. A scheduled module holds, besides its variables, one program, fragments and one order per stage.
#ifndef NPAR_PIPE_OPS
#define NPAR_PIPE_OPS

include "compiler/dialects/pipe/PipeDialect.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

class Pipe_Op<string mnemonic, list<Trait> traits = []> : Op<Pipe_Dialect, mnemonic, traits>;

def Pipe_ProgramOp : Pipe_Op<"program", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "what the pipeline of this module is";
  let description = [{
    ```
    pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 4 : i64}
    ```
    Without a pipeline `axis` is absent and there is one stage. The stage of a rank is its coordinate along `axis`; stages
    talk between ranks that are equal in every other coordinate.

    The model is a chain of parts, one per stage and chunk: `placement[place]` is the stage of the part at a place of the chain; without
    it part and stage are the same. `forward`, `backward`, `weight` are estimated seconds per micro-batch of each stage's F, B (of a
    split backward) and W, `transfer` those of a message between neighbours, `live` the most micro-batches that a stage may hold:
    what a schedule may be searched from. `text` is the schedule itself, as the plan's file has it.
    ```
    pipe.program {schedule = "zb_v", axis = "pp", stages = 2 : i64, micro_count = 4 : i64, placement = array<i64: 0, 1, 1, 0>}
    ```
  }];
  let arguments = (ins StrAttr:$schedule, OptionalAttr<StrAttr>:$axis, Pipe_Number:$stages, Pipe_Number:$micro_count,
                   OptionalAttr<DenseI64ArrayAttr>:$placement, OptionalAttr<DenseF64ArrayAttr>:$forward,
                   OptionalAttr<DenseF64ArrayAttr>:$backward, OptionalAttr<DenseF64ArrayAttr>:$weight, OptionalAttr<F64Attr>:$transfer,
                   OptionalAttr<StrAttr>:$text, OptionalAttr<F64Attr>:$live);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The stage of each part of the chain.
    ::llvm::SmallVector<int64_t> getStageOfPlace();
  }];
}

def Pipe_FragmentOp : Pipe_Op<"fragment", [HasParent<"::mlir::ModuleOp">, IsolatedFromAbove, NoRegionArguments, NoTerminator,
                                           SingleBlock, Symbol]> {
  let summary = "what one stage does for one part in one phase, once per micro-batch (C, F, B, W), or once per training step (P, U)";
  let description = [{
    The part is the one at `place` of the chain; where that is the number of the stage, as it is with one part per stage, `place` is left
    out.
    ```
    pipe.fragment @F0 stage(0) phase(F) {
      %x = nn.read @w : tensor<...>
      pipe.send %x to(1) event(0) : tensor<...>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Pipe_Number:$stage, OptionalAttr<Pipe_Number>:$place, Pipe_PhaseAttr:$phase);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `stage` `(` $stage `)` (`place` `(` $place^ `)`)? `phase` `(` $phase `)` attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// The index of the fragment's part in the chain; the stage for fragments without a part (S, the prologue, and U).
    int64_t placeInChain() { return getPlace() ? *getPlace() : getStage(); }
    /// Returns whether it runs once per micro-batch; otherwise it runs once per training step.
    bool isPerMicro() { return getPhase() != Phase::Prologue && getPhase() != Phase::Update; }
  }];
}

def Pipe_SendOp : Pipe_Op<"send", [HasParent<"FragmentOp">]> {
  let summary = "sends a value to a stage";
  let description = [{
    `event` numbers the logical transfer: one send, one recv. In C, F, B and W there is one message per micro-batch. The stage sees the
    rank-local value of the sender that is equal in all coordinates but that of the pipeline axis.
  }];
  let arguments = (ins AnyRankedTensor:$value, Pipe_Number:$to, Pipe_Number:$event);
  let assemblyFormat = "$value `to` `(` $to `)` `event` `(` $event `)` attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Pipe_RecvOp : Pipe_Op<"recv", [HasParent<"FragmentOp">]> {
  let summary = "receives a value from a stage";
  let arguments = (ins Pipe_Number:$from, Pipe_Number:$event);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "`from` `(` $from `)` `event` `(` $event `)` attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Pipe_StashOp : Pipe_Op<"stash", [HasParent<"FragmentOp">]> {
  let summary = "keeps a value of a fragment for later fragments of the same stage and micro-batch";
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$slot);
  let assemblyFormat = "$value `slot` `(` $slot `)` attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Pipe_UnstashOp : Pipe_Op<"unstash", [HasParent<"FragmentOp">]> {
  let summary = "the value that a fragment of the stage kept under this name";
  let arguments = (ins StrAttr:$slot);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "`slot` `(` $slot `)` attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Pipe_OrderOp : Pipe_Op<"order", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "the tasks of a stage in their order";
  let description = [{
    ```
    pipe.order stage(1) ["F1:0", "B1:0", "F1:1", "B1:1", "U1"]
    ```
    A task is a fragment's name with its micro-batch, or the name alone where it runs once per training step.
  }];
  let arguments = (ins Pipe_Number:$stage, StrArrayAttr:$tasks);
  let assemblyFormat = "`stage` `(` $stage `)` $tasks attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The tasks, parsed; the verifier has seen that all parse.
    ::llvm::SmallVector<TaskName> getTaskNames();
  }];
}

#endif
