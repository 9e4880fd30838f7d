// All attention keeps the logarithm of its softmax's sum; zigzag order is noted for the sequence and its alias. What gathers its keys is blocked.
// RUN: npar-opt %s -split-input-file -place-mark-attention | FileCheck %s

!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>

// CHECK: dist.zigzag = {key = 2 : i64, seq = 2 : i64}
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", layer = "a">,
                                 #dist.rule<axis = "seq", mesh = ["cp"], by = "ring", layer = "b">,
                                 #dist.rule<axis = "seq", mesh = ["cp"], by = "gather">]} {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %q = nn.input "q" : !h
    // CHECK: nn.attention {{.*}} ring, {{.*}} -> ({{.*}}, tensor<2x2x8xf32, #nn.axes<batch, head, seq>>)
    %a, %pa = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "a", 0>}
        : (!h, !h, !h) -> (!h, !p)
    // CHECK: nn.attention {{.*}} ring, {{.*}} -> ({{.*}}, tensor<2x2x8xf32, #nn.axes<batch, head, seq>>)
    %b, %pb = nn.attention %a, %q, %q {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5 : f64, at = #nn.at<F, "b", 1>}
        : (!h, !h, !h) -> (!h, !p)
    // CHECK: nn.attention {{.*}}blocked, {{.*}} -> ({{.*}}, tensor<2x2x8xf32, #nn.axes<batch, head, seq>>)
    %c, %pc = nn.attention %b, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "c", 2>}
        : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// Ulysses: the heads have the mesh axis in attention, so nothing goes round: blocked. A sum in bfloat16 would be too narrow.
!h = tensor<2x8x2x4xbf16, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xbf16, #nn.axes<batch, head, seq, key>>
// CHECK-NOT: dist.zigzag
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "head", mesh = ["cp"], op = "attention", layer = "a">,
                                 #dist.rule<axis = "seq", mesh = ["cp"], by = "ring">]} {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %q = nn.input "q" : !h
    // CHECK: nn.attention {{.*}}blocked, {{.*}} -> ({{.*}}, tensor<2x2x8xf32, #nn.axes<batch, head, seq>>)
    %a, %pa = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "a", 0>}
        : (!h, !h, !h) -> (!h, !p)
    // CHECK: nn.attention {{.*}} ring, {{.*}} -> ({{.*}}, tensor<2x2x8xf32, #nn.axes<batch, head, seq>>)
    %b, %pb = nn.attention %a, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "b", 1>}
        : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// Without a rule that splits a sequence all attention is blocked, groups of queries too; also where the mesh is not declared yet.
!q = tensor<2x8x2x3x4xf64, #nn.axes<batch, seq, head, group, feature>>
!k = tensor<2x8x2x4xf64, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x3x8x8xf64, #nn.axes<batch, head, group, seq, key>>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %q = nn.input "q" : !q
    %k = nn.input "k" : !k
    // CHECK: nn.attention {{.*}}blocked, {{.*}} -> ({{.*}}, tensor<2x2x3x8xf64, #nn.axes<batch, head, group, seq>>)
    %o, %p = nn.attention %q, %k, %k {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!q, !k, !k) -> (!q, !p)
    return
  }
}

// -----
// Heads that share keys along two axes are a group, too.
!q = tensor<2x8x2x3x4xf32, #nn.axes<batch, seq, head, group, feature>>
!k = tensor<2x8x4xf32, #nn.axes<batch, seq, feature>>
!p = tensor<2x2x3x8x8xf32, #nn.axes<batch, head, group, seq, key>>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %q = nn.input "q" : !q
    %k = nn.input "k" : !k
    // CHECK: nn.attention {{.*}}blocked, {{.*}} -> ({{.*}}, tensor<2x2x3x8xf32, {{.*}}>)
    %o, %p = nn.attention %q, %k, %k {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!q, !k, !k) -> (!q, !p)
    return
  }
}
