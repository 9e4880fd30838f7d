// Gradients and @update in mixed precision: masters in f32, accumulators as the plan says, the loss scale of fp16.
// RUN: npar-opt %s -split-input-file -autodiff | FileCheck %s -enable-var-scope

// bf16: the optimizer moves the master, and its rounding goes to the parameter. Gradients are bf16.
!w = tensor<4x4xbf16, #nn.axes<hidden, embed>>
!x = tensor<2x4xbf16, #nn.axes<batch, embed>>
!h = tensor<2x4xbf16, #nn.axes<batch, hidden>>
!f = tensor<f32, #nn.axes<>>
!s = tensor<f64, #nn.axes<>>
// CHECK: module {
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 9 : i64}
#adamw = {name = "AdamW", rate = #rate, weight = "w", gradient = "g", step_states = [],
    states = [{name = "exp_avg", slot = "exp_avg", initial = 0.0}, {name = "exp_avg_sq", slot = "exp_avg_sq", initial = 0.0}],
    step = {definitions = [], results = ["sub(1, mul(lr, 0.1))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]},
    element = {definitions = ["%0 = add(exp_avg, mul(sub(g, exp_avg), 0.099999999999999978))", "%1 = add(mul(exp_avg_sq, 0.95), mul(mul(g, g), 0.050000000000000044))"],
        results = ["sub(mul(w, $0), mul($1, div(%0, add(div(sqrt(%1), $2), 1e-08))))", "%0", "%1"]}}
module attributes {
  nn.optimizers = [#adamw], nn.precision = {compute = bf16}
} {
// CHECK-DAG: nn.variable @w.grad.0 : tensor<4x4xbf16
// CHECK-DAG: nn.variable @w.master : tensor<4x4xf32, {{.*}} {kind = #nn.kind<state>, of = @w, slot = "master"}
// CHECK-DAG: nn.variable @w.exp_avg : tensor<4x4xf32
// CHECK-DAG: nn.variable @w.exp_avg_sq : tensor<4x4xf32
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  %w = nn.read @w {at = #nn.at<F, "in", 0>} : !w
  %h = nn.einsum %x, %w {at = #nn.at<F, "in", 0>} : (!x, !w) -> !h
  %c = nn.convert %h {at = #nn.at<F, "loss", 0>} : (!h) -> tensor<2x4xf32, #nn.axes<batch, hidden>>
  %l = nn.sum %c {at = #nn.at<F, "loss", 0>} : (tensor<2x4xf32, #nn.axes<batch, hidden>>) -> !f
  %s = nn.convert %l {at = #nn.at<F, "loss", 0>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "loss", 0>} : !s
  return
}
}
// CHECK-LABEL: @update
// CHECK: %[[G:.+]] = nn.combine {{.*}} -> tensor<4x4xbf16
// CHECK: %[[M:.+]] = nn.read @w.master
// CHECK: %[[NEW:[^,]+]], %{{.+}}:2 = nn.optimize %[[M]], %[[G]], {{.*}} -> (tensor<4x4xf32
// CHECK: nn.write @w.master, %[[NEW]]
// CHECK: %[[ROUNDED:.+]] = nn.convert %[[NEW]] {{.*}} -> tensor<4x4xbf16
// CHECK: nn.write @w, %[[ROUNDED]]

// -----

// Gradients in f32: products, tables and sums (of a bias) add into them without a rounding in between. `reduce bf16` is left for the export.
!w = tensor<4x4xbf16, #nn.axes<hidden, embed>>
!x = tensor<2x4xbf16, #nn.axes<batch, embed>>
!h = tensor<2x4xbf16, #nn.axes<batch, hidden>>
!i = tensor<2xi32, #nn.axes<batch>>
!f = tensor<f32, #nn.axes<>>
!s = tensor<f64, #nn.axes<>>
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 9 : i64}
#sgd = {name = "Sgd", rate = #rate, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
// CHECK: module attributes {dist.rounded_sums} {
module attributes {
  nn.optimizers = [#sgd],
  nn.precision = {compute = bf16, gradients = f32, reduce = bf16}
} {
// CHECK-DAG: nn.variable @w.grad.0 : tensor<4x4xf32
// CHECK-DAG: nn.variable @t.grad.0 : tensor<9x4xf32
nn.variable @t : tensor<9x4xbf16, #nn.axes<rows, embed>> {kind = #nn.kind<parameter>, stored = [9, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4, 4], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @b : tensor<4xbf16, #nn.axes<hidden>> {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 2 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
// CHECK-LABEL: @micro
// CHECK: %[[DB:.+]] = nn.sum {{.*}} (tensor<2x4xf32{{.*}} -> tensor<4xf32, #nn.axes<hidden>>
// CHECK: nn.accumulate @b.grad.0, %[[DB]]
// CHECK: %[[DW:.+]] = nn.einsum {{.*}}bf16{{.*}}bf16{{.*}} -> tensor<4x4xf32
// CHECK: nn.accumulate @w.grad.0, %[[DW]]
// CHECK: %[[DT:.+]] = nn.scatter_add {{.*}} -> tensor<9x4xf32
// CHECK: nn.accumulate @t.grad.0, %[[DT]]
func.func @micro() {
  %i = nn.input "x" {at = #nn.at<F, "", -1>} : !i
  %t = nn.read @t {at = #nn.at<F, "table", -1>} : tensor<9x4xbf16, #nn.axes<rows, embed>>
  %x = nn.gather %t, %i over "rows" {at = #nn.at<F, "table", -1>} : (tensor<9x4xbf16, #nn.axes<rows, embed>>, !i) -> !x
  %w = nn.read @w {at = #nn.at<F, "in", 0>} : !w
  %h = nn.einsum %x, %w {at = #nn.at<F, "in", 0>} : (!x, !w) -> !h
  %b = nn.read @b {at = #nn.at<F, "in", 0>} : tensor<4xbf16, #nn.axes<hidden>>
  %hb = nn.add %h, %b {at = #nn.at<F, "in", 0>} : (!h, tensor<4xbf16, #nn.axes<hidden>>) -> !h
  %c = nn.convert %hb {at = #nn.at<F, "loss", 0>} : (!h) -> tensor<2x4xf32, #nn.axes<batch, hidden>>
  %l = nn.sum %c {at = #nn.at<F, "loss", 0>} : (tensor<2x4xf32, #nn.axes<batch, hidden>>) -> !f
  %s = nn.convert %l {at = #nn.at<F, "loss", 0>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "loss", 0>} : !s
  return
}
}

// -----

// fp16: the seed of the backward pass is the loss scale; the norm tells all ranks whether the step counts. A parameter may have its name.
!w = tensor<4x4xf16, #nn.axes<hidden, embed>>
!x = tensor<2x4xf16, #nn.axes<batch, embed>>
!h = tensor<2x4xf16, #nn.axes<batch, hidden>>
!f = tensor<f32, #nn.axes<>>
!s = tensor<f64, #nn.axes<>>
// CHECK: module {
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 9 : i64}
#adamw = {name = "AdamW", rate = #rate, weight = "w", gradient = "g", step_states = [],
    states = [{name = "exp_avg", slot = "exp_avg", initial = 0.0}, {name = "exp_avg_sq", slot = "exp_avg_sq", initial = 0.0}],
    step = {definitions = [], results = ["sub(1, mul(lr, 0.1))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]},
    element = {definitions = ["%0 = add(exp_avg, mul(sub(g, exp_avg), 0.099999999999999978))", "%1 = add(mul(exp_avg_sq, 0.95), mul(mul(g, g), 0.050000000000000044))"],
        results = ["sub(mul(w, $0), mul($1, div(%0, add(div(sqrt(%1), $2), 1e-08))))", "%0", "%1"]}}
module attributes {
  nn.optimizers = [#adamw], nn.clip = 1.0, nn.precision = {compute = f16}
} {
// CHECK: nn.variable @loss_scale : {{.*}}kind = #nn.kind<parameter>
// CHECK-DAG: nn.variable @"#loss_scale" : {{.*}} {init = #nn.init<constant, 6.553600e+04>, kind = #nn.kind<state>, slot = "loss_scale"}
// CHECK-DAG: nn.variable @"#good_streak" : {{.*}} {kind = #nn.kind<state>, slot = "good_streak"}
// CHECK-DAG: nn.variable @"#good_steps" : {{.*}} {kind = #nn.kind<state>, slot = "good_steps"}
nn.variable @loss_scale : !w {kind = #nn.kind<parameter>, stored = [4, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.grad_norm" : !s {kind = #nn.kind<output>, output = "grad_norm"}
// CHECK-LABEL: @micro
// CHECK: %[[SEED:.+]] = nn.read @"#loss_scale" {at = #nn.at<B, "loss", 0>}
// CHECK: nn.convert %[[SEED]] {{.*}} -> tensor<f32
func.func @micro() {
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  %w = nn.read @loss_scale {at = #nn.at<F, "in", 0>} : !w
  %h = nn.einsum %x, %w {at = #nn.at<F, "in", 0>} : (!x, !w) -> !h
  %c = nn.convert %h {at = #nn.at<F, "loss", 0>} : (!h) -> tensor<2x4xf32, #nn.axes<batch, hidden>>
  %l = nn.sum %c {at = #nn.at<F, "loss", 0>} : (tensor<2x4xf32, #nn.axes<batch, hidden>>) -> !f
  %s = nn.convert %l {at = #nn.at<F, "loss", 0>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "loss", 0>} : !s
  return
}
}
// CHECK-LABEL: @update
// CHECK: %[[SCALED:.+]] = nn.grad_norm
// CHECK: %[[SCALE:.+]] = nn.read @"#loss_scale"
// CHECK: %[[NORM:.+]] = nn.div %[[SCALED]], %[[SCALE]]
// CHECK: nn.write @"#out.grad_norm", %[[NORM]]
// CHECK: %[[CLIP:.+]] = nn.clip_factor %[[NORM]]
// CHECK: %[[STREAK:.+]] = nn.read @"#good_streak"
// CHECK: %[[STEPS:.+]] = nn.read @"#good_steps"
// CHECK: %[[NEXT:.+]], %{{.+}}, %{{.+}} = nn.loss_scale %[[SCALE]], %[[STREAK]], %[[STEPS]], %[[NORM]] {{.*}}interval = 2000
// CHECK: nn.write @"#out.loss_scale", %[[SCALE]]
// CHECK: %[[UNSCALED:.+]] = nn.div %[[CLIP]], %[[SCALE]]
// CHECK: %[[FACTOR:.+]] = nn.gate %[[UNSCALED]], %[[NORM]]
// CHECK: %[[RATE:.+]] = nn.learning_rate "constant" counting %[[STEPS]]
// CHECK: %[[S:.+]]:3 = nn.step_values %[[RATE]], %[[STEPS]] {{.*}}names = ["lr", "#counted"]
// CHECK: nn.optimize %{{.+}}, %{{.+}}, %[[FACTOR]], {{.*}}, %[[S]]#0, %[[S]]#1, %[[S]]#2 {
// CHECK: nn.write @"#loss_scale", %[[NEXT]]
