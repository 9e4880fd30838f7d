// Attention, one op through autodiff and placing (RULES.md#P5).
#ifndef NPAR_NN_ATTENTION_TD
#define NPAR_NN_ATTENTION_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_AttentionOp : Nn_PureOp<"attention", [Nn_Composite, Nn_LanguageOfMany, Nn_Differentiable, Nn_OwnLoopNames, Nn_OwnProducts]> {
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

    With `blocked` nobody ever stores the probabilities: the second result is the logarithm of the sum that they are divided by, lse: [..,
    heads, groups, seq], and the gradient makes them again. The op is not expanded but becomes one step, block by block (`rank.attention`).
    Keys and values are whole; the queries may be split.
    ```mlir
    %o, %lse = nn.attention %q, %k, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.125, blocked} : (...)
        -> (tensor<2x8x4x3x16xf32, #nn.axes<batch, seq, kv_head, group, feature>>, tensor<2x4x3x8xf32, #nn.axes<batch, kv_head, group, seq>>)
    ```
    With `ring` the keys and values of the mesh axes that split `seq` travel past the queries, and nobody ever has all of them: the second
    result is lse too. It is expanded into an `nn.ring_attention` for each rank of the ring.
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, StrAttr:$seq, StrAttr:$key, StrAttr:$feature, BoolAttr:$causal, F64Attr:$scale,
                       UnitAttr:$ring, UnitAttr:$blocked);
  let results = (outs Nn_Float:$out, Nn_Float:$probs);
  let extra = [{
    /// Whether the second result is the logarithm of the sum of exponentials.
    bool keepsLse() { return getRing() || getBlocked(); }
    ::mlir::Value getLse() { return getProbs(); }
  }];
}

def Nn_AttentionGradOp : Nn_PureOp<"attention_grad", [Nn_Composite, Nn_OwnLoopNames, Nn_OwnProducts]> {
  let summary = "the gradients of q, k, v; with `ring` or `blocked` from lse in place of the probabilities, and from `out`";
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Nn_Float:$probs, Nn_Float:$dout, Optional<Nn_Float>:$out,
                       StrAttr:$seq, StrAttr:$key, StrAttr:$feature, BoolAttr:$causal, F64Attr:$scale, UnitAttr:$ring, UnitAttr:$blocked);
  let results = (outs Nn_Float:$dq, Nn_Float:$dk, Nn_Float:$dv);
  let reduction = "Sum";
  let extra = [{
    /// Whether the fourth operand is the logarithm of the sum of exponentials.
    bool keepsLse() { return getRing() || getBlocked(); }
    ::mlir::Value getLse() { return getProbs(); }
    bool needsZeroPadding(unsigned operand, ::mlir::StringAttr axis);
  }];
}

#endif
