// A step of attention whose keys travel round a ring, which the expansion of nn.attention makes (RULES.md#P5).
#ifndef NPAR_NN_RING_ATTENTION_TD
#define NPAR_NN_RING_ATTENTION_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_RingAttentionOp : Nn_PureOp<"ring_attention", [Nn_OwnLoopNames, Nn_OwnProducts]> {
  let summary = "the softmax of nn.attention over the keys of one rank more";
  let description = [{
    The members of `ring` (mesh axes) have a piece of `seq` each; k and v are that of the member `step` places before this one. Shapes are
    those of nn.attention. `before` is the softmax over the keys of earlier steps, absent in the first: for each row the sums of
    exponentials times values, then their maximum and their sum, [.., heads, groups, seq, state] with values + 2 in `state`, f32 (f64 of f64).
    The result is the same with these keys; in the last step there are two instead, nn.attention's out and lse. `balanced`: the ring's
    pieces lie in zigzag order, so that a causal mask leaves half of every step.

    `further` is `before`, but for step 0, and then nn.attention's `data` with `scores`: those that have keys and no queries are of the same
    rank as k, the others this one's, with all keys where they have any.
    ```mlir
    %s = nn.ring_attention %q, %k, %v {seq = "seq", feature = "feature", causal = true, scale = 0.5 : f64, ring = ["cp"], step = 0 : i64}
        : (!q, !q, !q) -> tensor<2x1x4x10xf32, #dist.layout<batch : 2, head : 1, seq : 8 {cp}, seq.state : 10>>
    %o, %lse = nn.ring_attention %q, %k1, %v1, %s {..., step = 1 : i64} : (!q, !q, !q, !s) -> (!q, !l)
    ```
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Variadic<Nn_Tensor>:$further, StrAttr:$seq, StrAttr:$feature,
                       BoolAttr:$causal, F64Attr:$scale, OptionalAttr<StrAttr>:$keys, OptionalAttr<StrAttr>:$key,
                       OptionalAttr<FlatSymbolRefAttr>:$scores, StrArrayAttr:$ring, I64Attr:$step, UnitAttr:$balanced);
  let results = (outs Variadic<Nn_Float>:$made);
  let extra = [{
    /// Returns whether this is the last step, which yields out and lse.
    bool ends() { return getMade().size() == 2; }
    /// The axes of lse.
    ::llvm::ArrayRef<::mlir::StringAttr> getRowAxes();
    /// The softmax state of the previous step; null in the first step.
    ::mlir::Value getBefore() { return getStep() == 0 || getFurther().empty() ? ::mlir::Value() : getFurther().front(); }
    ::mlir::ValueRange getData() { return ::mlir::ValueRange(getFurther()).drop_front(getBefore() ? 1 : 0); }
    /// The axis of keys in k and v, and that in `data`.
    ::mlir::StringAttr getKeyAxis() { return getKeysAttr() ? getKeysAttr() : getSeqAttr(); }
    ::mlir::StringAttr getDataAxis() { return getKeysAttr() ? getKeysAttr() : getKeyAttr(); }
  }];
}

def Nn_RingAttentionGradOp : Nn_PureOp<"ring_attention_grad", [Nn_OwnLoopNames, Nn_OwnProducts]> {
  let summary = "the gradients of q, k and v that come of the keys of one rank";
  let description = [{
    k, v, `ring`, `step` and `balanced` as in nn.ring_attention; lse and out are those of the last step. The results, parts of sums, are f32
    (f64 of f64); so are `slopes`, the gradients of the `data` that are `sloped`, as those of nn.attention_grad.
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Nn_Float:$out, Nn_Float:$dout, Nn_Float:$lse, Variadic<Nn_Tensor>:$data,
                       StrAttr:$seq, StrAttr:$feature, BoolAttr:$causal, F64Attr:$scale, OptionalAttr<StrAttr>:$keys,
                       OptionalAttr<StrAttr>:$key, OptionalAttr<FlatSymbolRefAttr>:$scores, OptionalAttr<DenseI64ArrayAttr>:$sloped,
                       StrArrayAttr:$ring, I64Attr:$step, UnitAttr:$balanced);
  let results = (outs Nn_Float:$dq, Nn_Float:$dk, Nn_Float:$dv, Variadic<Nn_Float>:$slopes);
  let reduction = "Sum";
  let extra = [{
    bool needsZeroPadding(unsigned operand, ::mlir::StringAttr axis);
    /// The axes of lse.
    ::llvm::ArrayRef<::mlir::StringAttr> getRowAxes();
    ::mlir::StringAttr getKeyAxis() { return getKeysAttr() ? getKeysAttr() : getSeqAttr(); }
    ::mlir::StringAttr getDataAxis() { return getKeysAttr() ? getKeysAttr() : getKeyAttr(); }
    ::llvm::ArrayRef<int64_t> getSlopeNumbers() { return getSloped().value_or(::llvm::ArrayRef<int64_t>()); }
  }];
}

#endif
