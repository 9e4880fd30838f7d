// Cross-entropy of logits against target classes, and what becomes of tokens that do not count.
#ifndef NPAR_NN_CROSS_ENTROPY_TD
#define NPAR_NN_CROSS_ENTROPY_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_CrossEntropyOp : Nn_PureOp<"cross_entropy", [Nn_Composite, Nn_LanguageOfMany, Nn_Differentiable, Nn_Indexing, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "loss = lse - logits[target], lse = log sum exp of the logits over `axis`, per token; 0 where the target is `ignore`";
  let description = [{
    With `smoothing` s the target is s / n of each of n classes and 1 - s more of its own: lse - (1 - s) logits[target] - s mean(logits).
    `z_loss` z adds z lse^2, which keeps lse near 0 (PaLM; Chowdhery et al. 2022, section 5).
  }];
  let arguments = (ins Nn_Float:$logits, Nn_Integer:$targets, StrAttr:$axis, OptionalAttr<I64Attr>:$ignore,
                       OptionalAttr<F64Attr>:$smoothing, OptionalAttr<F64Attr>:$z_loss);
  let results = (outs Nn_Float:$loss, Nn_Float:$lse);
  let wide = 1;
  let keepWord = "loss";
  let assemblyFormat = "operands `over` $axis (`ignore` $ignore^)? (`smoothing` $smoothing^)? (`z_loss` $z_loss^)? attr-dict `:` functional-type(operands, results)";
}

def Nn_CrossEntropyGradOp : Nn_PureOp<"cross_entropy_grad", [Nn_Composite, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "(exp(logits - lse) - one_hot(targets)) * dloss; 0 where the target is `ignore`";
  let description = "With `smoothing` s over n classes and `z_loss` z: ((1 + 2 z lse) exp(logits - lse) - (1 - s) one_hot(targets) - s / n) * dloss.";
  let arguments = (ins Nn_Float:$logits, Nn_Integer:$targets, Nn_Float:$lse, Nn_Float:$dloss, StrAttr:$axis, OptionalAttr<I64Attr>:$ignore,
                       OptionalAttr<F64Attr>:$smoothing, OptionalAttr<F64Attr>:$z_loss);
  let results = (outs Nn_Float:$dlogits);
  let assemblyFormat = "operands `over` $axis (`ignore` $ignore^)? (`smoothing` $smoothing^)? (`z_loss` $z_loss^)? attr-dict `:` functional-type(operands, results)";
}

def Nn_KeepValidOp : Nn_PureOp<"keep_valid", [Nn_Lowerable]> {
  let summary = "x, but 0 where the target is the value to ignore, whatever x is there; targets are broadcast by name";
  let arguments = (ins Nn_Float:$x, Nn_Integer:$targets, I64Attr:$ignore);
  let results = (outs Nn_Float:$result);
  let zeroPadding = "WhereOperandsAre";
  let effort = "Little";
  let assemblyFormat = "$x `,` $targets `ignore` $ignore attr-dict `:` functional-type(operands, results)";
}

#endif
