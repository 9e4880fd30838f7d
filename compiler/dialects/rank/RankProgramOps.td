// A rank program: the memory of a class of ranks, its fragments of steps, its tasks and the order of its communication.
#ifndef NPAR_RANK_PROGRAM_OPS
#define NPAR_RANK_PROGRAM_OPS

include "compiler/dialects/rank/RankDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Rank_PlaceAttr : AttrDef<Rank_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "bytes of a region, relative to the slot that a task uses";
  let description = "`#rank.place<scratch, 64, 1024>`: 1024 bytes at 64. In operand lists of steps it is written `scratch[64, 1024]`.";
  let parameters = (ins StringRefParameter<>:$region, "uint64_t":$offset, "uint64_t":$bytes);
  let hasCustomAssemblyFormat = 1;
}
def Rank_PlacesAttr : TypedArrayAttrBase<Rank_PlaceAttr, "places">;

def Rank_StepKind : I32EnumAttr<"StepKind", "what a step does", [
    I32EnumAttrCase<"Kernel", 0, "kernel">, I32EnumAttrCase<"Matmul", 1, "matmul">, I32EnumAttrCase<"Collective", 2, "collective">,
    I32EnumAttrCase<"Send", 3, "send">, I32EnumAttrCase<"Receive", 4, "receive">, I32EnumAttrCase<"Zero", 5, "zero">,
    I32EnumAttrCase<"Copy", 6, "copy">]> {
  let cppNamespace = "::npar::rank";
  let genSpecializedAttr = 0;
}
def Rank_StepKindAttr : EnumAttr<Rank_Dialect, Rank_StepKind, "step_kind"> { let assemblyFormat = "`` $value"; }

def Rank_Phase : I32EnumAttr<"Phase", "which part of a training step", [
    I32EnumAttrCase<"Prologue", 0, "P">, I32EnumAttrCase<"Forward", 1, "F">, I32EnumAttrCase<"Backward", 2, "B">,
    I32EnumAttrCase<"Update", 3, "U">, I32EnumAttrCase<"Weight", 4, "W">, I32EnumAttrCase<"Count", 5, "C">]> {
  let cppNamespace = "::npar::rank";
  let genSpecializedAttr = 0;
}
def Rank_PhaseAttr : EnumAttr<Rank_Dialect, Rank_Phase, "phase"> { let assemblyFormat = "`` $value"; }

class Rank_BlockOp<string mnemonic, list<Trait> traits>
    : Rank_Op<mnemonic, !listconcat([NoTerminator, NoRegionArguments, SingleBlock], traits)> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def Rank_ProgramOp : Rank_BlockOp<"program", [Symbol, IsolatedFromAbove]> {
  let summary = "what every rank of a class runs";
  let description = [{
    A rank belongs to the class whose `fixed` coordinates it has; its other coordinates are parameters. Regions are listed first, the
    first is static; then variables, inputs, outputs, fragments, tasks in order, waits between tasks, the communication order.
    ```mlir
    rank.program @stage0 stage(0) arena(4096) fixed {pp = 0 : i64} memory {parameters = 1024 : i64, ...} {
      rank.region "static" bytes(1024) slots(1) offset(0)
      rank.variable @w offset(0) bytes(1024) {owner}
      rank.fragment "F0" phase(F) {
        rank.step kernel "gelu h.0.mlp" (static[0, 1024]) -> (scratch[0, 1024]) does {kernel = @gelu_0}
        rank.step send "send" (scratch[0, 1024]) after [0] does {axis = "pp", peer = 1 : i64, event = 0 : i64, count = 256 : i64, type = f32}
      }
      rank.task "F0" micro(0) bases [0, 1024]
      rank.communicate [0, 1]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$stage, I64Attr:$arena, DictionaryAttr:$fixed, DictionaryAttr:$memory);
  let assemblyFormat = [{
    $sym_name `stage` `(` $stage `)` `arena` `(` $arena `)` `fixed` $fixed `memory` $memory attr-dict-with-keyword $body
  }];
}

class Rank_PartOp<string mnemonic, list<Trait> traits = []> : Rank_Op<mnemonic, !listconcat([HasParent<"ProgramOp">], traits)>;

def Rank_RegionOp : Rank_PartOp<"region"> {
  let summary = "a part of the arena: slot i begins at offset + i * bytes";
  let arguments = (ins StrAttr:$name, I64Attr:$bytes, I64Attr:$slots, I64Attr:$offset);
  let assemblyFormat = "$name `bytes` `(` $bytes `)` `slots` `(` $slots `)` `offset` `(` $offset `)` attr-dict";
  let hasVerifier = 1;
}

def Rank_VariableOp : Rank_PartOp<"variable"> {
  let summary = "where the class keeps its piece of a variable, in the static region";
  let description = "With `owner` this class owns it: among its ranks those at coordinate 0 of every mesh axis that replicates it.";
  let arguments = (ins FlatSymbolRefAttr:$variable, I64Attr:$offset, I64Attr:$bytes, UnitAttr:$owner);
  let assemblyFormat = "$variable `offset` `(` $offset `)` `bytes` `(` $bytes `)` (`owner` $owner^)? attr-dict";
}

def Rank_InputOp : Rank_PartOp<"input"> {
  let summary = "a data buffer of the region 'input', one slot per micro-batch";
  let arguments = (ins StrAttr:$name, I64Attr:$offset, TypeAttr:$type);
  let assemblyFormat = "$name `offset` `(` $offset `)` `:` $type attr-dict";
}

def Rank_OutputOp : Rank_PartOp<"output"> {
  let summary = "a f64 scalar of the static region that is reported after each training step";
  let arguments = (ins StrAttr:$name, I64Attr:$offset);
  let assemblyFormat = "$name `offset` `(` $offset `)` attr-dict";
}

def Rank_FragmentOp : Rank_BlockOp<"fragment", [HasParent<"ProgramOp">]> {
  let summary = "steps of one phase, instantiated by tasks";
  let description = "`chunk`: which of the stage's parts of the model it belongs to, where there are several.";
  let arguments = (ins StrAttr:$name, Rank_PhaseAttr:$phase, DefaultValuedAttr<I64Attr, "0">:$chunk);
  let assemblyFormat = "$name `phase` `(` $phase `)` (`chunk` `(` $chunk^ `)`)? attr-dict-with-keyword $body";
}

def Rank_StepOp : Rank_Op<"step", [HasParent<"FragmentOp">]> {
  let summary = "one unit of work: a kernel, a library call, a message";
  let description = [{
    Waits for the earlier steps of its fragment in `after` (by number). An output that lies exactly on an input is written in place. `does`
    says what is run: {kernel}; {type, m, n, k, batch, a, b, c, accumulate?, workspace?}; {kind, op, axes, event, count, type, geometry, cause,
    whole?, concat_first?, shift?, more?}, where `more` lists the same of the further parts of a bucket; with `free` it is outside of the
    compute chain;
    {axis, peer, event, count, type}; nothing for zero and copy. `begin` and `end` are planned seconds in the task.
  }];
  let arguments = (ins Rank_StepKindAttr:$kind, StrAttr:$label, Rank_PlacesAttr:$inputs, Rank_PlacesAttr:$outputs,
      DenseI32ArrayAttr:$after, DictionaryAttr:$does, StrAttr:$path, F64Attr:$flops, F64Attr:$begin, F64Attr:$end, UnitAttr:$free);
  let assemblyFormat = [{
    $kind $label custom<Places>($inputs) `->` custom<Places>($outputs) `after` $after `does` $does `path` $path `flops` $flops
    `begin` $begin `end` $end (`free` $free^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rank_TaskOp : Rank_PartOp<"task"> {
  let summary = "one run of a fragment: for a micro-batch, with the absolute arena offset of the slot of each region";
  let arguments = (ins StrAttr:$fragment, I64Attr:$micro, DenseI64ArrayAttr:$bases, F64Attr:$begin, F64Attr:$end);
  let assemblyFormat = "$fragment `micro` `(` $micro `)` `bases` $bases `begin` $begin `end` $end attr-dict";
}

def Rank_WaitOp : Rank_PartOp<"wait"> {
  let summary = "a step of a task waits for a step of an earlier task (memory that both use)";
  let arguments = (ins I64Attr:$task, I64Attr:$step, I64Attr:$on_task, I64Attr:$on_step);
  let assemblyFormat = "$task `,` $step `for` $on_task `,` $on_step attr-dict";
}

def Rank_CommunicateOp : Rank_PartOp<"communicate"> {
  let summary = "the order in which the ranks of the class issue communication: pairs of task and step";
  let arguments = (ins DenseI32ArrayAttr:$order);
  let assemblyFormat = "$order attr-dict";
  let hasVerifier = 1;
}

#endif
