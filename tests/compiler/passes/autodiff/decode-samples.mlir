// Each sample has positions of its own: where keys and values are kept, samples come first.
// RUN: npar-opt %s -autodiff-decode | FileCheck %s

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!x = tensor<2x8x16xf32, #nn.axes<batch, seq, feature>>
!v = tensor<8x2x16xf32, #nn.axes<seq, batch, feature>>
!s = tensor<2x8xf32, #nn.axes<batch, seq>>
module attributes {npar.kind = "generation", npar.inputs = [{name = "tokens", type = !t}]} {
nn.variable @wte : tensor<32x16xf32, #nn.axes<vocab, feature>> {kind = #nn.kind<parameter>, stored = [32, 16], init = #nn.init<zeros>, index = 0 : i64}
// CHECK: nn.variable @"#kept.0.values" : tensor<2x8x16xf32, #nn.axes<batch, key, feature>>
// CHECK-LABEL: func.func @micro()
func.func @micro() {
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %w = nn.read @wte {at = #nn.at<F, "", -1>} : tensor<32x16xf32, #nn.axes<vocab, feature>>
  %e = nn.gather %w, %t over "vocab" {at = #nn.at<F, "", -1>} : (tensor<32x16xf32, #nn.axes<vocab, feature>>, !t) -> !x
  // CHECK: %[[V:.+]] = nn.reorder %{{.+}} {at = #nn.at<F, "h", 0>} : (tensor<1x2x16xf32, #nn.axes<seq.step, batch, feature>>) -> tensor<2x1x16xf32, #nn.axes<batch, seq.step, feature>>
  // CHECK: nn.append %{{.+}}, %[[V]]
  %v = nn.reorder %e {at = #nn.at<F, "h", 0>} : (!x) -> !v
  %o, %l = nn.attention %e, %e, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.25 : f64, blocked, at = #nn.at<F, "h", 0>} : (!x, !x, !v) -> (!x, !s)
  nn.result "logits", %o {at = #nn.at<F, "", 1>} : !x
  return
}
}
