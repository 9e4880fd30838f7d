// What rules of the train block say of parameters: what is frozen has neither gradient nor state, and nothing is computed for it alone; each
// other one has its factor of the learning rate and its optimizer; the squares are added up by group.
// RUN: npar-opt %s -autodiff | FileCheck %s

!w = tensor<4x4xf32, #nn.axes<hidden, embed>>
!e = tensor<4xf32, #nn.axes<embed>>
!x = tensor<2x4xf32, #nn.axes<batch, embed>>
!h = tensor<2x4xf32, #nn.axes<batch, hidden>>
!f = tensor<f32, #nn.axes<>>
!s = tensor<f64, #nn.axes<>>
// CHECK: module
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#adamw = {name = "AdamW", rate = #rate, weight = "w", gradient = "g", step_states = [],
    states = [{name = "exp_avg", slot = "exp_avg", initial = 0.0}, {name = "exp_avg_sq", slot = "exp_avg_sq", initial = 0.0}],
    step = {definitions = [], results = ["sub(1, mul(lr, 0.1))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]},
    element = {definitions = ["%0 = add(exp_avg, mul(sub(g, exp_avg), 0.099999999999999978))", "%1 = add(mul(exp_avg_sq, 0.95), mul(mul(g, g), 0.050000000000000044))"],
        results = ["sub(mul(w, $0), mul($1, div(%0, add(div(sqrt(%1), $2), 1e-08))))", "%0", "%1"]}}
#plain = {name = "AdamW", rate = #rate, weight = "w", gradient = "g", step_states = [],
    states = [{name = "exp_avg", slot = "exp_avg", initial = 0.0}, {name = "exp_avg_sq", slot = "exp_avg_sq", initial = 0.0}],
    step = {definitions = [], results = ["sub(1, mul(lr, 0))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]},
    element = {definitions = ["%0 = add(exp_avg, mul(sub(g, exp_avg), 0.099999999999999978))", "%1 = add(mul(exp_avg_sq, 0.95), mul(mul(g, g), 0.050000000000000044))"],
        results = ["sub(mul(w, $0), mul($1, div(%0, add(div(sqrt(%1), $2), 1e-08))))", "%0", "%1"]}}
module attributes {
  nn.optimizers = [#adamw, #plain], npar.groups = ["other", "biases", "idle"]
} {
// CHECK-NOT: @first.exp_avg
// CHECK-NOT: @first.grad
// CHECK: nn.variable @first : {{.*}} {frozen, index = 0
nn.variable @first : !w {kind = #nn.kind<parameter>, stored = [4, 4], init = #nn.init<zeros>, index = 0 : i64, frozen}
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4, 4], init = #nn.init<zeros>, index = 1 : i64, group = 0 : i64}
nn.variable @b : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 2 : i64, group = 1 : i64, optimizer = 1 : i64, rate = 3.0}
nn.variable @c : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 3 : i64, group = 1 : i64, rate = 3.0}
nn.variable @idle : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 4 : i64, group = 2 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.loss" : !s {kind = #nn.kind<output>, output = "loss"}
nn.variable @"#out.grad_norm" : !s {kind = #nn.kind<output>, output = "grad_norm"}
nn.variable @"#out.lr" : !s {kind = #nn.kind<output>, output = "lr"}
// CHECK: nn.variable @"#out.grad_norm.0" : {{.*}} output = "grad_norm.0"
// CHECK: nn.variable @"#out.grad_norm.1" : {{.*}} output = "grad_norm.1"
// CHECK: nn.variable @"#out.grad_norm.2" : {{.*}} output = "grad_norm.2"
// Backward there is one product, that of the second weight's gradient.
// CHECK-LABEL: @micro
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: nn.einsum
// CHECK-NOT: nn.einsum
// CHECK-LABEL: @update
func.func @micro() {
  %x = nn.input "x" : !x
  %w0 = nn.read @first : !w
  %h = nn.einsum %x, %w0 : (!x, !w) -> !h
  %w1 = nn.read @w : !w
  %b = nn.read @b : !e
  %c = nn.read @c : !e
  %y = nn.einsum %h, %w1 : (!h, !w) -> !x
  %z = nn.add %y, %b : (!x, !e) -> !x
  %p = nn.mul %z, %c : (!x, !e) -> !x
  %f = nn.sum %p : (!x) -> !f
  %s = nn.convert %f : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
}
// CHECK: %[[W:.+]] = nn.combine
// CHECK: %[[B:.+]] = nn.combine
// CHECK: %[[C:.+]] = nn.combine
// CHECK: %[[S0:.+]] = nn.square_sums %[[W]] parameters [1]
// CHECK: %[[N0:.+]] = nn.grad_norm %[[S0]]
// CHECK: nn.write @"#out.grad_norm.0", %[[N0]]
// CHECK: %[[S1:.+]] = nn.square_sums %[[B]], %[[C]] parameters [2, 3]
// CHECK: %[[N1:.+]] = nn.grad_norm %[[S1]]
// CHECK: nn.write @"#out.grad_norm.1", %[[N1]]
// CHECK: %[[S2:.+]] = nn.fill 0.000000e+00
// CHECK: %[[SUM:.+]] = nn.combine %[[S0]], %[[S1]], %[[S2]]
// CHECK: %[[N:.+]] = nn.grad_norm %[[SUM]]
// CHECK: nn.write @"#out.grad_norm", %[[N]]
// CHECK: %[[LR:.+]] = nn.learning_rate
// CHECK: %[[STEP:.+]]:3 = nn.step_values %[[LR]] {{.*}}"sub(1, mul(lr, 0.1))"
// CHECK: nn.optimize {{.*}}, %[[STEP]]#0, %[[STEP]]#1, %[[STEP]]#2 {
// CHECK: %[[FAST:.+]] = nn.scale %[[LR]] by 3.000000e+00
// CHECK: %[[STEP1:.+]]:3 = nn.step_values %[[FAST]] {{.*}}"sub(1, mul(lr, 0))"
// CHECK: nn.optimize {{.*}}, %[[STEP1]]#0, %[[STEP1]]#1, %[[STEP1]]#2 {
// CHECK: %[[STEP2:.+]]:3 = nn.step_values %[[FAST]] {{.*}}"sub(1, mul(lr, 0.1))"
// CHECK: nn.optimize {{.*}}, %[[STEP2]]#0, %[[STEP2]]#1, %[[STEP2]]#2 {
