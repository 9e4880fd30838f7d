// What has no gradient is refused where it stands.
// RUN: npar-opt %s -split-input-file -autodiff-backward -verify-diagnostics

!x = tensor<8xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @out.loss.sum : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !x
  // expected-error @+1 {{has no gradient, but the loss depends on a parameter through it}}
  %s = nn.max %w : (!x) -> !s
  nn.accumulate @out.loss.sum, %s : !s
  return
}

// -----

!x = tensor<2x8xf64, #nn.axes<batch, embed>>
!b = tensor<2xf64, #nn.axes<batch>>
!e = tensor<8xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @out.loss.sum : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %w = nn.read @w : !x
  %e = nn.fill 1.0 : !e
  // expected-error @+1 {{no gradient flows through the mean and the deviation}}
  %y, %m, %r = nn.layer_norm %w, %e, %e over "embed" epsilon 1.0e-5 : (!x, !e, !e) -> (!x, !b, !b)
  %s = nn.sum %m : (!b) -> !s
  nn.accumulate @out.loss.sum, %s : !s
  return
}

// -----

// expected-error @+1 {{the program has no function '@micro' of one block}}
module {
}
