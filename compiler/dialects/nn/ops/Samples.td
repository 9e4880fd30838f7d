// The samples of a training step: their numbers, and sums over groups of them.
#ifndef NPAR_NN_SAMPLES_TD
#define NPAR_NN_SAMPLES_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_SampleOp : Nn_PureOp<"sample", [Nn_Lowerable, Nn_Language]> {
  let summary = "for each sample of the micro-batch its number in the global batch of the step: 0, 1, 2, ... along `batch`";
  let results = (outs Nn_Integer:$result);
  let origin = "Nothing";
  let effort = "None";
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Nn_GroupTotalOp : Nn_PureOp<"group_total", [Nn_Language, AllTypesMatch<["x", "result"]>]> {
  let summary = "for each sample the sum of x over its group of `samples` consecutive ones; prepare-totals replaces it";
  let arguments = (ins Nn_Tensor:$x, I64Attr:$samples);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$x `by` $samples attr-dict `:` type($x)";
}

#endif
