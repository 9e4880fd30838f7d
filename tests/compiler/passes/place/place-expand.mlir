// Composite operations become local ones; a reduction over a split axis is completed by an all_reduce (P5).
// RUN: npar-opt %s -split-input-file -place-expand | FileCheck %s

// The mean divides by the global size.
// CHECK-LABEL: func.func @split_layer_norm
!x = tensor<2x3xf32, #dist.layout<batch : 2, embed : 6 {tp}>>
!w = tensor<3xf32, #dist.layout<embed : 6 {tp}>>
!s = tensor<2xf32, #dist.layout<batch : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @split_layer_norm() {
    %x = nn.input "x" : !x
    %g = nn.input "g" : !w
    // CHECK: %[[S:.*]] = nn.sum {{.*}} -> tensor<2xf32, #dist.layout<batch : 2, partial = {tp : sum}>>
    // CHECK: %[[R:.*]] = dist.all_reduce %[[S]] {axes = ["tp"], cause = "'layer_norm' reduces over 'embed', which is split", op = "sum"}
    // CHECK: nn.scale %[[R]] by 0.166666
    // CHECK: nn.sub
    // CHECK: nn.mul
    // CHECK: nn.sum
    // CHECK: dist.all_reduce
    // CHECK: nn.rsqrt
    // CHECK-NOT: dist.all_reduce
    // CHECK-NOT: nn.layer_norm
    %y, %m, %r = nn.layer_norm %x, %g, %g over "embed" epsilon 1.0e-05 : (!x, !w, !w) -> (!x, !s, !s)
    return
  }
}

// -----
// Without a split nothing communicates; keys are the sequence under another name.
// CHECK-LABEL: func.func @attention
!q = tensor<2x4x1x8xf32, #dist.layout<batch : 2, seq : 4, head : 2 {tp}, feature : 8>>
!p = tensor<2x1x4x4xf32, #dist.layout<batch : 2, head : 2 {tp}, seq : 4, key : 4>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @attention() {
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
    return
  }
}

// -----
// Vocabulary-parallel cross-entropy: maximum, sum and target are completed; the gradient's padding is zeroed.
// CHECK-LABEL: func.func @cross_entropy
!l = tensor<2x3xf32, #dist.layout<batch : 2, vocab : 5 {tp}>>
!t = tensor<2xi32, #dist.layout<batch : 2>>
!s = tensor<2xf32, #dist.layout<batch : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @cross_entropy() {
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
    return
  }
}

// -----
// Targets that do not count: their loss and gradient are 0, whatever the target's logit; the number of ranks that look does not matter.
// CHECK-LABEL: func.func @ignored
!l = tensor<2x3xf32, #dist.layout<batch : 2, vocab : 5 {tp}>>
!t = tensor<2xi32, #dist.layout<batch : 2>>
!s = tensor<2xf32, #dist.layout<batch : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @ignored() {
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
    return
  }
}
