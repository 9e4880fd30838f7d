// Ops that only pick, join, rename or cut axes, and the causal mask.
#ifndef NPAR_NN_SELECT_TD
#define NPAR_NN_SELECT_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_SelectOp : Nn_PureOp<"select", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "one index of an axis, which the result lacks";
  let arguments = (ins Nn_Tensor:$x, StrAttr:$axis, I64Attr:$index);
  let results = (outs Nn_Tensor:$result);
  let zeroPadding = "WhereOperandsAre";
  let readsElsewhere = 1;
  let assemblyFormat = "$x `at` $axis `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let linear = 1;
  let hasFolder = 1;
}

def Nn_StackOp : Nn_PureOp<"stack", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "joins tensors along a new axis, which has one index per operand";
  let arguments = (ins Variadic<Nn_Tensor>:$xs, StrAttr:$axis);
  let results = (outs Nn_Tensor:$result);
  let zeroPadding = "WhereOperandsAre";
  let assemblyFormat = "$xs `along` $axis attr-dict `:` functional-type(operands, results)";
  let linear = 1;
  let hasFolder = 1;
}

def Nn_RenameOp : Nn_PureOp<"rename", [Nn_Language, Nn_Differentiable, Nn_OwnLoopNames]> {
  let summary = "another name for an axis; no data moves";
  let description = [{
    Of routed rows (place-spread-rows) the renamed axis has pieces of `places` rows, whose first rows exist: those before the greatest of
    `ends` of a piece's entries. No op reads the others for a result; they are zeros once they have moved. `filled` is the part of all rows
    that exists if the load is balanced.
  }];
  let arguments = (ins Nn_Tensor:$x, StrAttr:$from, StrAttr:$to, Optional<Nn_Integer>:$ends, DefaultValuedAttr<I64Attr, "0">:$places,
      DefaultValuedAttr<F64Attr, "1.0">:$filled);
  let results = (outs Nn_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$x, "::mlir::StringAttr":$from, "::mlir::StringAttr":$to), [{
    build($_builder, $_state, type, x, from, to, ::mlir::Value(), $_builder.getI64IntegerAttr(0), $_builder.getF64FloatAttr(1));
  }]>];
  let extra = [{
    /// The axis of entries in `ends`; null without them.
    ::mlir::StringAttr getEntriesAttr();
  }];
  let zeroPadding = "WhereOperandsAre";
  let origin = "Operand";
  let madeAgain = 1;
  let assemblyFormat = "$x (`ends` $ends^)? `from` $from `to` $to attr-dict `:` functional-type(operands, results)";
  let linear = 1;
  let hasFolder = 1;
}

// No agreement of axes: a local size may be that of one chunk.
def Nn_ReshapeOp : Nn_Op<"reshape", [Pure, Nn_SplitsAgree, Nn_ShardableOpInterface, Nn_OriginOpInterface, Nn_CostOpInterface]> {
  let summary = "the same elements in the same order under other axes; no data moves; only on rank-local tensors";
  let arguments = (ins Nn_Float:$x);
  let results = (outs Nn_Float:$result);
  let origin = "Operand";
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// No cost: it is gone before anything runs.
def Nn_CheckpointOp : Nn_Op<"checkpoint", [Pure, Nn_AxesAgree, Nn_ShardableOpInterface, AllTypesMatch<["kept", "again", "result"]>]> {
  let summary = "one of two equal values: `kept` from the forward, or `again`, repeated in the backward";
  let description = [{
    Stands where a recomputed segment crosses from one block into the next. schedule-recompute chooses, once it knows where the chain of
    blocks is cut: what another part of the model computed is kept, everything else is repeated.
  }];
  let arguments = (ins Nn_Tensor:$kept, Nn_Tensor:$again);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$kept `or` $again attr-dict `:` type($result)";
  let linear = 1;
}

def Nn_CausalMaskOp : Nn_PureOp<"causal_mask", [Nn_Lowerable, Nn_OwnLoopAxes]> {
  let summary = "x where key <= query (global coordinates), -1e30 elsewhere";
  let arguments = (ins Nn_Float:$x, StrAttr:$query, StrAttr:$key);
  let results = (outs Nn_Float:$result);
  let effort = "Little";
  let assemblyFormat = "$x `query` $query `key` $key attr-dict `:` functional-type(operands, results)";
}

#endif
