// Functions of one element besides those of activations, and the value that passes no gradient on.
#ifndef NPAR_NN_FUNCTION_TD
#define NPAR_NN_FUNCTION_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_FunctionOp<string mnemonic> : Nn_PureOp<mnemonic, [Nn_Lowerable, Nn_Language, Nn_Differentiable]> {
  let arguments = (ins Nn_Float:$x);
  let results = (outs Nn_Float:$result);
}

def Nn_SqrtOp : Nn_FunctionOp<"sqrt"> { let zeroPadding = "WhereOperandsAre"; }
def Nn_CosOp : Nn_FunctionOp<"cos">;
def Nn_SinOp : Nn_FunctionOp<"sin"> { let zeroPadding = "WhereOperandsAre"; }
def Nn_AbsOp : Nn_FunctionOp<"abs"> {
  let summary = "the absolute value; its gradient at 0 is 0";
  let zeroPadding = "WhereOperandsAre";
  let effort = "Little";
}
def Nn_StopGradientOp : Nn_FunctionOp<"stop_gradient"> {
  let summary = "x, as a constant to the gradient";
  let description = "`neutral`: the values computed from it depend on it only by rounding, so that the gradient is still that of the loss.";
  let arguments = (ins Nn_Float:$x, OptionalAttr<BoolAttr>:$neutral);
  let zeroPadding = "WhereOperandsAre";
  let effort = "None";
  let linear = 1;
}

#endif
