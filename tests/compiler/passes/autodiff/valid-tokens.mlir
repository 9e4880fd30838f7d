// Where the prologue counts valid tokens, the gradient starts from 1 / max(1, their number), and the loss is divided alike.
// RUN: npar-opt %s -autodiff | FileCheck %s

!t = tensor<2xi32, #nn.axes<batch>>
!x = tensor<2x4xf64, #nn.axes<batch, vocab>>
!v = tensor<4xf64, #nn.axes<vocab>>
!b = tensor<2xf64, #nn.axes<batch>>
!s = tensor<f64, #nn.axes<>>
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#sgd = {name = "Sgd", rate = #rate, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
module attributes {nn.optimizers = [#sgd]} {
nn.variable @bias : !v {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.loss" : !s {kind = #nn.kind<output>, output = "loss"}
nn.variable @"#out.valid_tokens" : !s {kind = #nn.kind<output>, output = "valid_tokens"}
// CHECK-LABEL: @micro
func.func @micro() {
  %x = nn.input "x" : !x
  %t = nn.input "targets" : !t
  %w = nn.read @bias {at = #nn.at<F, "head", 2>} : !v
  %l = nn.add %x, %w {at = #nn.at<F, "head", 2>} : (!x, !v) -> !x
  // CHECK: %{{.+}}, %[[LSE:.+]] = nn.cross_entropy %[[L:.+]], %[[T:.+]] over "vocab" ignore -100
  %loss, %lse = nn.cross_entropy %l, %t over "vocab" ignore -100 {at = #nn.at<F, "", 2>} : (!x, !t) -> (!b, !b)
  %s = nn.sum %loss {at = #nn.at<F, "", 2>} : (!b) -> !s
  // CHECK: nn.accumulate @"#out.loss.sum"
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 2>} : !s
  // CHECK: %[[ONE:.+]] = nn.fill 1.000000e+00
  // CHECK: %[[N:.+]] = nn.read @"#out.valid_tokens" {at = #nn.at<B, "", 2>}
  // CHECK: %[[M:.+]] = nn.max2 %[[N]], %{{.+}} {at = #nn.at<B, "", 2>}
  // CHECK: %[[D:.+]] = nn.div %[[ONE]], %[[M]] {at = #nn.at<B, "", 2>}
  // CHECK: %[[B:.+]] = nn.broadcast %[[D]]
  // CHECK: nn.cross_entropy_grad %[[L]], %[[T]], %[[LSE]], %[[B]] over "vocab" ignore -100
  return
}
// CHECK-LABEL: @update
// CHECK: %[[SUM:.+]] = nn.read @"#out.loss.sum" {at = #nn.at<U, "", 2>}
// CHECK: %[[N:.+]] = nn.read @"#out.valid_tokens" {at = #nn.at<U, "", 2>}
// CHECK: %[[M:.+]] = nn.max2 %[[N]], %{{.+}} {at = #nn.at<U, "", 2>}
// CHECK: %[[LOSS:.+]] = nn.div %[[SUM]], %[[M]] {at = #nn.at<U, "", 2>}
// CHECK: nn.write @"#out.loss", %[[LOSS]]
}
