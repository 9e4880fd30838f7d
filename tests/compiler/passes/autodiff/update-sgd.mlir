// @update under SGD: with momentum there is a state, without there is none; without clipping the factor is 1, where the norm is finite.
// RUN: npar-opt %s -split-input-file -autodiff | FileCheck %s

!e = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#sgd = {name = "Sgd", rate = #rate, weight = "w", gradient = "g", step_states = [],
    states = [{name = "velocity", slot = "momentum", initial = 0.0}], step = {definitions = [], results = ["lr"]},
    element = {definitions = ["%0 = add(mul(velocity, 0.9), g)"], results = ["sub(w, mul($0, %0))", "%0"]}}
module attributes {nn.optimizers = [#sgd]} {
// CHECK: nn.variable @w.momentum : {{.*}} {kind = #nn.kind<state>, of = @w, slot = "momentum"}
nn.variable @w : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !e
  %s = nn.sum %w : (!e) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
// CHECK-LABEL: @update
// CHECK: %[[ONE:.+]] = nn.fill 1.000000e+00 {{.*}} : tensor<f64, #nn.axes<>>
// CHECK: %[[F:.+]] = nn.gate %[[ONE]], %{{.+}}
// CHECK: %[[LR:.+]] = nn.learning_rate "constant"
// CHECK: %[[V:.+]] = nn.read @w.momentum
// CHECK: %[[NW:.+]], %[[NV:.+]] = nn.optimize %{{.+}}, %{{.+}}, %[[F]], %[[V]], %[[LR]] {{.*}}"%0 = add(mul(velocity, 0.9), g)"
// CHECK: nn.write @w, %[[NW]]
// CHECK: nn.write @w.momentum, %[[NV]]
}

// -----

!e = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#sgd = {name = "Sgd", rate = #rate, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
module attributes {nn.optimizers = [#sgd]} {
// CHECK-NOT: momentum :
nn.variable @w : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !e
  %s = nn.sum %w : (!e) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
// CHECK-LABEL: @update
// CHECK: %[[NW:.+]] = nn.optimize
// CHECK-NEXT: nn.write @w, %[[NW]]
// CHECK-NEXT: return
}
