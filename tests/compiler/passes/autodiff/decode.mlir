// A position at a time: what attention looks back at is a state that grows, where positions stand is read for each sample, a parameter over
// the sequence is looked up.
// RUN: npar-opt %s -autodiff-decode | FileCheck %s
// Several positions at a time, and never more than there are; only the last one has logits.
// RUN: npar-opt %s '-autodiff-decode=positions=4' | FileCheck %s --check-prefix=FOUR
// RUN: npar-opt %s '-autodiff-decode=positions=99' | FileCheck %s --check-prefix=ALL

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!i = tensor<8xi32, #nn.axes<seq>>
!w = tensor<32x4x16xf32, #nn.axes<vocab, head, feature>>
!p = tensor<8x4x16xf32, #nn.axes<seq, head, feature>>
!x = tensor<2x8x4x16xf32, #nn.axes<batch, seq, head, feature>>
!s = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
// CHECK: npar.inputs = [{name = "tokens", type = tensor<2x1xi32, #nn.axes<batch, seq.step>>}]
// CHECK-SAME: npar.kind = "generation"}
module attributes {npar.kind = "generation", npar.inputs = [{name = "tokens", type = !t}], dist.zigzag = {seq = 2 : i64}} {
nn.variable @wte : !w {kind = #nn.kind<parameter>, stored = [32, 64], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @wpe : !p {kind = #nn.kind<parameter>, stored = [8, 64], init = #nn.init<zeros>, index = 1 : i64}
// CHECK: nn.variable @"#kept.0.keys" : tensor<2x8x4x16xf32, #nn.axes<batch, key, head, feature>> {kind = #nn.kind<state>, slot = "kept"}
// CHECK-NEXT: nn.variable @"#kept.0.values"
// CHECK-NEXT: nn.variable @"#kept.positions" : tensor<2x1xi32, #nn.axes<batch, seq.step>> {kind = #nn.kind<state>, slot = "kept"}
// FOUR: nn.variable @"#kept.0.keys" : tensor<2x8x4x16xf32, #nn.axes<batch, key, head, feature>>
// FOUR: nn.variable @"#kept.positions" : tensor<2x4xi32, #nn.axes<batch, seq.step>>
// ALL: nn.variable @"#kept.positions" : tensor<2x8xi32, #nn.axes<batch, seq.step>>
// CHECK-LABEL: func.func @micro()
func.func @micro() {
  // CHECK: %[[T:.+]] = nn.input "tokens" {{.*}}tensor<2x1xi32, #nn.axes<batch, seq.step>>
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %w = nn.read @wte {at = #nn.at<F, "", -1>} : !w
  // CHECK: %[[TABLE:.+]] = nn.read @wpe {{.*}}tensor<8x4x16xf32, #nn.axes<seq, head, feature>>
  // CHECK: %[[AT:.+]] = nn.read @"#kept.positions" {at = #nn.at<F, "", -1>}
  // CHECK: nn.gather %[[TABLE]], %[[AT]] over "seq" {{.*}} -> tensor<2x1x4x16xf32, #nn.axes<batch, seq.step, head, feature>>
  %p = nn.read @wpe {at = #nn.at<F, "", -1>} : !p
  %e = nn.gather %w, %t over "vocab" {at = #nn.at<F, "", -1>} : (!w, !t) -> !x
  %q = nn.add %e, %p {at = #nn.at<F, "", -1>} : (!x, !p) -> !x
  %i = nn.index {at = #nn.at<F, "", -1>} : !i
  %f = nn.to_float %i {at = #nn.at<F, "h", 0>} : (!i) -> tensor<8xf32, #nn.axes<seq>>
  // CHECK-NOT: nn.index
  // CHECK: %[[OWN:.+]] = nn.read @"#kept.positions" {at = #nn.at<F, "h", 0>}
  // CHECK: nn.to_float %[[OWN]] {{.*}} -> tensor<2x1xf32, #nn.axes<batch, seq.step>>
  // CHECK: %[[K:.+]] = nn.mul
  %k = nn.mul %q, %f {at = #nn.at<F, "h", 0>} : (!x, tensor<8xf32, #nn.axes<seq>>) -> !x
  // CHECK: %[[ROW:.+]] = nn.read @"#kept.positions" {at = #nn.at<F, "h", 0>}
  // CHECK: %[[KEPT:.+]] = nn.read @"#kept.0.keys" {at = #nn.at<F, "h", 0>}
  // CHECK: %[[KEYS:.+]] = nn.append %[[KEPT]], %[[K]] at %[[ROW]] along "seq.step" to "key" {at = #nn.at<F, "h", 0>}
  // CHECK: nn.write @"#kept.0.keys", %[[KEYS]] {at = #nn.at<F, "h", 0>}
  // CHECK: %[[VALUES:.+]] = nn.append
  // CHECK: nn.write @"#kept.0.values", %[[VALUES]]
  // CHECK: nn.attention %{{.+}}, %[[KEYS]], %[[VALUES]], %[[ROW]] {{.*}}blocked, causal = true{{.*}}key_count = 8 : i64, keys = "key"
  // CHECK-NOT: ring
  // CHECK-SAME: seq = "seq.step"
  %o, %l = nn.attention %q, %k, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.25 : f64, ring, at = #nn.at<F, "h", 0>} : (!x, !x, !x) -> (!x, !s)
  // CHECK-NOT: nn.part
  // FOUR: %[[OUT:.+]], %{{.+}} = nn.attention
  // FOUR: %[[LAST:.+]] = nn.part %[[OUT]] of "seq.step" to "seq.last" from 3 {at = #nn.at<F, "", 1>}
  // FOUR: nn.tanh %[[LAST]] {{.*}} -> tensor<2x1x4x16xf32, #nn.axes<batch, seq.last, head, feature>>
  %y = nn.tanh %o {at = #nn.at<F, "", 1>} : (!x) -> !x
  // CHECK: nn.result "logits"
  nn.result "logits", %y {at = #nn.at<F, "", 1>} : !x
  return
}
}
