// Placing of integers: what is made of positions is made where it is used, sums of integers are reduced at once, a choice between partial sums stays
// partial, and what is whole under another name is gathered.
// RUN: npar-opt %s -split-input-file -place-assign | FileCheck %s

!q = tensor<8xi32, #nn.axes<seq>>
!k = tensor<8xi32, #nn.axes<key>>
!qk = tensor<8x8xi32, #nn.axes<seq, key>>
!x = tensor<2x8x8xf32, #nn.axes<batch, seq, key>>
!s = tensor<f32, #nn.axes<>>

// Each rank makes its rows of the mask, once for each phase.
// CHECK-LABEL: func.func @micro
// CHECK: nn.index {{.*}} : tensor<4xi32, #dist.layout<seq : 8 {sp}>>
// CHECK: nn.compare "less_equal" {{.*}} -> tensor<4x8xi32, #dist.layout<seq : 8 {sp}, key : 8>>
// CHECK: nn.where {{.*}}at<F
// CHECK: nn.compare "less_equal" {{.*}} -> tensor<4x8xi32, #dist.layout<seq : 8 {sp}, key : 8>>
// CHECK: nn.where {{.*}}at<B
// CHECK-NOT: dist.reshard %{{.*}}xi32
module attributes {dist.mesh = #dist.mesh<sp = 2>, dist.rules = [#dist.rule<axis = "seq", mesh = ["sp"]>]} {
  nn.variable @sum : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "", 0>} : !x
    %i = nn.index {at = #nn.at<F, "", 0>} : !q
    %j = nn.index {at = #nn.at<F, "", 0>} : !k
    %c = nn.compare "less_equal" %j, %i {at = #nn.at<F, "", 0>} : (!k, !q) -> !qk
    %z = nn.fill 0.0 {at = #nn.at<F, "", 0>} : !s
    %y = nn.where %c, %x, %z {at = #nn.at<F, "", 1>} : (!qk, !x, !s) -> !x
    %d = nn.where %c, %y, %z {at = #nn.at<B, "", 1>} : (!qk, !x, !s) -> !x
    %t = nn.sum %d {at = #nn.at<B, "", 1>} : (!x) -> !s
    nn.accumulate @sum, %t {at = #nn.at<B, "", 1>} : !s
    return
  }
}

// -----

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!n = tensor<2xi32, #nn.axes<batch>>
!x = tensor<2x6xf32, #nn.axes<batch, hidden>>
!w = tensor<6x4xf32, #nn.axes<hidden, embed>>
!y = tensor<2x4xf32, #nn.axes<batch, embed>>

// CHECK-LABEL: func.func @micro
// CHECK: %[[N:.+]] = nn.sum {{.*}} -> tensor<2xi32, #dist.layout<batch : 2, partial = {sp : sum}>>
// CHECK: %[[ALL:.+]] = dist.reshard %[[N]] {{.*}} -> tensor<2xi32, #dist.layout<batch : 2>>
// CHECK: %[[A:.+]] = nn.einsum {{.*}}partial = {tp : sum}>>
// CHECK: %[[B:.+]] = nn.einsum {{.*}}partial = {tp : sum}>>
// CHECK-NOT: dist.reshard
// CHECK: %[[Y:.+]] = nn.where %[[ALL]], %[[A]], %[[B]] {{.*}} -> tensor<2x4xf32, #dist.layout<batch : 2, embed : 4, partial = {tp : sum}>>
// CHECK: dist.reshard %[[Y]]
module attributes {dist.mesh = #dist.mesh<sp = 2, tp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["sp"]>, #dist.rule<axis = "hidden", mesh = ["tp"]>]} {
  nn.variable @v : !w {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [6, 4]}
  nn.variable @w : !w {index = 1 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [6, 4]}
  nn.variable @sum : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %t = nn.input "t" : !t
    %x = nn.input "x" : !x
    %v = nn.read @v : !w
    %w = nn.read @w : !w
    %n = nn.sum %t : (!t) -> !n
    %a = nn.einsum %x, %v : (!x, !w) -> !y
    %b = nn.einsum %x, %w : (!x, !w) -> !y
    %y = nn.where %n, %a, %b : (!n, !y, !y) -> !y
    %e = nn.exp %y : (!y) -> !y
    %s = nn.sum %e : (!y) -> tensor<f32, #nn.axes<>>
    nn.accumulate @sum, %s : tensor<f32, #nn.axes<>>
    return
  }
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, seq>>
!r = tensor<2x8xf32, #nn.axes<batch, whole>>

// CHECK-LABEL: func.func @micro
// CHECK: %[[E:.+]] = nn.exp {{.*}} -> tensor<2x4xf32, #dist.layout<batch : 2, seq : 8 {sp}>>
// CHECK: %[[W:.+]] = dist.reshard %[[E]] {{.*}} -> tensor<2x8xf32, #dist.layout<batch : 2, seq : 8>>
// CHECK: %[[R:.+]] = nn.rename %[[W]]
// CHECK: nn.cumsum %[[R]] of "whole" to "seq" {{.*}} -> tensor<2x4xf32, #dist.layout<batch : 2, seq : 8 {sp}>>
module attributes {dist.mesh = #dist.mesh<sp = 2>, dist.rules = [#dist.rule<axis = "seq", mesh = ["sp"]>]} {
  nn.variable @sum : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" : !x
    %e = nn.exp %x : (!x) -> !x
    %r = nn.rename %e from "seq" to "whole" : (!x) -> !r
    %c = nn.cumsum %r of "whole" to "seq" : (!r) -> !x
    %s = nn.sum %c : (!x) -> tensor<f32, #nn.axes<>>
    nn.accumulate @sum, %s : tensor<f32, #nn.axes<>>
    return
  }
}
