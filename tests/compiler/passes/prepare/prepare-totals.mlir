// Sums over the samples of a step.
// RUN: npar-opt %s -split-input-file -prepare-totals | FileCheck %s

!b = tensor<2x4xf32, #nn.axes<batch, expert>>
!s = tensor<2xf32, #nn.axes<batch>>
!o = tensor<f32, #nn.axes<>>
!l = tensor<f64, #nn.axes<>>

// A single micro-batch has all samples.
module {
// CHECK-LABEL: @micro
func.func @micro() {
  %x = nn.input "x" : !b
  // CHECK: %[[SUM:.+]] = nn.sum %{{.+}} {at = #nn.at<F, "h", 1>} : (tensor<2x4xf32, {{.+}}>) -> tensor<4xf32, #nn.axes<expert>>
  // CHECK-NEXT: nn.broadcast %[[SUM]] {at = #nn.at<F, "h", 1>}
  // CHECK-NOT: nn.total
  %t = nn.total %x {at = #nn.at<F, "h", 1>} : !b
  return
}
}

// -----

!b = tensor<2x4xf32, #nn.axes<batch, expert>>
!s = tensor<2xf32, #nn.axes<batch>>
!o = tensor<f32, #nn.axes<>>
!l = tensor<f64, #nn.axes<>>

// Several micro-batches add up their sums. What needs the total moves to the backward pass, and each layer adds its summand of the loss to an
// accumulator of its own.
module attributes {npar.micro_count = 2 : i64} {
// CHECK: nn.losses = [{name = "", parts = 2 : i64, weight = 1.000000e+00 : f64}]
// CHECK: nn.variable @"#out.loss.sum.1"
// CHECK: nn.variable @"#total.0" : tensor<4xf64, #nn.axes<expert>> {kind = #nn.kind<accumulator>}
nn.variable @"#out.loss.sum" : !l {kind = #nn.kind<accumulator>}
// CHECK-LABEL: @micro
func.func @micro() {
  %x = nn.input "x" : !b
  // CHECK: %[[SUM:.+]] = nn.sum %{{.+}} {at = #nn.at<F, "h.0", 0>}
  // CHECK-NEXT: %[[WIDE:.+]] = nn.convert %[[SUM]] {at = #nn.at<F, "h.0", 0>}
  // CHECK-NEXT: nn.accumulate @"#total.0", %[[WIDE]] {at = #nn.at<F, "h.0", 0>}
  // CHECK-NEXT: %[[ALL:.+]] = nn.read @"#total.0" {at = #nn.at<B, "h.0", 0>}
  // CHECK-NEXT: nn.convert %[[ALL]] {at = #nn.at<B, "h.0", 0>}
  // CHECK-NEXT: nn.broadcast
  %t = nn.total %x {at = #nn.at<F, "h.0", 0>} : !b
  // CHECK-NEXT: %[[FIRST:.+]] = nn.sum %{{.+}} {at = #nn.at<B, "h.0", 0>}
  %first = nn.sum %t {at = #nn.at<F, "h.0", 0>} : (!b) -> !s
  // CHECK: nn.accumulate @"#total.1"
  %u = nn.total %x {at = #nn.at<F, "h.1", 1>} : !b
  // CHECK: %[[SECOND:.+]] = nn.sum %{{.+}} {at = #nn.at<B, "h.1", 1>} : (tensor<2x4xf32
  %second = nn.sum %u {at = #nn.at<F, "h.1", 1>} : (!b) -> !s
  %both = nn.add %first, %second {at = #nn.at<F, "", 1>} : (!s, !s) -> !s
  %sum = nn.sum %both {at = #nn.at<F, "", 2>} : (!s) -> !o
  %loss = nn.convert %sum {at = #nn.at<F, "", 2>} : (!o) -> !l
  // CHECK: %[[A:.+]] = nn.sum %[[FIRST]] {at = #nn.at<B, "h.0", 0>}
  // CHECK-NEXT: %[[B:.+]] = nn.convert %[[A]] {at = #nn.at<B, "h.0", 0>}
  // CHECK-NEXT: nn.accumulate @"#out.loss.sum", %[[B]] {at = #nn.at<B, "h.0", 0>}
  // CHECK-NEXT: %[[C:.+]] = nn.sum %[[SECOND]] {at = #nn.at<B, "h.1", 1>}
  // CHECK-NEXT: %[[D:.+]] = nn.convert %[[C]]
  // CHECK-NEXT: nn.accumulate @"#out.loss.sum.1", %[[D]] {at = #nn.at<B, "h.1", 1>}
  nn.accumulate @"#out.loss.sum", %loss {at = #nn.at<F, "", 2>} : !l
  return
}
}

// -----

!b = tensor<2x4xf32, #nn.axes<channel, batch>>

// Of two micro-batches: a group that is the micro-batch is a sum, known in the forward pass; smaller ones are cut out of it.
module attributes {npar.micro_count = 2 : i64} {
// CHECK-LABEL: @micro
func.func @micro() {
  %x = nn.input "x" : !b
  // CHECK: %[[SUM:.+]] = nn.sum %{{.+}} {at = #nn.at<F, "h", 1>} : ({{.+}}) -> tensor<2xf32, #nn.axes<channel>>
  // CHECK-NEXT: nn.broadcast %[[SUM]] {at = #nn.at<F, "h", 1>}
  %whole = nn.group_total %x by 4 {at = #nn.at<F, "h", 1>} : !b
  // CHECK-NEXT: %[[X:.+]] = nn.rename %{{.+}} from "batch" to "batch.whole"
  // CHECK-NEXT: %[[CUT:.+]] = nn.fold %[[X]] of "batch.whole" and "batch.group2" by "batch.of2"
  // CHECK-NEXT: %[[SUMS:.+]] = nn.sum %[[CUT]] {{.+}} -> tensor<2x2xf32, #nn.axes<channel, batch.group2>>
  // CHECK-NEXT: %[[NUMBER:.+]] = nn.index {{.+}} : tensor<4xi32, #nn.axes<batch>>
  // CHECK-NEXT: %[[TWO:.+]] = nn.fill 2.0
  // CHECK-NEXT: %[[OWN:.+]] = nn.integer "div" %[[NUMBER]], %[[TWO]]
  // CHECK-NEXT: %[[EACH:.+]] = nn.gather %[[SUMS]], %[[OWN]] over "batch.group2" {{.+}} -> tensor<4x2xf32, #nn.axes<batch, channel>>
  // CHECK-NEXT: nn.reorder %[[EACH]] {{.+}} -> tensor<2x4xf32, #nn.axes<channel, batch>>
  %part = nn.group_total %x by 2 {at = #nn.at<F, "h", 1>} : !b
  return
}
}
