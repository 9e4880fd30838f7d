// Routers of experts stay f32: product, scores, weights and the parameter that only they use. Rows and their products have 16 bits.
// RUN: npar-opt %s -prepare-precision | FileCheck %s -enable-var-scope

!x = tensor<2x4x8xf32, #nn.axes<batch, seq, embed>>
!wx = tensor<2x4x8xf32, #nn.axes<batch, seq.whole, embed>>
!g = tensor<8x3xf32, #nn.axes<embed, expert>>
!p = tensor<2x4x3xf32, #nn.axes<batch, seq, expert>>
!o = tensor<2x4x3xf32, #nn.axes<batch, seq, other>>
!i = tensor<2x4x3xi32, #nn.axes<batch, seq, expert>>
!b = tensor<2x4x1xi32, #nn.axes<batch, seq, slot>>
!c = tensor<2x4x1xf32, #nn.axes<batch, seq, slot>>
!f = tensor<2x4xi32, #nn.axes<batch, flat>>
!a = tensor<2x4xf32, #nn.axes<batch, flat>>
!s = tensor<2x4xi32, #nn.axes<batch, row>>
!pl = tensor<2x4x1xi32, #nn.axes<batch, seq.whole, slot>>
!r = tensor<2x4x8xf32, #nn.axes<batch, row, embed>>
!v = tensor<2x4xf32, #nn.axes<batch, row>>
!k = tensor<2x4xi32, #nn.axes<batch, flat.whole>>
// CHECK-LABEL: module
module attributes {nn.precision = {compute = bf16}} {
// CHECK: nn.variable @gate : tensor<8x3xf32
// CHECK: nn.variable @table : tensor<9x8xbf16
nn.variable @gate : !g {kind = #nn.kind<parameter>, stored = [8, 3], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @table : tensor<9x8xf32, #nn.axes<rows, embed>> {kind = #nn.kind<parameter>, stored = [9, 8], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
func.func @micro() {
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : tensor<2x4xi32, #nn.axes<batch, seq>>
  %table = nn.read @table {at = #nn.at<F, "", 0>} : tensor<9x8xf32, #nn.axes<rows, embed>>
  // CHECK: %[[X:.+]] = nn.gather {{.*}} -> tensor<2x4x8xbf16
  %x = nn.gather %table, %t over "rows" {at = #nn.at<F, "", 0>} : (tensor<9x8xf32, #nn.axes<rows, embed>>, tensor<2x4xi32, #nn.axes<batch, seq>>) -> !x
  %gate = nn.read @gate {at = #nn.at<F, "", 0>} : !g
  // CHECK: %[[WIDE:.+]] = nn.convert %[[X]] {{.*}} -> tensor<2x4x8xf32
  // CHECK: nn.einsum %[[WIDE]], {{.*}} -> tensor<2x4x3xf32
  %p = nn.einsum %x, %gate {at = #nn.at<F, "", 0>} : (!x, !g) -> !p
  // CHECK: %[[Q:.+]] = nn.silu {{.*}} -> tensor<2x4x3xf32
  %q = nn.silu %p {at = #nn.at<F, "", 0>} : (!p) -> !p
  %qo = nn.rename %q from "expert" to "other" {at = #nn.at<F, "", 0>} : (!p) -> !o
  %order = nn.order %q, %qo along "expert" and "other" {at = #nn.at<F, "", 0>} : (!p, !o) -> !i
  %best = nn.find %order over "expert" along "slot" {at = #nn.at<F, "", 0>} : (!i) -> !b
  // CHECK: nn.gather {{.*}} -> tensor<2x4x1xf32
  %share = nn.gather %q, %best over "expert" {at = #nn.at<F, "", 0>} : (!p, !b) -> !c
  %bestw = nn.rename %best from "seq" to "seq.whole" {at = #nn.at<F, "", 0>} : (!b) -> !pl
  %flat = nn.fold %bestw of "flat" and "seq.whole" by "slot" {at = #nn.at<F, "", 0>} : (!pl) -> !f
  %again = nn.rename %flat from "flat" to "flat.whole" {at = #nn.at<F, "", 0>} : (!f) -> !k
  %place = nn.queue %flat, %again along "flat" and "flat.whole" {entries = 3 : i64, sorted = true, at = #nn.at<F, "", 0>} : (!f, !k) -> !f
  %source = nn.locate %place over "flat" along "row" {at = #nn.at<F, "", 0>} : (!f) -> !s
  %places = nn.fold %again of "flat.whole" and "seq.whole" by "slot" {at = #nn.at<F, "", 0>} : (!k) -> !pl
  %xw = nn.rename %x from "seq" to "seq.whole" {at = #nn.at<F, "", 0>} : (!x) -> !wx
  // CHECK: nn.dispatch {{.*}} -> tensor<2x4x8xbf16
  %rows = nn.dispatch %xw, %source, %places along "seq.whole" to "row" {at = #nn.at<F, "", 0>} : (!wx, !s, !pl) -> !r
  %sharew = nn.rename %share from "seq" to "seq.whole" {at = #nn.at<F, "", 0>} : (!c) -> tensor<2x4x1xf32, #nn.axes<batch, seq.whole, slot>>
  // CHECK: nn.fold {{.*}} -> tensor<2x4xf32
  %each = nn.fold %sharew of "flat" and "seq.whole" by "slot" {at = #nn.at<F, "", 0>} : (tensor<2x4x1xf32, #nn.axes<batch, seq.whole, slot>>) -> !a
  // CHECK: nn.dispatch {{.*}} -> tensor<2x4xf32
  %factor = nn.dispatch %each, %source, %place along "flat" to "row" {at = #nn.at<F, "", 0>} : (!a, !s, !f) -> !v
  // CHECK: %[[Y:.+]] = nn.mul {{.*}} -> tensor<2x4x8xf32
  // CHECK: nn.convert %[[Y]] {{.*}} -> tensor<2x4x8xbf16
  %y = nn.mul %rows, %factor {at = #nn.at<F, "", 0>} : (!r, !v) -> !r
  %z = nn.silu %y {at = #nn.at<F, "", 0>} : (!r) -> !r
  %sum = nn.sum %z {at = #nn.at<F, "", 0>} : (!r) -> tensor<f32, #nn.axes<>>
  nn.accumulate @"#out.loss.sum", %sum {at = #nn.at<F, "", 0>} : tensor<f32, #nn.axes<>>
  // Choices of no dispatch compare the router's values with themselves, not with their rounded copies.
  // CHECK: %[[THIRD:.+]] = nn.rename %[[Q]] from "expert" to "third"
  // CHECK-NEXT: nn.order %[[Q]], %[[THIRD]]
  %qt = nn.rename %q from "expert" to "third" {at = #nn.at<F, "", 0>} : (!p) -> tensor<2x4x3xf32, #nn.axes<batch, seq, third>>
  %first = nn.order %q, %qt along "expert" and "third" {at = #nn.at<F, "", 0>} : (!p, tensor<2x4x3xf32, #nn.axes<batch, seq, third>>) -> !i
  // CHECK: %[[MAX:.+]] = nn.max %[[Q]]
  // CHECK-NEXT: nn.first_max %[[Q]], %[[MAX]]
  %max = nn.max %q {at = #nn.at<F, "", 0>} : (!p) -> tensor<2x4xf32, #nn.axes<batch, seq>>
  %most = nn.first_max %q, %max over ["expert"] {at = #nn.at<F, "", 0>} : (!p, tensor<2x4xf32, #nn.axes<batch, seq>>) -> tensor<2x4xi32, #nn.axes<batch, seq>>
  return
}
}
