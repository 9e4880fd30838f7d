// Gradients around integers: a choice passes each side what it chose, an index and a condition get nothing, a stopped value hands nothing on.
// RUN: npar-opt %s -split-input-file -autodiff-backward -canonicalize | FileCheck %s

!t = tensor<2x8xi32, #nn.axes<batch, embed>>
!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!e = tensor<8xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
!f = tensor<f32, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @b : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @c : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 2 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// CHECK-NOT: nn.variable @c.grad
// CHECK-LABEL: @micro
// CHECK: %[[C:.+]] = nn.compare "less"
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[DY:.+]] = nn.fill 1.000000e+00 {{.*}} : tensor<2x8xf32
// CHECK: %[[ZERO:.+]] = nn.fill 0.000000e+00 {{.*}} : tensor<f32
// CHECK: %[[DW:.+]] = nn.where %[[C]], %[[DY]], %[[ZERO]]
// CHECK: %[[OTHER:.+]] = nn.where %[[C]], %[[ZERO]], %[[DY]]
// CHECK: %[[DB:.+]] = nn.sum %[[OTHER]] {{.*}} -> tensor<8xf32
// CHECK: nn.accumulate @b.grad.0, %[[DB]]
// CHECK: nn.accumulate @w.grad.0, %[[DW]]
// CHECK-NOT: nn.accumulate
func.func @micro() {
  %w = nn.read @w {at = #nn.at<F, "m", 0>} : !x
  %b = nn.read @b {at = #nn.at<F, "m", 0>} : !e
  %c = nn.read @c {at = #nn.at<F, "m", 0>} : !e
  %kept = nn.stop_gradient %c {at = #nn.at<F, "m", 0>} : (!e) -> !e
  %less = nn.compare "less" %w, %kept {at = #nn.at<F, "m", 1>} : (!x, !e) -> !t
  %y = nn.where %less, %w, %b {at = #nn.at<F, "m", 1>} : (!t, !x, !e) -> !x
  %z = nn.add %y, %kept {at = #nn.at<F, "m", 1>} : (!x, !e) -> !x
  %s = nn.sum %z {at = #nn.at<F, "m", 2>} : (!x) -> !f
  %l = nn.convert %s {at = #nn.at<F, "m", 2>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %l {at = #nn.at<F, "m", 2>} : !s
  return
}

// -----

!t = tensor<2x3xi32, #nn.axes<batch, slot>>
!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!y = tensor<2x3xf32, #nn.axes<batch, slot>>
!s = tensor<f64, #nn.axes<>>
!f = tensor<f32, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// A lookup in each row of its own goes back by matching; running sums are added up from the other end.
// CHECK-LABEL: @micro
// CHECK: %[[T:.+]] = nn.input "t"
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[D:.+]] = nn.scatter_match %[[T]], %{{.+}} over "embed"
// CHECK: %[[B:.+]] = nn.cumsum %[[D]] of "whole" to "embed" {{.*}} : (tensor<2x8xf32, #nn.axes<batch, embed>>) -> tensor<2x8xf32, #nn.axes<batch, whole>>
// CHECK: nn.rename %[[B]] from "whole" to "embed"
func.func @micro() {
  %t = nn.input "t" {at = #nn.at<F, "m", 0>} : !t
  %w = nn.read @w {at = #nn.at<F, "m", 0>} : !x
  %r = nn.rename %w from "embed" to "whole" {at = #nn.at<F, "m", 0>} : (!x) -> tensor<2x8xf32, #nn.axes<batch, whole>>
  %c = nn.cumsum %r of "whole" to "embed" {at = #nn.at<F, "m", 0>} : (tensor<2x8xf32, #nn.axes<batch, whole>>) -> !x
  %y = nn.gather %c, %t over "embed" {at = #nn.at<F, "m", 1>} : (!x, !t) -> !y
  %s = nn.sum %y {at = #nn.at<F, "m", 2>} : (!y) -> !f
  %l = nn.convert %s {at = #nn.at<F, "m", 2>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %l {at = #nn.at<F, "m", 2>} : !s
  return
}
