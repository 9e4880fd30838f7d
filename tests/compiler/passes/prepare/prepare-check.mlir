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

// An index that counts further than the table has rows.
!p = tensor<4x3xf32, #nn.axes<position, embed>>
!i = tensor<8xi32, #nn.axes<seq>>
!x = tensor<8x3xf32, #nn.axes<seq, embed>>
func.func @micro(%places: !p) {
  %i = nn.index {at = #nn.at<F, "", -1>} : !i
  // expected-error @+1 {{index over 'seq' reaches 7, but axis 'position' has size 4}}
  %x = nn.gather %places, %i over "position" {at = #nn.at<F, "", -1>} : (!p, !i) -> !x
  return
}
