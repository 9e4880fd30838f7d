// A sequence whose places something counts by itself stays whole; so does one that is not a program for generating.
// RUN: npar-opt %s -split-input-file -verify-diagnostics -autodiff-decode | FileCheck %s

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!x = tensor<2x8xf32, #nn.axes<batch, seq>>
// CHECK-NOT: seq.step
module attributes {npar.kind = "generation"} {
func.func @micro() {
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %x = nn.to_float %t {at = #nn.at<F, "", -1>} : (!t) -> !x
  %i = nn.index {at = #nn.at<F, "", -1>} : tensor<2xi32, #nn.axes<batch>>
  // expected-warning @+1 {{'sinusoid' counts the places of 'seq': each generated token recomputes the whole sequence}}
  %s = nn.sinusoid %i along "seq" base 10000.0 wave "cos" {at = #nn.at<F, "", -1>} : (tensor<2xi32, #nn.axes<batch>>) -> !x
  %y = nn.mul %x, %s {at = #nn.at<F, "", -1>} : (!x, !x) -> !x
  nn.result "logits", %y {at = #nn.at<F, "", -1>} : !x
  return
}
}

// -----
!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!x = tensor<2x8xf32, #nn.axes<batch, seq>>
module attributes {npar.kind = "generation"} {
func.func @micro() {
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %x = nn.to_float %t {at = #nn.at<F, "", -1>} : (!t) -> !x
  // expected-warning @+1 {{'sum' mixes positions of 'seq': each generated token recomputes the whole sequence}}
  %y = nn.sum %x {at = #nn.at<F, "", -1>} : (!x) -> tensor<2xf32, #nn.axes<batch>>
  nn.result "logits", %y {at = #nn.at<F, "", -1>} : tensor<2xf32, #nn.axes<batch>>
  return
}
}

// -----
// Windows name their axes in lists.
!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!x = tensor<2x8xf32, #nn.axes<batch, seq>>
!w = tensor<9xf32, #nn.axes<long>>
!p = tensor<2x8xf32, #nn.axes<tap, seq>>
module attributes {npar.kind = "generation"} {
nn.variable @table : !w {kind = #nn.kind<parameter>, stored = [9], init = #nn.init<zeros>, index = 0 : i64}
func.func @micro() {
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %x = nn.to_float %t {at = #nn.at<F, "", -1>} : (!t) -> !x
  %w = nn.read @table {at = #nn.at<F, "", -1>} : !w
  // expected-warning @+1 {{'windows' counts the places of 'seq': each generated token recomputes the whole sequence}}
  %p = nn.windows %w of ["long"] to ["seq"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 0>, spread = array<i64: 1>, fill = 0.0, at = #nn.at<F, "", -1>} : (!w) -> !p
  %s = nn.sum %p {at = #nn.at<F, "", -1>} : (!p) -> tensor<8xf32, #nn.axes<seq>>
  %y = nn.mul %x, %s {at = #nn.at<F, "", -1>} : (!x, tensor<8xf32, #nn.axes<seq>>) -> !x
  nn.result "logits", %y {at = #nn.at<F, "", -1>} : !x
  return
}
}

// -----
// What autodiff-forward has warned of stays whole.
!t = tensor<2x8xi32, #nn.axes<batch, seq>>
// CHECK: untested_positions
// CHECK: nn.input "tokens"{{.*}}tensor<2x8xi32
module attributes {npar.kind = "generation", npar.untested_positions} {
func.func @micro() {
  %t = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  nn.result "logits", %t {at = #nn.at<F, "", -1>} : !t
  return
}
}

// -----
// expected-error @+1 {{internal error: 'autodiff-decode' takes a program that generates, and at least 1 position}}
module attributes {npar.kind = "evaluation"} {
func.func @micro() {
  return
}
}
