// Normalisations over one axis, one op each through autodiff and placing (RULES.md#P5).
#ifndef NPAR_NN_NORM_TD
#define NPAR_NN_NORM_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_LayerNormOp : Nn_PureOp<"layer_norm", [Nn_Composite, Nn_LanguageOfMany, Nn_Differentiable, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "(x - mean) * rstd * gamma + beta over `axis`; rstd = 1 / sqrt(biased variance + epsilon)";
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, Nn_Float:$beta, StrAttr:$axis, F64Attr:$epsilon);
  let results = (outs Nn_Float:$y, Nn_Float:$mean, Nn_Float:$rstd);
  let wide = 1;
  let keepWord = "norm";
  let assemblyFormat = "operands `over` $axis `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
}

def Nn_LayerNormGradOp : Nn_PureOp<"layer_norm_grad", [Nn_Composite, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, Nn_Float:$mean, Nn_Float:$rstd, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$dx, Nn_Float:$dgamma, Nn_Float:$dbeta);
  let reduction = "Sum";
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_RmsNormOp : Nn_PureOp<"rms_norm", [Nn_Composite, Nn_LanguageOfMany, Nn_Differentiable, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "x * rstd * gamma over `axis`; rstd = 1 / sqrt(mean of squares + epsilon)";
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, StrAttr:$axis, F64Attr:$epsilon);
  let results = (outs Nn_Float:$y, Nn_Float:$rstd);
  let wide = 1;
  let keepWord = "norm";
  let assemblyFormat = "operands `over` $axis `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
}

def Nn_RmsNormGradOp : Nn_PureOp<"rms_norm_grad", [Nn_Composite, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, Nn_Float:$rstd, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$dx, Nn_Float:$dgamma);
  let reduction = "Sum";
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_SoftmaxOp : Nn_PureOp<"softmax", [Nn_Composite, Nn_Language, Nn_Differentiable, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "exp(x - max) / sum exp(x - max) over `axis`";
  let arguments = (ins Nn_Float:$x, StrAttr:$axis);
  let results = (outs Nn_Float:$y);
  let wide = 1;
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_SoftmaxGradOp : Nn_PureOp<"softmax_grad", [Nn_Composite, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "y * (dy - sum over axis of y * dy)";
  let arguments = (ins Nn_Float:$y, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$dx);
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}

#endif
