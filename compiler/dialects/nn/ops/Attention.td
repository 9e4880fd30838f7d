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

    With `keys` the keys are another sequence, `key_count` of them: k and v have that axis in place of `seq`, as a decoder looks at what an
    encoder made.

    `causal` with `keys`, the keys are what has been kept of the queries' own sequence: the last of `data` says where the queries stand in
    it, one after the other from its first number on ([.., seq], i32: for each sample), and a query sees the keys up to its own position.
    `blocked` alone.

    What is done to scores between product and softmax comes in two forms. As imported: `data` holds a bias over any of lse's axes and the
    keys (where `biased`) and a condition (where `masked`) that is 0 for what is not seen; `cap` is the bound of c tanh(scores / c), which
    comes first, and with `dropout` probabilities are dropped where `site` draws it. As `prepare-scores` leaves it: `scores` names an
    nn.scores with a formula for one score, and `data` are its operands. In `data` keys have the axis `keys`, without it `key`.
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Variadic<Nn_Tensor>:$data, StrAttr:$seq, StrAttr:$key, StrAttr:$feature,
                       BoolAttr:$causal, F64Attr:$scale, OptionalAttr<StrAttr>:$keys, OptionalAttr<I64Attr>:$key_count,
                       OptionalAttr<BoolAttr>:$biased, OptionalAttr<BoolAttr>:$masked, OptionalAttr<F64Attr>:$cap, OptionalAttr<F64Attr>:$dropout,
                       OptionalAttr<StrAttr>:$site, OptionalAttr<FlatSymbolRefAttr>:$scores, OptionalAttr<DenseI64ArrayAttr>:$sloped,
                       UnitAttr:$ring, UnitAttr:$blocked);
  let results = (outs Nn_Float:$out, Nn_Float:$probs);
  let extra = [{
    /// Returns whether the second result is the logarithm of the sum of exponentials.
    bool keepsLse() { return getRing() || getBlocked(); }
    ::mlir::Value getLse() { return getProbs(); }
    /// The axis of keys in k and v, and that in `data`.
    ::mlir::StringAttr getKeyAxis() { return getKeysAttr() ? getKeysAttr() : getSeqAttr(); }
    ::mlir::StringAttr getDataAxis() { return getKeysAttr() ? getKeysAttr() : getKeyAttr(); }
    /// The positions of the queries among kept keys; null unless the keys were kept from earlier steps.
    ::mlir::Value getPositions() { return getKeysAttr() && getCausal() ? ::mlir::Value(getData().back()) : ::mlir::Value(); }
    /// `data` without the positions.
    ::mlir::ValueRange getScoreData() { return ::mlir::ValueRange(getData()).drop_back(getPositions() ? 1 : 0); }
    /// Numbers among `data` of those with a gradient.
    ::llvm::ArrayRef<int64_t> getSlopeNumbers() { return getSloped().value_or(::llvm::ArrayRef<int64_t>()); }
  }];
}

def Nn_AttentionGradOp : Nn_PureOp<"attention_grad", [Nn_Composite, Nn_OwnLoopNames, Nn_OwnProducts]> {
  let summary = "the gradients of q, k, v; with `ring` or `blocked` from lse in place of the probabilities, and from `out`";
  let description = [{
    `further` is `out`, where there is one, and then the attention's `data`. The gradients of those of them that are `sloped` follow; each has
    the axes of lse but `seq` and the datum's own, in f32 (f64 of f64): nothing is added up over samples and heads.
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Nn_Float:$probs, Nn_Float:$dout, Variadic<Nn_Tensor>:$further,
                       StrAttr:$seq, StrAttr:$key, StrAttr:$feature, BoolAttr:$causal, F64Attr:$scale, OptionalAttr<StrAttr>:$keys,
                       OptionalAttr<FlatSymbolRefAttr>:$scores, OptionalAttr<DenseI64ArrayAttr>:$sloped, UnitAttr:$ring, UnitAttr:$blocked);
  let results = (outs Nn_Float:$dq, Nn_Float:$dk, Nn_Float:$dv, Variadic<Nn_Float>:$slopes);
  let reduction = "Sum";
  let extra = [{
    /// Returns whether the fourth operand is the logarithm of the sum of exponentials.
    bool keepsLse() { return getRing() || getBlocked(); }
    ::mlir::Value getLse() { return getProbs(); }
    /// The result of the forward pass; null if the op does not have it.
    ::mlir::Value getOut() { return getFurther().empty() ? ::mlir::Value() : getFurther().front(); }
    ::mlir::ValueRange getData() { return ::mlir::ValueRange(getFurther()).drop_front(getFurther().empty() ? 0 : 1); }
    ::mlir::StringAttr getKeyAxis() { return getKeysAttr() ? getKeysAttr() : getSeqAttr(); }
    ::mlir::StringAttr getDataAxis() { return getKeysAttr() ? getKeysAttr() : getKeyAttr(); }
    ::llvm::ArrayRef<int64_t> getSlopeNumbers() { return getSloped().value_or(::llvm::ArrayRef<int64_t>()); }
    bool needsZeroPadding(unsigned operand, ::mlir::StringAttr axis);
  }];
}

#endif
