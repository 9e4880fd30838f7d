// The largest entries over some axes: the first of them, and the maximum whose gradient goes there.
#ifndef NPAR_NN_LARGEST_TD
#define NPAR_NN_LARGEST_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_LargestOp<string mnemonic, list<Trait> traits> : Nn_PureOp<mnemonic, !listconcat([Nn_Lowerable], traits)> {
  // Positions count the entries of `axes` together, row-major. Reducing ops run their reduced loops inside the others.
  code inner = "::llvm::SmallVector<::mlir::StringAttr> getLoopOrder() { return ::llvm::to_vector(axesOf(getX().getType())); }";
}

def Nn_MaxFirstOp : Nn_LargestOp<"max_first", [Nn_Language, Nn_Differentiable]> {
  let summary = "nn.max over `axes`, whose gradient goes to the first of equal entries";
  let arguments = (ins Nn_Float:$x, StrArrayAttr:$axes);
  let results = (outs Nn_Float:$result);
  let reduction = "Max";
  let masksPadding = 1;
  let extra = inner;
  let assemblyFormat = "$x `over` $axes attr-dict `:` functional-type(operands, results)";
}

def Nn_FirstMaxOp : Nn_LargestOp<"first_max", [Nn_Language, Nn_Decision]> {
  let summary = "n - 1 - i of the first of n positions i where x is the maximum, or NaN: a maximum, so that it splits";
  let arguments = (ins Nn_Float:$x, Nn_Float:$max, StrArrayAttr:$axes);
  let results = (outs Nn_Integer:$result);
  let reduction = "Max";
  let masksPadding = 1;
  let extra = inner;
  let assemblyFormat = "$x `,` $max `over` $axes attr-dict `:` functional-type(operands, results)";
}

def Nn_AtPositionOp : Nn_LargestOp<"at_position", []> {
  let summary = "x at the position that nn.first_max found, else 0; the result has the axes of x and `axes`";
  let arguments = (ins Nn_Float:$x, Nn_Integer:$position, StrArrayAttr:$axes);
  let results = (outs Nn_Float:$result);
  let effort = "Little";
  let assemblyFormat = "$x `,` $position `over` $axes attr-dict `:` functional-type(operands, results)";
}

#endif
