// A step of attention whose keys travel round a ring, which the expansion of nn.attention makes (RULES.md#P5).
#ifndef NPAR_NN_RING_ATTENTION_TD
#define NPAR_NN_RING_ATTENTION_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_RingAttentionOp : Nn_PureOp<"ring_attention", [Nn_OwnLoopAxes, Nn_OwnProducts]> {
  let summary = "the softmax of nn.attention over the keys of one rank more";
  let description = [{
    The members of `ring` (mesh axes) have a piece of `seq` each; k and v are that of the member `step` places before this one. Shapes are
    those of nn.attention. `before` is the softmax over the keys of earlier steps, absent in the first: for each row the sums of
    exponentials times values, then their maximum and their sum, [.., heads, groups, seq, state] with values + 2 in `state`, f32 (f64 of f64).
    The result is the same with these keys; in the last step there are two instead, nn.attention's out and lse. `balanced`: the ring's
    pieces lie in zigzag order, so that a causal mask leaves half of every step.
    ```mlir
    %s = nn.ring_attention %q, %k, %v {seq = "seq", feature = "feature", causal = true, scale = 0.5 : f64, ring = ["cp"], step = 0 : i64}
        : (!q, !q, !q) -> tensor<2x1x4x10xf32, #dist.layout<batch : 2, head : 1, seq : 8 {cp}, seq.state : 10>>
    %o, %lse = nn.ring_attention %q, %k1, %v1, %s {..., step = 1 : i64} : (!q, !q, !q, !s) -> (!q, !l)
    ```
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Optional<Nn_Float>:$before, StrAttr:$seq, StrAttr:$feature, BoolAttr:$causal,
                       F64Attr:$scale, StrArrayAttr:$ring, I64Attr:$step, UnitAttr:$balanced);
  let results = (outs Variadic<Nn_Float>:$made);
  let extra = [{
    /// Whether it makes out and lse.
    bool ends() { return getMade().size() == 2; }
    /// The axes of lse.
    ::llvm::ArrayRef<::mlir::StringAttr> getRowAxes();
  }];
}

def Nn_RingAttentionGradOp : Nn_PureOp<"ring_attention_grad", [Nn_OwnLoopAxes, Nn_OwnProducts]> {
  let summary = "the gradients of q, k and v that come of the keys of one rank";
  let description = [{
    k, v, `ring`, `step` and `balanced` as in nn.ring_attention; lse and out are those of the last step. The results, parts of sums, are f32
    (f64 of f64).
  }];
  let arguments = (ins Nn_Float:$q, Nn_Float:$k, Nn_Float:$v, Nn_Float:$out, Nn_Float:$dout, Nn_Float:$lse,
                       StrAttr:$seq, StrAttr:$feature, BoolAttr:$causal, F64Attr:$scale, StrArrayAttr:$ring, I64Attr:$step,
                       UnitAttr:$balanced);
  let results = (outs Nn_Float:$dq, Nn_Float:$dk, Nn_Float:$dv);
  let reduction = "Sum";
  let extra = [{
    bool needsZeroPadding(unsigned operand, ::mlir::StringAttr axis);
    /// The axes of lse.
    ::llvm::ArrayRef<::mlir::StringAttr> getRowAxes();
  }];
}

#endif
