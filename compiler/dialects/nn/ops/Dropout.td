// Dropout.
#ifndef NPAR_NN_DROPOUT_TD
#define NPAR_NN_DROPOUT_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_DropoutOp : Nn_PureOp<"dropout", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_KeepsMask]> {
  let summary = "keeps an element iff philox(seed, site, data step, global logical index) >= rate, scaled by 1/(1-rate); 0 otherwise";
  let description = "Its gradient is the same op on dy: equal sites draw the same mask, distinct ones are never merged (RULES.md#N1).";
  let arguments = (ins Nn_Float:$x, F64Attr:$rate, StrAttr:$site);
  let results = (outs Nn_Float:$result);
  let hasFolder = 1;
  let zeroPadding = "WhereOperandsAre";
}

#endif
