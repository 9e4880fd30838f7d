// Composite operations become local ones; a reduction over a split axis is completed by an all_reduce (RULES.md#P5).
// What nothing uses is dropped, so each function returns what its operations make.
// RUN: npar-opt %s -split-input-file -place-expand | FileCheck %s

// The mean divides by the global size.
// CHECK-LABEL: func.func @split_layer_norm
!x = tensor<2x3xf32, #dist.layout<batch : 2, embed : 6 {tp}>>
!w = tensor<3xf32, #dist.layout<embed : 6 {tp}>>
!s = tensor<2xf32, #dist.layout<batch : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @split_layer_norm() -> (!x, !s, !s) {
    %x = nn.input "x" : !x
    %g = nn.input "g" : !w
    // CHECK: %[[S:.*]] = nn.sum {{.*}} -> tensor<2xf32, #dist.layout<batch : 2, partial = {tp : sum}>>
    // CHECK: %[[R:.*]] = dist.all_reduce %[[S]] {axes = ["tp"], cause = #dist.cause<kind = reduces_split, operation = "layer_norm", axes = ["embed"], rules = [""]>, op = "sum"}
    // CHECK: nn.scale %[[R]] by 0.166666
    // CHECK: nn.sub
    // CHECK: nn.mul
    // CHECK: nn.sum
    // CHECK: dist.all_reduce
    // CHECK: nn.rsqrt
    // CHECK-NOT: dist.all_reduce
    // CHECK-NOT: nn.layer_norm
    %y, %m, %r = nn.layer_norm %x, %g, %g over "embed" epsilon 1.0e-05 : (!x, !w, !w) -> (!x, !s, !s)
    return %y, %m, %r : !x, !s, !s
  }
}

// -----
// One mean, of the squares; its gradient completes one more, and the scale's gradient stays partial over what splits the rows.
// CHECK-LABEL: func.func @split_rms_norm
!x = tensor<2x3xf32, #dist.layout<batch : 4 {dp}, embed : 6 {tp}>>
!w = tensor<3xf32, #dist.layout<embed : 6 {tp}>>
!d = tensor<3xf32, #dist.layout<embed : 6 {tp}, partial = {dp : sum}>>
!s = tensor<2xf32, #dist.layout<batch : 4 {dp}>>
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>} {
  func.func @split_rms_norm() -> (!x, !s, !x, !d) {
    %x = nn.input "x" : !x
    %g = nn.input "g" : !w
    // CHECK: nn.mul
    // CHECK: %[[S:.*]] = nn.sum
    // CHECK: %[[R:.*]] = dist.all_reduce %[[S]] {axes = ["tp"], cause = #dist.cause<kind = reduces_split, operation = "rms_norm", axes = ["embed"], rules = [""]>, op = "sum"}
    // CHECK: nn.scale %[[R]] by 0.166666
    // CHECK: nn.shift
    // CHECK: nn.rsqrt
    // CHECK-NOT: dist.all_reduce
    %y, %r = nn.rms_norm %x, %g over "embed" epsilon 1.0e-05 : (!x, !w) -> (!x, !s)
    // CHECK: nn.sum
    // CHECK: dist.all_reduce {{.*}} {axes = ["tp"], cause = #dist.cause<kind = reduces_split, operation = "rms_norm_grad", axes = ["embed"], rules = [""]>, op = "sum"}
    // CHECK: nn.sum {{.*}} -> tensor<3xf32, #dist.layout<embed : 6 {tp}, partial = {dp : sum}>>
    // CHECK-NOT: dist.all_reduce
    // CHECK-NOT: nn.rms_norm
    %dx, %dg = nn.rms_norm_grad %x, %g, %r, %y over "embed" : (!x, !w, !s, !x) -> (!x, !d)
    return %y, %r, %dx, %dg : !x, !s, !x, !d
  }
}

// -----
// Groups of queries over tp: each rank's gradients of the shared keys and values are its share of a sum.
// CHECK-LABEL: func.func @grouped_attention
!q = tensor<2x4x1x2x8xf32, #dist.layout<batch : 2, seq : 4, kv_head : 1, group : 4 {tp}, feature : 8>>
!k = tensor<2x4x1x8xf32, #dist.layout<batch : 2, seq : 4, kv_head : 1, feature : 8>>
!dk = tensor<2x4x1x8xf32, #dist.layout<batch : 2, seq : 4, kv_head : 1, feature : 8, partial = {tp : sum}>>
!p = tensor<2x1x2x4x4xf32, #dist.layout<batch : 2, kv_head : 1, group : 4 {tp}, seq : 4, key : 4>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @grouped_attention() -> (!q, !dk, !dk) {
    %q = nn.input "q" : !q
    %k = nn.input "k" : !k
    %p = nn.input "p" : !p
    // CHECK: %[[DV:.*]] = nn.einsum {{.*}} -> tensor<2x4x1x8xf32, #dist.layout<batch : 2, key : 4, kv_head : 1, feature : 8, partial = {tp : sum}>>
    // CHECK: %[[DK:.*]] = nn.einsum {{.*}} -> tensor<2x4x1x8xf32, #dist.layout<batch : 2, key : 4, kv_head : 1, feature : 8, partial = {tp : sum}>>
    // CHECK: nn.rename %[[DK]] from "key" to "seq"
    // CHECK: nn.rename %[[DV]] from "key" to "seq"
    %dq, %dk, %dv = nn.attention_grad %q, %k, %k, %p, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64}
      : (!q, !k, !k, !p, !q) -> (!q, !dk, !dk)
    return %dq, %dk, %dv : !q, !dk, !dk
  }
}

// -----
// Blocked attention is local as it is.
// CHECK-LABEL: func.func @blocked
!q = tensor<2x4x1x8xf32, #dist.layout<batch : 2, seq : 4, head : 2 {tp}, feature : 8>>
!l = tensor<2x1x4xf32, #dist.layout<batch : 2, head : 2 {tp}, seq : 4>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @blocked() -> !q {
    // CHECK: %[[Q:.*]] = nn.input "q"
    %q = nn.input "q" : !q
    // CHECK-NEXT: %[[O:.*]], %[[L:.*]] = nn.attention %[[Q]], %[[Q]], %[[Q]]
    %o, %l = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, blocked} : (!q, !q, !q) -> (!q, !l)
    // CHECK-NEXT: %[[DQ:.*]], %{{.*}}, %{{.*}} = nn.attention_grad %[[Q]], %[[Q]], %[[Q]], %[[L]], %[[Q]], %[[O]]
    %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %l, %q, %o {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, blocked}
      : (!q, !q, !q, !l, !q, !q) -> (!q, !q, !q)
    // CHECK-NEXT: return %[[DQ]]
    return %dq : !q
  }
}

// -----
// Without a split nothing communicates; keys are the sequence under another name.
// CHECK-LABEL: func.func @attention
!q = tensor<2x4x1x8xf32, #dist.layout<batch : 2, seq : 4, head : 2 {tp}, feature : 8>>
!p = tensor<2x1x4x4xf32, #dist.layout<batch : 2, head : 2 {tp}, seq : 4, key : 4>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @attention() -> (!q, !p) {
    // CHECK: %[[Q:.*]] = nn.input "q"
    %q = nn.input "q" : !q
    // CHECK: %[[K:.*]] = nn.rename %[[Q]] from "seq" to "key"
    // CHECK: %[[V:.*]] = nn.rename
    // CHECK: nn.einsum %[[Q]], %[[K]]
    // CHECK: nn.scale {{.*}} by 5.0
    // CHECK: nn.causal_mask {{.*}} query "seq" key "key"
    // CHECK: nn.max
    // CHECK: %[[P:.*]] = nn.div
    // CHECK: nn.einsum %[[P]], %[[V]]
    // CHECK-NOT: dist.all_reduce
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!q, !q, !q) -> (!q, !p)
    return %o, %p : !q, !p
  }
}

// -----
// Vocabulary-parallel cross-entropy: maximum, sum and target are completed; the gradient's padding is zeroed.
// CHECK-LABEL: func.func @cross_entropy
!l = tensor<2x3xf32, #dist.layout<batch : 2, vocab : 5 {tp}>>
!t = tensor<2xi32, #dist.layout<batch : 2>>
!s = tensor<2xf32, #dist.layout<batch : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @cross_entropy() -> (!s, !s, !l) {
    %x = nn.input "x" : !l
    %t = nn.input "t" : !t
    // CHECK: nn.max
    // CHECK-NEXT: dist.all_reduce {{.*}}op = "max"
    // CHECK: nn.sum
    // CHECK-NEXT: dist.all_reduce {{.*}}op = "sum"
    // CHECK: nn.pick
    // CHECK-NEXT: dist.all_reduce {{.*}}op = "sum"
    %loss, %lse = nn.cross_entropy %x, %t over "vocab" : (!l, !t) -> (!s, !s)
    // CHECK: nn.one_hot
    // CHECK: %[[D:.*]] = nn.mul
    // CHECK-NEXT: dist.mask_padding %[[D]] {dims = ["vocab"]}
    %d = nn.cross_entropy_grad %x, %t, %lse, %loss over "vocab" : (!l, !t, !s, !s) -> !l
    return %loss, %lse, %d : !s, !s, !l
  }
}

// -----
// Smoothed targets take one more sum of the logits, the square of lse none; nothing else is as large as the logits.
// CHECK-LABEL: func.func @smoothed_cross_entropy
!l = tensor<2x3xf32, #dist.layout<batch : 2, vocab : 5 {tp}>>
!t = tensor<2xi32, #dist.layout<batch : 2>>
!s = tensor<2xf32, #dist.layout<batch : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @smoothed_cross_entropy() -> (!s, !s, !l) {
    %x = nn.input "x" : !l
    %t = nn.input "t" : !t
    // CHECK: %[[LSE:.*]] = nn.add
    // CHECK: nn.pick
    // CHECK-NEXT: %[[CHOSEN:.*]] = dist.all_reduce {{.*}}op = "sum"
    // CHECK-NEXT: nn.sum
    // CHECK-NEXT: dist.all_reduce {{.*}}op = "sum"
    // CHECK-NEXT: nn.scale {{.*}} by 2.0{{0*}}e-01
    // CHECK-NEXT: nn.scale {{.*}} by 1.0{{0*}}e-01
    // CHECK-NEXT: nn.scale %[[CHOSEN]] by 9.0{{0*}}e-01
    // CHECK: nn.mul %[[LSE]], %[[LSE]]
    // CHECK-NEXT: nn.scale {{.*}} by 5.0{{0*}}e-01
    %loss, %lse = nn.cross_entropy %x, %t over "vocab" smoothing 0.1 z_loss 0.5 : (!l, !t) -> (!s, !s)
    // CHECK: nn.scale {{.*}} by 1.0{{0*}}e+00
    // CHECK: nn.shift
    // CHECK: nn.one_hot
    // CHECK: nn.scale {{.*}} by 9.0{{0*}}e-01
    // CHECK: nn.shift {{.*}} by 2.0{{0*}}e-02
    // CHECK-NOT: dist.all_reduce
    %d = nn.cross_entropy_grad %x, %t, %lse, %loss over "vocab" smoothing 0.1 z_loss 0.5 : (!l, !t, !s, !s) -> !l
    return %loss, %lse, %d : !s, !s, !l
  }
}

// -----
// Attention of 16 bits: products take bf16, scores and softmax are f32, the probabilities that are kept bf16.
// CHECK-LABEL: func.func @narrow_attention
!q = tensor<2x3x4xbf16, #dist.layout<batch : 2, seq : 3, feature : 4>>
!p = tensor<2x3x3xbf16, #dist.layout<batch : 2, seq : 3, key : 3>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @narrow_attention() -> (!q, !p, !q, !q, !q) {
    %q = nn.input "q" : !q
    // CHECK: nn.einsum {{.*}}bf16{{.*}} -> tensor<2x3x3xf32
    // CHECK: nn.exp {{.*}} -> tensor<2x3x3xf32
    // CHECK: %[[D:.*]] = nn.div {{.*}} -> tensor<2x3x3xf32
    // CHECK: %[[P:.*]] = nn.convert %[[D]] {{.*}} -> tensor<2x3x3xbf16
    // CHECK: nn.einsum %[[P]], {{.*}} -> tensor<2x3x4xbf16
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!q, !q, !q) -> (!q, !p)
    // CHECK: nn.einsum {{.*}} -> tensor<2x3x3xf32
    // CHECK: nn.convert %[[P]] {{.*}} -> tensor<2x3x3xf32
    // CHECK: %[[DS:.*]] = nn.convert {{.*}} -> tensor<2x3x3xbf16
    // CHECK: nn.einsum %[[DS]], {{.*}} -> tensor<2x3x4xbf16
    %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %p, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!q, !q, !q, !p, !q) -> (!q, !q, !q)
    return %o, %p, %dq, %dk, %dv : !q, !p, !q, !q, !q
  }
}

// -----
// A ring of two: own keys first; those of the other rank are on their way meanwhile, because a rule says so. The softmax so far goes on to the
// last step, which makes what attention does.
// CHECK-LABEL: func.func @ring
!q = tensor<2x4x1x8xf32, #dist.layout<batch : 2, seq : 8 {cp}, head : 1, feature : 8>>
!l = tensor<2x1x4xf32, #dist.layout<batch : 2, head : 1, seq : 8 {cp}>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring", loc("plan.npar":3:1)>]} {
  func.func @ring() -> (!q, !l) {
    // CHECK: %[[Q:.*]] = nn.input "q"
    %q = nn.input "q" : !q
    // CHECK: %[[K:.*]] = dist.permute %[[Q]] {axes = ["cp"], {{.*}}dist.rule = [#loc{{.*}}], shift = 1
    // CHECK: %[[V:.*]] = dist.permute
    // CHECK: %[[S:.*]] = nn.ring_attention %[[Q]], %[[Q]], %[[Q]] {{.*}}ring = ["cp"], {{.*}}step = 0 : i64
    // CHECK-SAME: -> tensor<2x1x4x10xf32, #dist.layout<batch : 2, head : 1, seq : 8 {cp}, seq.state : 10>>
    // CHECK-NOT: dist.permute
    // CHECK: %[[O:.*]]:2 = nn.ring_attention %[[Q]], %[[K]], %[[V]], %[[S]] {causal = true, {{.*}}step = 1 : i64
    // CHECK-NEXT: return %[[O]]#0, %[[O]]#1
    %o, %lse = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, ring} : (!q, !q, !q) -> (!q, !l)
    return %o, %lse : !q, !l
  }
}

// -----
// Backward the gradients of keys and values travel with them and once more, home: 2 + 4 permutes. In 16 bits they are added in float32.
// CHECK-LABEL: func.func @ring_grad
!q = tensor<2x4x1x8xbf16, #dist.layout<batch : 2, seq : 8 {cp}, head : 1, feature : 8>>
!l = tensor<2x1x4xf32, #dist.layout<batch : 2, head : 1, seq : 8 {cp}>>
module attributes {dist.mesh = #dist.mesh<cp = 2>} {
  func.func @ring_grad() -> (!q, !q, !q) {
    %q = nn.input "q" : !q
    %l = nn.input "l" : !l
    // CHECK-COUNT-2: dist.permute {{.*}}xbf16
    // CHECK: %[[DQ0:.*]], %{{.*}}, %{{.*}} = nn.ring_attention_grad {{.*}}step = 0 : i64{{.*}} -> (tensor<2x4x1x8xf32
    // CHECK-COUNT-2: dist.permute {{.*}}xf32
    // CHECK: %[[DQ1:.*]], %{{.*}}, %{{.*}} = nn.ring_attention_grad {{.*}}step = 1 : i64
    // CHECK: %[[DQ:.*]] = nn.add %[[DQ0]], %[[DQ1]]
    // CHECK-COUNT-2: dist.permute {{.*}}xf32
    // CHECK: nn.convert %[[DQ]] {{.*}} -> tensor<2x4x1x8xbf16
    // CHECK-NOT: dist.permute
    %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %l, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, ring}
        : (!q, !q, !q, !l, !q, !q) -> (!q, !q, !q)
    return %dq, %dk, %dv : !q, !q, !q
  }
}

// -----
// In zigzag order of the ring's ranks each step is half the work for everybody; without a mask it is all of it.
// CHECK-LABEL: func.func @zigzag
!q = tensor<2x4x1x8xf32, #dist.layout<batch : 2, seq : 8 {cp}, head : 1, feature : 8>>
!l = tensor<2x1x4xf32, #dist.layout<batch : 2, head : 1, seq : 8 {cp}>>
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.zigzag = {key = 2 : i64, seq = 2 : i64}} {
  func.func @zigzag() -> (!q, !l, !q) {
    %q = nn.input "q" : !q
    // CHECK-COUNT-2: nn.ring_attention {{.*}} {balanced, causal = true
    %o, %lse = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, ring} : (!q, !q, !q) -> (!q, !l)
    // CHECK-COUNT-2: nn.ring_attention {{.*}} {causal = false
    %p, %more = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5 : f64, ring} : (!q, !q, !q) -> (!q, !l)
    return %o, %lse, %p : !q, !l, !q
  }
}

// -----
// Targets that do not count: their loss and gradient are 0, whatever the target's logit; the number of ranks that look does not matter.
// CHECK-LABEL: func.func @ignored
!l = tensor<2x3xf32, #dist.layout<batch : 2, vocab : 5 {tp}>>
!t = tensor<2xi32, #dist.layout<batch : 2>>
!s = tensor<2xf32, #dist.layout<batch : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @ignored() -> (!s, !s, !l) {
    %x = nn.input "x" : !l
    // CHECK: %[[T:.*]] = nn.input "t"
    %t = nn.input "t" : !t
    // CHECK: nn.pick
    // CHECK-NEXT: dist.all_reduce {{.*}}op = "sum"
    // CHECK-NEXT: %[[LOSS:.*]] = nn.sub
    // CHECK-NEXT: nn.keep_valid %[[LOSS]], %[[T]] ignore -100
    %loss, %lse = nn.cross_entropy %x, %t over "vocab" ignore -100 : (!l, !t) -> (!s, !s)
    // CHECK: %[[D:.*]] = nn.mul
    // CHECK-NEXT: %[[K:.*]] = nn.keep_valid %[[D]], %[[T]] ignore -100
    // CHECK-NEXT: dist.mask_padding %[[K]] {dims = ["vocab"]}
    %d = nn.cross_entropy_grad %x, %t, %lse, %loss over "vocab" ignore -100 : (!l, !t, !s, !s) -> !l
    return %loss, %lse, %d : !s, !s, !l
  }
}
