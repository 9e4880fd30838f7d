// RUN: npar-opt %s -schedule-servers -split-input-file | FileCheck %s -enable-var-scope

// Each rank has a copy of @micro. The last part has the losses of both ranks and their gradients, and adds the losses in the order of the
// ranks; it is on the first rank, to which the other sends its targets.
#s = #dist.layout<partial = {dp : sum}>
#x = #dist.layout<batch : 4 {dp}>
#w = #dist.layout<>
!s = tensor<f64, #s>
!x = tensor<2xf64, #x>
!w = tensor<f64, #w>
module attributes {dist.mesh = #dist.mesh<dp = 2>, dist.servers = {axis = "dp"}} {
  nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  nn.variable @w.grad.0 : !s {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  pipe.order stage(0) ["F0:0", "B0:0", "U0"]
  func.func @micro() {
    %x = nn.input "x" {pipe.place = 0, at = #nn.at<F, "", -1>} : !x
    %t = nn.input "t" {pipe.place = 0, at = #nn.at<F, "", -1>} : !x
    %w = nn.read @w {pipe.place = 0, at = #nn.at<F, "", -1>} : !w
    %y = nn.mul %x, %w {pipe.place = 0, at = #nn.at<F, "", -1>} : (!x, !w) -> !x
    %d = nn.sub %y, %t {pipe.place = 0, at = #nn.at<F, "", -1>} : (!x, !x) -> !x loc("loss")
    %l = nn.sum %d {pipe.place = 0, at = #nn.at<F, "", -1>} : (!x) -> !s loc("loss")
    nn.accumulate @"#out.loss.sum", %l {pipe.place = 0, at = #nn.at<F, "", -1>} : !s loc("loss")
    %dy = nn.mul %d, %t {pipe.place = 0, at = #nn.at<B, "", -1>} : (!x, !x) -> !x loc("loss")
    %dz = nn.mul %x, %dy {pipe.place = 0, at = #nn.at<B, "", -1>} : (!x, !x) -> !x
    %dw = nn.sum %dz {pipe.place = 0, pipe.weight, at = #nn.at<B, "", -1>} : (!x) -> !s
    nn.accumulate @w.grad.0, %dw {pipe.place = 0, pipe.weight, at = #nn.at<B, "", -1>} : !s
    return
  }
  func.func @update() {
    return
  }
}
// CHECK: pipe.program {axis = "dp", micro_count = 1 : i64, placement = array<i64: 0, 1, 0>, schedule = "1f1b", stages = 2 : i64}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F2:0", "B2:0", "B0:0", "U0"]
// CHECK-NEXT: pipe.order stage(1) ["F1:0", "B1:0", "U1"]
// CHECK-LABEL: func.func @micro
// CHECK-NEXT: %[[X0:.*]] = nn.input "x" {{.*}}pipe.place = 0
// CHECK-NEXT: %[[T0:.*]] = nn.input "t"
// CHECK-NEXT: nn.read @w
// CHECK-NEXT: %[[Y0:.*]] = nn.mul %[[X0]]
// CHECK-NEXT: %[[X1:.*]] = nn.input "x" {{.*}}pipe.place = 1
// CHECK-NEXT: nn.input "t"
// CHECK-NEXT: nn.read @w
// CHECK-NEXT: %[[Y1:.*]] = nn.mul %[[X1]]
// CHECK-NEXT: %[[D0:.*]] = nn.sub %[[Y0]], %[[T0]] {{.*}}pipe.place = 2
// CHECK-NEXT: %[[T1:.*]] = nn.input "t" {{.*}}pipe.place = 1 {{.*}}pipe.sent
// CHECK-NEXT: %[[D1:.*]] = nn.sub %[[Y1]], %[[T1]] {{.*}}pipe.place = 2
// CHECK-NEXT: %[[L0:.*]] = nn.sum %[[D0]]
// CHECK-NEXT: %[[L1:.*]] = nn.sum %[[D1]]
// CHECK-NEXT: %[[L:.*]] = nn.combine %[[L0]], %[[L1]] {{.*}}pipe.place = 2
// CHECK-NEXT: nn.accumulate @"#out.loss.sum", %[[L]]
// CHECK-NEXT: %[[DY0:.*]] = nn.mul %[[D0]], %[[T0]] {{.*}}pipe.place = 2
// CHECK-NEXT: %[[DY1:.*]] = nn.mul %[[D1]], %[[T1]] {{.*}}pipe.place = 2
// CHECK-NEXT: nn.mul %[[X0]], %[[DY0]] {{.*}}pipe.place = 0

// -----

// Without the clause nothing happens.
module {
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  func.func @micro() {
    return
  }
}
// CHECK: pipe.program {micro_count = 1 : i64, schedule = "1f1b", stages = 1 : i64}
