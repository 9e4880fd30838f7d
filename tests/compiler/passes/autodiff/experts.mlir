// Gradients of routed rows: dispatch and collect are each other's, a grouped product has two, and integers have none.
// RUN: npar-opt %s -autodiff-backward -canonicalize | FileCheck %s

!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<3x4x4xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x16x4xf32, #nn.axes<batch, row, other>>
!back = tensor<2x8x4xf32, #nn.axes<batch, seq, other>>
!range = tensor<2x3xi32, #nn.axes<batch, expert>>
!s = tensor<f64, #nn.axes<>>
!f = tensor<f32, #nn.axes<>>
nn.variable @x : !x {kind = #nn.kind<parameter>, stored = [2, 8, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [3, 4, 4], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// CHECK-LABEL: @micro
// CHECK: %[[ROWS:.+]] = nn.dispatch
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[DMADE:.+]] = nn.dispatch %{{.+}}, %[[SOURCE:.+]], %[[PLACE:.+]] along "seq" to "row"
// CHECK-DAG: %[[DROWS:.+]] = nn.grouped %[[DMADE]], %{{.+}}, %[[FIRST:.+]], %[[LAST:.+]] of "expert" along "row" {{.*}} -> tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
// CHECK-DAG: %[[DW:.+]] = nn.grouped_weights %[[ROWS]], %[[DMADE]], %[[FIRST]], %[[LAST]] of "expert" along "row" {{.*}} -> tensor<3x4x4xf32
// CHECK-DAG: nn.accumulate @w.grad.0, %[[DW]]
// CHECK-DAG: %[[DX:.+]] = nn.collect %[[DROWS]], %[[SOURCE]], %[[PLACE]] along "seq" of "row"
// CHECK-DAG: nn.accumulate @x.grad.0, %[[DX]]
// CHECK-NOT: nn.accumulate
func.func @micro() {
  %x = nn.read @x {at = #nn.at<F, "m", 0>} : !x
  %w = nn.read @w {at = #nn.at<F, "m", 0>} : !w
  %source = nn.fill 0.0 {at = #nn.at<F, "m", 0>} : !source
  %place = nn.fill 0.0 {at = #nn.at<F, "m", 0>} : !place
  %first = nn.fill 0.0 {at = #nn.at<F, "m", 0>} : !range
  %last = nn.fill 1.0 {at = #nn.at<F, "m", 0>} : !range
  %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
  %made = nn.grouped %rows, %w, %first, %last of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
  %back = nn.collect %made, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
  %sum = nn.sum %back {at = #nn.at<F, "m", 0>} : (!back) -> !f
  %l = nn.convert %sum {at = #nn.at<F, "m", 0>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %l {at = #nn.at<F, "m", 0>} : !s
  return
}
