// Ops that reduce or repeat along axes.
#ifndef NPAR_NN_REDUCE_TD
#define NPAR_NN_REDUCE_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_ReduceOp<string mnemonic, list<Trait> traits> : Nn_PureOp<mnemonic, !listconcat([Nn_Lowerable], traits)> {
  let summary = mnemonic # " over the axes that the result lacks";
  let arguments = (ins Nn_Tensor:$x);
  let results = (outs Nn_Tensor:$result);
  let masksPadding = 1;
  // Loops in the operand's order, so that it is read contiguously.
  let extra = "::llvm::SmallVector<::mlir::StringAttr> getLoopOrder() { return ::llvm::to_vector(axesOf(getX().getType())); }";
}

def Nn_SumOp : Nn_ReduceOp<"sum", [Nn_Language, Nn_Differentiable]> {
  let linear = 1;
  let hasFolder = 1;
  let reduction = "Sum";
  let zeroPadding = "WhereOperandsAre";
}

def Nn_TotalOp : Nn_PureOp<"total", [Nn_Language, AllTypesMatch<["x", "result"]>]> {
  let summary = "for each sample the sum of x over the samples of the global batch; prepare-totals replaces it";
  let arguments = (ins Nn_Tensor:$x);
  let results = (outs Nn_Tensor:$result);
  let hasVerifier = 0;
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Nn_MaxOp : Nn_ReduceOp<"max", [Nn_Language, Nn_Differentiable]> {
  let description = "Its gradient is shared evenly by the elements that are equal to the maximum.";
  let reduction = "Max";
}
def Nn_IsMaxOp : Nn_PureOp<"is_max", [Nn_Lowerable]> {
  let summary = "1 where x is equal to its maximum, else 0; the maximum is broadcast by name";
  let arguments = (ins Nn_Float:$x, Nn_Float:$max);
  let results = (outs Nn_Float:$result);
  let effort = "Little";
}

def Nn_BroadcastOp : Nn_PureOp<"broadcast", [Nn_Lowerable, Nn_Differentiable]> {
  let summary = "repeats x along the axes that it lacks; the order of the result's axes is free";
  let arguments = (ins Nn_Tensor:$x);
  let results = (outs Nn_Tensor:$result);
  let madeAgain = 1;
  let effort = "None";
  let linear = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

#endif
