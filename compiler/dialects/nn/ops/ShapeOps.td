// Ops that contract, reduce, broadcast, look up, or only move data between axes.
#ifndef NPAR_NN_SHAPE_OPS_TD
#define NPAR_NN_SHAPE_OPS_TD

include "compiler/dialects/nn/ops/OpBase.td"

def Nn_EinsumOp : Nn_PureOp<"einsum", [Nn_Differentiable, Nn_OwnCost]> {
  let summary = "product of a and b, summed over the axes that the result lacks";
  let description = [{
    ```mlir
    %y = nn.einsum %x, %w : (tensor<8x128x64xf32, #nn.axes<batch, seq, embed>>, tensor<64x256xf32, #nn.axes<embed, hidden>>)
        -> tensor<8x128x256xf32, #nn.axes<batch, seq, hidden>>
    ```
    The order of the result's axes is free. Linear in each operand, not in both at once. Sums of products of 16-bit floats are added in
    float32 and rounded once; the result may be f32 itself.
  }];
  let arguments = (ins Nn_Float:$a, Nn_Float:$b);
  let results = (outs Nn_Float:$result);
}

class Nn_ReduceOp<string mnemonic, list<Trait> traits> : Nn_PureOp<mnemonic, traits> {
  let summary = mnemonic # " over the axes that the result lacks";
  let arguments = (ins Nn_Float:$x);
  let results = (outs Nn_Float:$result);
}
def Nn_SumOp : Nn_ReduceOp<"sum", [Nn_Differentiable]> {
  let linear = 1;
  let hasFolder = 1;
}
def Nn_MaxOp : Nn_ReduceOp<"max", []>;

def Nn_BroadcastOp : Nn_PureOp<"broadcast", [Nn_Differentiable]> {
  let summary = "repeats x along the axes that it lacks; the order of the result's axes is free";
  let arguments = (ins Nn_Float:$x);
  let results = (outs Nn_Float:$result);
  let linear = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nn_GatherOp : Nn_PureOp<"gather", [Nn_Differentiable, Nn_Indexing, Nn_OwnLoopAxes]> {
  let summary = "rows of a table: result[idx axes, table axes without `axis`] = table[idx, ...]; linear in the table";
  let arguments = (ins Nn_Float:$table, Nn_Integer:$idx, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$table `,` $idx `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_ScatterAddOp : Nn_PureOp<"scatter_add", [Nn_OwnLoopAxes]> {
  let summary = "the gradient of nn.gather's table: result[row] = sum of dy where idx == row, in ascending order";
  let description = "The sum has the result's type: f32 where dy is of 16 bits.";
  let arguments = (ins Nn_Integer:$idx, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$idx `,` $dy `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_SelectOp : Nn_PureOp<"select", [Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "one index of an axis, which the result lacks";
  let arguments = (ins Nn_Float:$x, StrAttr:$axis, I64Attr:$index);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$x `at` $axis `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let linear = 1;
  let hasFolder = 1;
}

def Nn_StackOp : Nn_PureOp<"stack", [Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "joins tensors along a new axis, which has one index per operand";
  let arguments = (ins Variadic<Nn_Float>:$xs, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$xs `along` $axis attr-dict `:` functional-type(operands, results)";
  let linear = 1;
  let hasFolder = 1;
}

def Nn_RenameOp : Nn_PureOp<"rename", [Nn_Differentiable, Nn_OwnLoopNames]> {
  let summary = "another name for an axis; no data moves";
  let arguments = (ins Nn_Float:$x, StrAttr:$from, StrAttr:$to);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$x `from` $from `to` $to attr-dict `:` functional-type(operands, results)";
  let linear = 1;
  let hasFolder = 1;
}

// No agreement of axes: a local size may be that of one chunk.
def Nn_ReshapeOp : Nn_Op<"reshape", [Pure, Nn_ShardableOpInterface, Nn_CostOpInterface]> {
  let summary = "the same elements in the same order under other axes; no data moves; only on rank-local tensors";
  let arguments = (ins Nn_Float:$x);
  let results = (outs Nn_Float:$result);
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
  let arguments = (ins Nn_Float:$kept, Nn_Float:$again);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$kept `or` $again attr-dict `:` type($result)";
  let extraClassDeclaration = "bool isLinear() { return true; }";
}

def Nn_CausalMaskOp : Nn_PureOp<"causal_mask", [Nn_OwnLoopAxes]> {
  let summary = "x where key <= query (global coordinates), -1e30 elsewhere";
  let description = [{
    With `ring` (mesh axes) the keys are the block of the rank `step` places before this one on the ring, out of the sequence that the
    queries are a block of.
  }];
  let arguments = (ins Nn_Float:$x, StrAttr:$query, StrAttr:$key, OptionalAttr<StrArrayAttr>:$ring,
                       DefaultValuedOptionalAttr<I64Attr, "0">:$step);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$x `query` $query `key` $key attr-dict `:` functional-type(operands, results)";
}

def Nn_PickOp : Nn_PureOp<"pick", [Nn_Differentiable, Nn_Indexing]> {
  let summary = "sum over `axis` of (global index == idx ? x : 0); linear in x";
  let arguments = (ins Nn_Float:$x, Nn_Integer:$idx, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$x `,` $idx `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_OneHotOp : Nn_PureOp<"one_hot"> {
  let summary = "global index along `axis` == idx ? 1 : 0; rows of padding are 0";
  let arguments = (ins Nn_Integer:$idx, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$idx `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_KeepValidOp : Nn_PureOp<"keep_valid"> {
  let summary = "x, but 0 where the target is the value to ignore, whatever x is there; targets are broadcast by name";
  let arguments = (ins Nn_Float:$x, Nn_Integer:$targets, I64Attr:$ignore);
  let results = (outs Nn_Float:$result);
  let assemblyFormat = "$x `,` $targets `ignore` $ignore attr-dict `:` functional-type(operands, results)";
}

#endif
