// Rows of a dispatch without a limit follow the positions of a step: two positions have four rows.
// RUN: npar-opt %s '-autodiff-decode=positions=2' | FileCheck %s

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!x = tensor<2x8xf32, #nn.axes<batch, seq>>
!c = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!cw = tensor<2x8x2xi32, #nn.axes<batch, seq.whole, slot>>
!f = tensor<2x16xi32, #nn.axes<batch, flat>>
!k = tensor<2x16xi32, #nn.axes<batch, flat.whole>>
!r = tensor<2x16xi32, #nn.axes<batch, row>>
module attributes {npar.kind = "generation", npar.inputs = [{name = "tokens", type = !t}]} {
// CHECK-LABEL: func.func @micro()
func.func @micro() {
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %x = nn.to_float %t {at = #nn.at<F, "", -1>} : (!t) -> !x
  %i = nn.index {at = #nn.at<F, "", -1>} : tensor<2xi32, #nn.axes<slot>>
  %c = nn.integer "add" %t, %i {at = #nn.at<F, "", -1>} : (!t, tensor<2xi32, #nn.axes<slot>>) -> !c
  // CHECK: nn.rename %{{.+}} from "seq.step" to "seq.whole" {{.*}} -> tensor<2x2x2xi32, #nn.axes<batch, seq.whole, slot>>
  %cw = nn.rename %c from "seq" to "seq.whole" {at = #nn.at<F, "", -1>} : (!c) -> !cw
  // CHECK: nn.fold {{.*}} -> tensor<2x4xi32, #nn.axes<batch, flat>>
  %f = nn.fold %cw of "flat" and "seq.whole" by "slot" {at = #nn.at<F, "", -1>} : (!cw) -> !f
  %fw = nn.rename %f from "flat" to "flat.whole" {at = #nn.at<F, "", -1>} : (!f) -> !k
  // CHECK: nn.queue {{.*}} -> tensor<2x4xi32, #nn.axes<batch, flat>>
  %q = nn.queue %f, %fw along "flat" and "flat.whole" {entries = 3 : i64, sorted = true, at = #nn.at<F, "", -1>} : (!f, !k) -> !f
  // CHECK: nn.locate {{.*}} -> tensor<2x4xi32, #nn.axes<batch, row>>
  %s = nn.locate %q over "flat" along "row" {at = #nn.at<F, "", -1>} : (!f) -> !r
  %p = nn.fold %fw of "flat.whole" and "seq.whole" by "slot" {at = #nn.at<F, "", -1>} : (!k) -> !cw
  %xw = nn.rename %x from "seq" to "seq.whole" {at = #nn.at<F, "", -1>} : (!x) -> tensor<2x8xf32, #nn.axes<batch, seq.whole>>
  // CHECK: nn.dispatch {{.*}} -> tensor<2x4xf32, #nn.axes<batch, row>>
  %rows = nn.dispatch %xw, %s, %p along "seq.whole" to "row" {at = #nn.at<F, "", -1>} : (tensor<2x8xf32, #nn.axes<batch, seq.whole>>, !r, !cw) -> tensor<2x16xf32, #nn.axes<batch, row>>
  // CHECK: nn.collect {{.*}} -> tensor<2x2xf32, #nn.axes<batch, seq.whole>>
  %y = nn.collect %rows, %s, %p along "seq.whole" of "row" {at = #nn.at<F, "", -1>} : (tensor<2x16xf32, #nn.axes<batch, row>>, !r, !cw) -> tensor<2x8xf32, #nn.axes<batch, seq.whole>>
  // CHECK: nn.rename %{{.+}} from "seq.whole" to "seq.step" {{.*}} -> tensor<2x2xf32, #nn.axes<batch, seq.step>>
  %z = nn.rename %y from "seq.whole" to "seq" {at = #nn.at<F, "", -1>} : (tensor<2x8xf32, #nn.axes<batch, seq.whole>>) -> !x
  nn.result "logits", %z {at = #nn.at<F, "", -1>} : !x
  return
}
}
