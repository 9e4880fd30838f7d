// Gradients of functions of one element: the incoming gradient, multiplied or divided by the slope (RULES.md#N10). These ops have the bits
// of nn.mul and nn.div unless something overflows.
#ifndef NPAR_NN_CHAIN_TD
#define NPAR_NN_CHAIN_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_ChainingOp<string mnemonic> : Nn_PureOp<mnemonic, [Nn_Lowerable]> {
  let arguments = (ins Nn_Float:$dy, Nn_Float:$by);
  let results = (outs Nn_Float:$result);
  let effort = "Little";
}
def Nn_ChainOp : Nn_ChainingOp<"chain"> {
  let summary = "dy * by, a slope; 0 where dy is 0, also where the slope is infinite or NaN; broadcast by name as nn.mul";
  let zeroPadding = "WhereOperandsAre";
}
def Nn_ChainMulOp : Nn_ChainingOp<"chain_mul"> {
  let summary = "dy * by, the other factor of a product; 0 where one of them is 0, also where the other one is infinite";
  let zeroPadding = "WhereOperandsAre";
}
def Nn_ChainDivOp : Nn_ChainingOp<"chain_div"> { let summary = "dy / by; 0 where dy is 0, also where the divisor is 0"; }
def Nn_LogGradOp : Nn_ChainingOp<"log_grad"> { let summary = "dy / by; 0 where dy is 0, NaN where the divisor is infinite"; }

def Nn_DivGradOp : Nn_PureOp<"div_grad", [Nn_Lowerable]> {
  let summary = "dy * y / b, the gradient of y = a / b by b times -1; finite wherever one order of the steps is";
  let arguments = (ins Nn_Float:$dy, Nn_Float:$y, Nn_Float:$b);
  let results = (outs Nn_Float:$result);
  let effort = "Little";
}

#endif
