// @update under AdamW: both uses of a tied parameter are combined in order, clipped by the global norm, and written back.
// RUN: npar-opt %s -autodiff | FileCheck %s

!w = tensor<4x4xf32, #nn.axes<hidden, embed>>
!e = tensor<4xf32, #nn.axes<embed>>
!x = tensor<2x4xf32, #nn.axes<batch, embed>>
!h = tensor<2x4xf32, #nn.axes<batch, hidden>>
!f = tensor<f32, #nn.axes<>>
!s = tensor<f64, #nn.axes<>>
// CHECK: module {
#rate = {schedule = "linear", peak = 0.01, final = 0.0, warmup = 2 : i64, steps = 9 : i64}
#adamw = {name = "AdamW", rate = #rate, weight = "w", gradient = "g", step_states = [],
    states = [{name = "exp_avg", slot = "exp_avg", initial = 0.0}, {name = "exp_avg_sq", slot = "exp_avg_sq", initial = 0.0}],
    step = {definitions = [], results = ["sub(1, mul(lr, 0.1))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]},
    element = {definitions = ["%0 = add(exp_avg, mul(sub(g, exp_avg), 0.099999999999999978))", "%1 = add(mul(exp_avg_sq, 0.95), mul(mul(g, g), 0.050000000000000044))"],
        results = ["sub(mul(w, $0), mul($1, div(%0, add(div(sqrt(%1), $2), 1e-08))))", "%0", "%1"]}}
module attributes {
  nn.optimizers = [#adamw], nn.clip = 0.5
} {
// CHECK-DAG: nn.variable @w.exp_avg : {{.*}} {kind = #nn.kind<state>, of = @w, slot = "exp_avg"}
// CHECK-DAG: nn.variable @w.exp_avg_sq : {{.*}} {kind = #nn.kind<state>, of = @w, slot = "exp_avg_sq"}
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @b : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.loss" : !s {kind = #nn.kind<output>, output = "loss"}
nn.variable @"#out.grad_norm" : !s {kind = #nn.kind<output>, output = "grad_norm"}
nn.variable @"#out.lr" : !s {kind = #nn.kind<output>, output = "lr"}
// CHECK-LABEL: @micro
func.func @micro() {
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  %w0 = nn.read @w {at = #nn.at<F, "in", 0>} : !w
  %h = nn.einsum %x, %w0 {at = #nn.at<F, "in", 0>} : (!x, !w) -> !h
  %w1 = nn.read @w {at = #nn.at<F, "out", 1>} : !w
  %b = nn.read @b {at = #nn.at<F, "out", 1>} : !e
  %y = nn.einsum %h, %w1 {at = #nn.at<F, "out", 1>} : (!h, !w) -> !x
  %z = nn.add %y, %b {at = #nn.at<F, "out", 1>} : (!x, !e) -> !x
  %f = nn.sum %z {at = #nn.at<F, "loss", 1>} : (!x) -> !f
  %s = nn.convert %f {at = #nn.at<F, "loss", 1>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "loss", 1>} : !s
  return
}
}
// CHECK-LABEL: @update
// CHECK: %[[L:.+]] = nn.read @"#out.loss.sum" {at = #nn.at<U, "loss", 1>}
// CHECK: nn.write @"#out.loss", %[[L]] {at = #nn.at<U, "loss", 1>}
// CHECK: %[[G0:.+]] = nn.read @w.grad.0 {at = #nn.at<U, "in", 0>}
// CHECK: %[[G1:.+]] = nn.read @w.grad.1 {at = #nn.at<U, "out", 1>}
// CHECK: %[[G:.+]] = nn.combine %[[G0]], %[[G1]] {at = #nn.at<U, "in", 0>}
// CHECK: %[[B0:.+]] = nn.read @b.grad.0
// CHECK: %[[B:.+]] = nn.combine %[[B0]] {at = #nn.at<U, "out", 1>}
// CHECK: %[[SUMS:.+]] = nn.square_sums %[[G]], %[[B]] parameters [0, 1] {at = #nn.at<U, "", -1>}
// CHECK: %[[NORM:.+]] = nn.grad_norm %[[SUMS]]
// CHECK: nn.write @"#out.grad_norm", %[[NORM]]
// CHECK: %[[C:.+]] = nn.clip_factor %[[NORM]] max 5.000000e-01
// CHECK: %[[F:.+]] = nn.gate %[[C]], %[[NORM]]
// CHECK: %[[LR:.+]] = nn.learning_rate "linear" {{.*}}steps = 9 : i64, warmup = 2 : i64
// CHECK: nn.write @"#out.lr", %[[LR]]
// CHECK: %[[W:.+]] = nn.read @w {at = #nn.at<U, "in", 0>}
// CHECK: %[[M:.+]] = nn.read @w.exp_avg
// CHECK: %[[V:.+]] = nn.read @w.exp_avg_sq
// CHECK: %[[S:.+]]:3 = nn.step_values %[[LR]] {at = #nn.at<U, "", -1>, {{.*}}names = ["lr"]}
// CHECK: %[[NW:[^,]+]], %[[NS:.+]]:2 = nn.optimize %[[W]], %[[G]], %[[F]], %[[M]], %[[V]], %[[S]]#0, %[[S]]#1, %[[S]]#2 {at = #nn.at<U, "in", 0>, {{.*}}names = ["w", "g", "exp_avg", "exp_avg_sq", "$0", "$1", "$2"]}
// CHECK: nn.write @w, %[[NW]]
// CHECK: nn.write @w.exp_avg, %[[NS]]#0
// CHECK: nn.write @w.exp_avg_sq, %[[NS]]#1
// CHECK: nn.optimize {{.*}}, %[[F]], {{.*}}, %[[S]]#0, %[[S]]#1, %[[S]]#2 {at
