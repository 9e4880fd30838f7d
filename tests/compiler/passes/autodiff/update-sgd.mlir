// @update under SGD: with momentum there is a state, without there is none; without clipping the factor is 1, where the norm is finite.
// RUN: npar-opt %s -split-input-file -autodiff | FileCheck %s

!e = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
module attributes {nn.optimizer = {kind = "sgd", momentum = 0.9, decay = 0.0},
                   nn.rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0, steps = 0}} {
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
// CHECK: %[[NW:.+]], %[[NV:.+]] = nn.sgd %{{.+}}, %{{.+}}, %[[V]], %[[F]], %[[LR]] {{.*}}momentum = {{0.9|9.0}}
// CHECK: nn.write @w, %[[NW]]
// CHECK: nn.write @w.momentum, %[[NV]]
}

// -----

!e = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
module attributes {nn.optimizer = {kind = "sgd", momentum = 0.0, decay = 0.0},
                   nn.rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0, steps = 0}} {
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
// CHECK: %[[NW:.+]] = nn.sgd
// CHECK-NEXT: nn.write @w, %[[NW]]
// CHECK-NEXT: return
}
