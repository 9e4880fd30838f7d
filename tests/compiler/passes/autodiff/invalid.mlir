// What has no gradient is refused where it stands, and a program without an optimizer has no update.
// RUN: npar-opt %s -split-input-file -autodiff-backward -autodiff-update -verify-diagnostics

!x = tensor<8xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !x
  // expected-error @+1 {{has no gradient, but the loss depends on a parameter through it}}
  %s = nn.grad_norm %w : (!x) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

!x = tensor<2x8xf64, #nn.axes<batch, embed>>
!b = tensor<2xf64, #nn.axes<batch>>
!e = tensor<8xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !x
  %e = nn.fill 1.0 : !e
  // expected-error @+1 {{no gradient flows through the deviation}}
  %y, %r = nn.rms_norm %w, %e over "embed" epsilon 1.0e-5 : (!x, !e) -> (!x, !b)
  %s = nn.sum %r : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

!x = tensor<2x8xf64, #nn.axes<batch, embed>>
!b = tensor<2xf64, #nn.axes<batch>>
!e = tensor<8xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !x
  %e = nn.fill 1.0 : !e
  // expected-error @+1 {{no gradient flows through the mean and the deviation}}
  %y, %m, %r = nn.layer_norm %w, %e, %e over "embed" epsilon 1.0e-5 : (!x, !e, !e) -> (!x, !b, !b)
  %s = nn.sum %m : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

// expected-error @+1 {{the program has no function '@micro' of one block}}
module {
}

// -----

// The probabilities of the attention are saved for its gradient; no loss is made of them.
!h = tensor<2x8x4x4xf64, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf64, #nn.axes<batch, head, seq, key>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !h {kind = #nn.kind<parameter>, stored = [2, 8, 4, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !h
  // expected-error @+1 {{no gradient flows through the probabilities}}
  %o, %p = nn.attention %w, %w, %w {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!h, !h, !h) -> (!h, !p)
  %s = nn.sum %p : (!p) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

// The log of the sum is also only saved.
!x = tensor<2x8xf64, #nn.axes<batch, vocab>>
!t = tensor<2xi32, #nn.axes<batch>>
!b = tensor<2xf64, #nn.axes<batch>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !x
  %t = nn.input "t" : !t
  // expected-error @+1 {{no gradient flows through the log of the sum}}
  %loss, %lse = nn.cross_entropy %w, %t over "vocab" : (!x, !t) -> (!b, !b)
  %s = nn.sum %lse : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

// The gradients of this program exist, but not what updates its parameter with them.
// expected-error @+1 {{the module needs the attribute 'nn.optimizers': a list of optimizers with all their fields}}
module {
  nn.variable @w : tensor<8xf64, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : tensor<f64, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %w = nn.read @w : tensor<8xf64, #nn.axes<embed>>
    %s = nn.sum %w : (tensor<8xf64, #nn.axes<embed>>) -> tensor<f64, #nn.axes<>>
    nn.accumulate @"#out.loss.sum", %s : tensor<f64, #nn.axes<>>
    return
  }
}

// -----

// An optimizer without its formulas.
// expected-error @+1 {{the module needs the attribute 'nn.optimizers': a list of optimizers with all their fields}}
module attributes {nn.optimizers = [{name = "Sgd"}]} {
  nn.variable @"#out.loss.sum" : tensor<f64, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    return
  }
}

// -----

// A parameter asks for an optimizer that the module does not have.
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#sgd = {name = "Sgd", rate = #rate, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
module attributes {nn.optimizers = [#sgd]} {
  // expected-error @+1 {{asks for optimizer 1 of 1}}
  nn.variable @w : tensor<8xf64, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64, optimizer = 1 : i64}
  nn.variable @"#out.loss.sum" : tensor<f64, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %w = nn.read @w : tensor<8xf64, #nn.axes<embed>>
    %s = nn.sum %w : (tensor<8xf64, #nn.axes<embed>>) -> tensor<f64, #nn.axes<>>
    nn.accumulate @"#out.loss.sum", %s : tensor<f64, #nn.axes<>>
    return
  }
}

// -----

// A sum over all samples of several micro-batches, whose gradient cannot reach the others.
!v = tensor<4xf64, #nn.axes<vocab>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !v {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#total.0" : !v {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w {at = #nn.at<F, "", 0>} : !v
  nn.accumulate @"#total.0", %w {at = #nn.at<F, "", 0>} : !v
  // expected-error @below {{the gradient of a sum over all samples of a step would have to reach other micro-batches}}
  // expected-note @below {{help: use stop_gradient(...) and a sum over each sample for the factor whose gradient counts, or make 'micro' large enough for a single micro-batch}}
  %t = nn.read @"#total.0" {at = #nn.at<B, "", 0>} : !v
  %l = nn.sum %t {at = #nn.at<B, "", 0>} : (!v) -> !s
  nn.accumulate @"#out.loss.sum", %l {at = #nn.at<B, "", 0>} : !s
  return
}
