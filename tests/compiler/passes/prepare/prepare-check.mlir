// Whole-program facts that prepare-check refuses.
// RUN: npar-opt %s -split-input-file -prepare-check -verify-diagnostics

// expected-error @+1 {{the program has no function '@micro'}}
module {
}

// -----

!e = tensor<4xf64, #nn.axes<embed>>
nn.variable @w : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
func.func @micro() {
  // expected-error @+1 {{'nn.read' has no place in the model (attribute 'at')}}
  %w = nn.read @w : !e
  return
}

// -----

!e = tensor<4xf64, #nn.axes<embed>>
// expected-error @+2 {{parameter 'w' has index 1 but is number 0}}
// expected-error @+1 {{parameter 'w' does not affect the loss; use its layer or remove it}}
nn.variable @w : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 1 : i64}
func.func @micro() {
  return
}

// -----

// The engine has tokens and targets to give, and no floats.
!x = tensor<2x4xf32, #nn.axes<batch, seq>>
func.func @micro() {
  // expected-error @+2 {{input 'x' is of floats, but the data are tokens and targets, of type i32}}
  // expected-note @+1 {{help: look up vectors for the tokens: an Embedding of 'tokens: i32[batch, seq]'}}
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  return
}
