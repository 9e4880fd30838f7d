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

// -----

// Names that the engine has no data for.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
func.func @micro() {
  // expected-error @+2 {{input 'mask' cannot be fed: the data are 'tokens' and 'targets'}}
  // expected-note @+1 {{help: call what is looked up 'tokens' and what the loss compares with 'targets'}}
  %x = nn.input "mask" {at = #nn.at<F, "", -1>} : !t
  return
}

// -----

// Not sequences: too few axes, too many, or another axis before the sequence.
func.func @micro() {
  // expected-error @+2 {{input 'targets' is over [batch], but the data are sequences, one for each of the batch}}
  // expected-note @+1 {{help: write 'input tokens, targets: i32[batch, seq]', with the sequence's axis for 'seq'}}
  %x = nn.input "targets" {at = #nn.at<F, "", -1>} : tensor<2xi32, #nn.axes<batch>>
  // expected-error @+2 {{input 'tokens' is over [batch, seq, part], but the data are sequences}}
  // expected-note @+1 {{help: write 'input tokens, targets: i32[batch, seq]'}}
  %y = nn.input "tokens" {at = #nn.at<F, "", -1>} : tensor<2x4x3xi32, #nn.axes<batch, seq, part>>
  return
}

// -----

func.func @micro() {
  // expected-error @+2 {{input 'targets' is over [seq, batch], but the data are sequences}}
  // expected-note @+1 {{help: write 'input tokens, targets: i32[batch, seq]'}}
  %x = nn.input "targets" {at = #nn.at<F, "", -1>} : tensor<4x2xi32, #nn.axes<seq, batch>>
  return
}

// -----

// Both are fed from the same sequences.
func.func @micro() {
  // expected-note @+1 {{declared here}}
  %x = nn.input "tokens" {at = #nn.at<F, "", -1>} : tensor<2x4xi32, #nn.axes<batch, seq>>
  // expected-error @+1 {{input 'targets' is over [batch, other] and input 'tokens' over [batch, seq], but both are of the same sequences}}
  %y = nn.input "targets" {at = #nn.at<F, "", -1>} : tensor<2x4xi32, #nn.axes<batch, other>>
  return
}
