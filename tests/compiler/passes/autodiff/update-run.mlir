// Learning rates with lengths in epochs or shares of the run take their words, four for each, by the order of the optimizers; the others none.
// RUN: npar-opt %s -autodiff | FileCheck %s

!e = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
#steps = {schedule = "linear", peak = 0.5, final = 0.0, warmup = 2 : i64, steps = 9 : i64}
#epochs = {schedule = "linear", peak = 0.5, final = 0.0, warmup = [1.000000e-01, "epochs"], steps = 9 : i64}
#run = {schedule = "cosine", peak = 0.5, final = 0.0, warmup = 2 : i64, steps = [1.000000e+00, "run"]}
#first = {name = "Sgd", rate = #epochs, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
#second = {name = "Sgd", rate = #steps, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
#third = {name = "Sgd", rate = #run, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
module attributes {nn.optimizers = [#first, #second, #third]} {
nn.variable @a : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @b : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 1 : i64, optimizer = 1 : i64}
nn.variable @c : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 2 : i64, optimizer = 2 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %a = nn.read @a : !e
  %b = nn.read @b : !e
  %c = nn.read @c : !e
  %ab = nn.add %a, %b : (!e, !e) -> !e
  %abc = nn.add %ab, %c : (!e, !e) -> !e
  %s = nn.sum %abc : (!e) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
// CHECK-LABEL: @update
// CHECK: nn.learning_rate "linear" {{.*}}run = 0 : i64{{.*}}warmup = 1 : i64
// CHECK: nn.learning_rate "linear" {{.*}}steps = 9 : i64, warmup = 2 : i64}
// CHECK: nn.learning_rate "cosine" {{.*}}run = 4 : i64, steps = 1 : i64, warmup = 2 : i64
}
