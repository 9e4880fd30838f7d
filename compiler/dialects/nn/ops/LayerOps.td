// Ops that stay whole through autodiff and placing and are expanded into prims afterwards (P5).
#ifndef NPAR_NN_LAYER_OPS_TD
#define NPAR_NN_LAYER_OPS_TD

include "compiler/dialects/nn/ops/OpBase.td"

def Nn_LayerNormOp : Nn_PureOp<"layer_norm", [Nn_Differentiable, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "(x - mean) * rstd * gamma + beta over `axis`; rstd = 1 / sqrt(biased variance + epsilon)";
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, Nn_Float:$beta, StrAttr:$axis, F64Attr:$epsilon);
  let results = (outs Nn_Float:$y, Nn_Float:$mean, Nn_Float:$rstd);
  let assemblyFormat = "operands `over` $axis `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
}
def Nn_LayerNormGradOp : Nn_PureOp<"layer_norm_grad", [Nn_OwnLoopAxes, Nn_OwnCost]> {
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, Nn_Float:$mean, Nn_Float:$rstd, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$dx, Nn_Float:$dgamma, Nn_Float:$dbeta);
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_RmsNormOp : Nn_PureOp<"rms_norm", [Nn_Differentiable, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "x * rstd * gamma over `axis`; rstd = 1 / sqrt(mean of squares + epsilon)";
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, StrAttr:$axis, F64Attr:$epsilon);
  let results = (outs Nn_Float:$y, Nn_Float:$rstd);
  let assemblyFormat = "operands `over` $axis `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
}
def Nn_RmsNormGradOp : Nn_PureOp<"rms_norm_grad", [Nn_OwnLoopAxes, Nn_OwnCost]> {
  let arguments = (ins Nn_Float:$x, Nn_Float:$gamma, Nn_Float:$rstd, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$dx, Nn_Float:$dgamma);
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_SoftmaxOp : Nn_PureOp<"softmax", [Nn_Differentiable, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "exp(x - max) / sum exp(x - max) over `axis`";
  let arguments = (ins Nn_Float:$x, StrAttr:$axis);
  let results = (outs Nn_Float:$y);
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}
def Nn_SoftmaxGradOp : Nn_PureOp<"softmax_grad", [Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "y * (dy - sum over axis of y * dy)";
  let arguments = (ins Nn_Float:$y, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$dx);
  let assemblyFormat = "operands `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_AttentionOp : Nn_PureOp<"attention", [Nn_Differentiable, Nn_OwnLoopNames, Nn_OwnCost]> {
  let summary = "softmax over `key` of scale * q . k (masked where key > seq if causal), times v";
  let description = [{
    q: [.., seq, heads, groups, features], k: [.., seq, heads, features], v: [.., seq, heads, feature]; `key` is the alias of `seq` for k
    and v. The axes that q and k share and probs lacks are contracted; `feature` is v's own axis, which may be one of them. q's groups,
    axes that k and v lack, attend to the same keys and values. probs: [.., heads, groups, seq, key], out: [.., seq, heads, groups, feature].
    ```mlir
    %o, %p = nn.attention %q, %k, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.125} :
        (tensor<2x8x4x3x16xf32, #nn.axes<batch, seq, kv_head, group, feature>>, tensor<2x8x4x16xf32, #nn.axes<batch, seq, kv_head, feature>>,
         tensor<2x8x4x16xf32, #nn.axes<batch, seq, kv_head, feature>>)
        -> (tensor<2x8x4x3x16xf32, #nn.axes<batch, seq, kv_head, group, feature>>, tensor<2x4x3x8x8xf32, #nn.axes<batch, kv_head, group, seq, key>>)
    ```
    Expanded into einsum, scale, causal_mask, softmax over `key`, einsum.

    With `ring` the keys and values of the mesh axes that split `seq` travel past the queries, and nobody ever has all of them: the second
    result is not the probabilities but the logarithm of the sum that they were divided by, lse: [.. without feature, seq].
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, StrAttr:$seq, StrAttr:$key, StrAttr:$feature, BoolAttr:$causal, F64Attr:$scale,
                       UnitAttr:$ring);
  let results = (outs Nn_Float:$out, Nn_Float:$probs);
  let extraClassDeclaration = [{
    /// With `ring`: the second result.
    ::mlir::Value getLse() { return getProbs(); }
  }];
}
def Nn_AttentionGradOp : Nn_PureOp<"attention_grad", [Nn_OwnLoopNames, Nn_OwnCost]> {
  let summary = "the gradients of q, k, v; with `ring` from lse in place of the probabilities, and from `out`";
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Nn_Float:$probs, Nn_Float:$dout, Optional<Nn_Float>:$out,
                       StrAttr:$seq, StrAttr:$key, StrAttr:$feature, BoolAttr:$causal, F64Attr:$scale, UnitAttr:$ring);
  let results = (outs Nn_Float:$dq, Nn_Float:$dk, Nn_Float:$dv);
  let extraClassDeclaration = [{
    /// With `ring`: the fourth operand.
    ::mlir::Value getLse() { return getProbs(); }
  }];
}

def Nn_CrossEntropyOp : Nn_PureOp<"cross_entropy", [Nn_Differentiable, Nn_Indexing, Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "loss = lse - logits[target], lse = log sum exp of the logits over `axis`, per token; 0 where the target is `ignore`";
  let arguments = (ins Nn_Float:$logits, Nn_Integer:$targets, StrAttr:$axis, OptionalAttr<I64Attr>:$ignore);
  let results = (outs Nn_Float:$loss, Nn_Float:$lse);
  let assemblyFormat = "operands `over` $axis (`ignore` $ignore^)? attr-dict `:` functional-type(operands, results)";
}
def Nn_CrossEntropyGradOp : Nn_PureOp<"cross_entropy_grad", [Nn_OwnLoopAxes, Nn_OwnCost]> {
  let summary = "(exp(logits - lse) - one_hot(targets)) * dloss; 0 where the target is `ignore`";
  let arguments = (ins Nn_Float:$logits, Nn_Integer:$targets, Nn_Float:$lse, Nn_Float:$dloss, StrAttr:$axis, OptionalAttr<I64Attr>:$ignore);
  let results = (outs Nn_Float:$dlogits);
  let assemblyFormat = "operands `over` $axis (`ignore` $ignore^)? attr-dict `:` functional-type(operands, results)";
}

#endif
