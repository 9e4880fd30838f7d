// An attention that the backward repeats makes its probabilities again, and no output that nothing uses; the forward's own keeps both.
// RUN: npar-opt -allow-unregistered-dialect %s -place-expand | FileCheck %s
!h = tensor<2x8x4x4xf32, #dist.layout<batch : 2, seq : 8, head : 4, feature : 4>>
!p = tensor<2x4x8x8xf32, #dist.layout<batch : 2, head : 4, seq : 8, key : 8>>
// CHECK-LABEL: @micro
// CHECK: nn.einsum {{.*}}nn.at<F, "h.0", 0>
// CHECK: nn.einsum {{.*}}nn.at<F, "h.0", 0>
// CHECK: nn.einsum {{.*}}nn.at<B, "h.0", 0>
// CHECK-NOT: nn.einsum {{.*}}nn.at<B, "h.0", 0>
// CHECK: "test.use"(%{{.+}}) : (tensor<2x4x8x8xf32
func.func @micro() {
  %q = nn.input "q" {at = #nn.at<F, "h.0", 0>} : !h
  %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, at = #nn.at<F, "h.0", 0>, recompute = 0 : i64} : (!h, !h, !h) -> (!h, !p)
  "test.use"(%o) : (!h) -> ()
  %o2, %p2 = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, at = #nn.at<B, "h.0", 0>, recompute = 0 : i64} : (!h, !h, !h) -> (!h, !p)
  "test.use"(%p2) : (!p) -> ()
  return
}
