// RUN: npar-opt %s -schedule-stages -split-input-file | FileCheck %s -enable-var-scope

// Two equal blocks on two stages; what is before goes with the first stage, what is after with the last, the backward with its block.
#t = #dist.layout<batch : 4>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp"} {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    // CHECK: nn.fill {{.*}}pipe.place = 0
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}pipe.place = 0
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}pipe.place = 1
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.log {{.*}}pipe.place = 1
    %c = nn.log %b {at = #nn.at<F, "", 2>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.mul {{.*}}pipe.place = 1
    %d = nn.mul %c, %b {at = #nn.at<B, "h.1", 1>} : (tensor<4xf32, #t>, tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.mul {{.*}}pipe.place = 0
    %e = nn.mul %d, %a {at = #nn.at<B, "h.0", 0>} : (tensor<4xf32, #t>, tensor<4xf32, #t>) -> tensor<4xf32, #t>
    return
  }
}

// -----

// A heavy end takes its stage's share: of four blocks the last stage has only one.
#t = #dist.layout<a : 64, b : 64>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp"} {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : tensor<64x64xf32, #t>
    // CHECK: nn.exp {{.*}}"h.0", 0>, pipe.place = 0
    // CHECK: nn.exp {{.*}}"h.1", 1>, pipe.place = 0
    // CHECK: nn.exp {{.*}}"h.2", 2>, pipe.place = 0
    // CHECK: nn.exp {{.*}}"h.3", 3>, pipe.place = 1
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (tensor<64x64xf32, #t>) -> tensor<64x64xf32, #t>
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>} : (tensor<64x64xf32, #t>) -> tensor<64x64xf32, #t>
    %c = nn.exp %b {at = #nn.at<F, "h.2", 2>} : (tensor<64x64xf32, #t>) -> tensor<64x64xf32, #t>
    %d = nn.exp %c {at = #nn.at<F, "h.3", 3>} : (tensor<64x64xf32, #t>) -> tensor<64x64xf32, #t>
    %e = nn.exp %d {at = #nn.at<F, "", 4>} : (tensor<64x64xf32, #t>) -> tensor<64x64xf32, #t>
    %f = nn.exp %e {at = #nn.at<F, "", 4>} : (tensor<64x64xf32, #t>) -> tensor<64x64xf32, #t>
    return
  }
}

// -----

// Without a pipeline all is stage 0; an op without a place takes that of its first operand.
#t = #dist.layout<batch : 4>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : tensor<4xf32, #t>
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK: nn.log {{.*}}{at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64}
    %b = nn.log %a : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    return
  }
}

// -----

// A V of two stages has four parts, the first and the last on stage 0. What no earlier block waits for is marked: the gradients of
// parameters, but not those between the blocks of the first part; those of what is before the chain are marked again.
#t = #dist.layout<batch : 4>
!t = tensor<4xf32, #t>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", pipe.schedule = "zb_v", npar.blocks = 5 : i64, npar.micro_count = 4 : i64} {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : !t
    // CHECK: nn.exp {{.*}}"h.0", 0>, pipe.place = 0
    // CHECK-NEXT: nn.exp {{.*}}"h.1", 1>, pipe.place = 0
    // CHECK-COUNT-3: nn.exp {{.*}}"h.2", 2>, pipe.place = 1
    // CHECK-COUNT-3: nn.exp {{.*}}"h.3", 3>, pipe.place = 2
    // CHECK-COUNT-3: nn.exp {{.*}}"h.4", 4>, pipe.place = 3
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (!t) -> !t
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>} : (!t) -> !t
    %c0 = nn.exp %b {at = #nn.at<F, "h.2", 2>} : (!t) -> !t
    %c1 = nn.exp %c0 {at = #nn.at<F, "h.2", 2>} : (!t) -> !t
    %c = nn.exp %c1 {at = #nn.at<F, "h.2", 2>} : (!t) -> !t
    %d0 = nn.exp %c {at = #nn.at<F, "h.3", 3>} : (!t) -> !t
    %d1 = nn.exp %d0 {at = #nn.at<F, "h.3", 3>} : (!t) -> !t
    %d = nn.exp %d1 {at = #nn.at<F, "h.3", 3>} : (!t) -> !t
    %e0 = nn.exp %d {at = #nn.at<F, "h.4", 4>} : (!t) -> !t
    %e1 = nn.exp %e0 {at = #nn.at<F, "h.4", 4>} : (!t) -> !t
    %e = nn.exp %e1 {at = #nn.at<F, "h.4", 4>} : (!t) -> !t
    // CHECK: nn.mul {{.*}}{at = #nn.at<B, "h.1", 1>, pipe.place = 0 : i64}
    // CHECK-NEXT: nn.mul {{.*}}{at = #nn.at<B, "h.1", 1>, pipe.place = 0 : i64, pipe.weight}
    // CHECK-NEXT: nn.mul {{.*}}{at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64}
    // CHECK-NEXT: nn.mul {{.*}}{at = #nn.at<B, "", -1>, pipe.place = 0 : i64, pipe.weight}
    %db = nn.mul %e, %b {at = #nn.at<B, "h.1", 1>} : (!t, !t) -> !t
    %w = nn.mul %db, %b {at = #nn.at<B, "h.1", 1>} : (!t, !t) -> !t
    %da = nn.mul %db, %a {at = #nn.at<B, "h.0", 0>} : (!t, !t) -> !t
    %dx = nn.mul %da, %x {at = #nn.at<B, "", -1>} : (!t, !t) -> !t
    return
  }
  // CHECK: pipe.program {axis = "pp", backward = array<f64: {{.*}}>, forward = array<f64: {{.*}}>, micro_count = 4 : i64,
  // CHECK-SAME: placement = array<i64: 0, 1, 1, 0>, schedule = "zb_v", stages = 2 : i64, transfer = {{.*}} : f64, weight = array<f64: {{.*}}>}
}

// -----

// The prologue of the loss is where the loss is: after the last block.
#t = #dist.layout<batch : 4>
!i = tensor<4xi32, #t>
!x = tensor<4xf64, #t>
!s = tensor<f64, #dist.layout<>>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp"} {
  nn.variable @n.sum : !s {kind = #nn.kind<accumulator>}
  nn.variable @n : !s {kind = #nn.kind<output>, output = "n"}
  // CHECK-LABEL: func.func @count
  func.func @count() {
    // CHECK: nn.input {{.*}}pipe.place = 1
    %t = nn.input "targets" {at = #nn.at<C, "", 2>} : !i
    %1 = nn.fill 1.0 {at = #nn.at<C, "", 2>} : !x
    %v = nn.keep_valid %1, %t ignore -100 {at = #nn.at<C, "", 2>} : (!x, !i) -> !x
    %s = nn.sum %v {at = #nn.at<C, "", 2>} : (!x) -> !s
    // CHECK: nn.accumulate {{.*}}pipe.place = 1
    nn.accumulate @n.sum, %s {at = #nn.at<C, "", 2>} : !s
    return
  }
  // CHECK-LABEL: func.func @start
  func.func @start() {
    // CHECK: nn.read {{.*}}pipe.place = 1
    %s = nn.read @n.sum {at = #nn.at<P, "", 2>} : !s
    // CHECK: nn.write {{.*}}pipe.place = 1
    nn.write @n, %s {at = #nn.at<P, "", 2>} : !s
    return
  }
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : !x
    // CHECK: nn.exp {{.*}}pipe.place = 0
    // CHECK-NEXT: nn.exp {{.*}}pipe.place = 1
    // CHECK-NEXT: nn.log {{.*}}pipe.place = 1
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    %c = nn.log %b {at = #nn.at<F, "", 2>} : (!x) -> !x
    return
  }
}

// -----

// Blocks by hand: nothing is balanced; the first stage has the embedding alone, the last only what comes after.
#t = #dist.layout<batch : 4>
module attributes {dist.mesh = #dist.mesh<pp = 4>, pipe.axis = "pp", pipe.counts = array<i64: 0, 1, 2, 0>} {
  // CHECK-LABEL: pipe.counts = array<i64: 0, 1, 2, 0>
  func.func @micro() {
    // CHECK: nn.fill {{.*}}pipe.place = 0
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}"h.0", 0>, pipe.place = 1
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}"h.1", 1>, pipe.place = 2
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}"h.2", 2>, pipe.place = 2
    %c = nn.exp %b {at = #nn.at<F, "h.2", 2>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.log {{.*}}pipe.place = 3
    %d = nn.log %c {at = #nn.at<F, "", 3>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    return
  }
}

// -----

// By hand for two chunks of each stage: the counts go along the chain, whichever stage has the part.
#t = #dist.layout<batch : 4>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", pipe.schedule = "zb_v", npar.micro_count = 4 : i64,
                   pipe.counts = array<i64: 2, 1, 1, 0>} {
  // CHECK-LABEL: pipe.counts = array<i64: 2, 1, 1, 0>
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : tensor<4xf32, #t>
    // CHECK: nn.exp {{.*}}"h.0", 0>, pipe.place = 0
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}"h.1", 1>, pipe.place = 0
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}"h.2", 2>, pipe.place = 1
    %c = nn.exp %b {at = #nn.at<F, "h.2", 2>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}"h.3", 3>, pipe.place = 2
    %d = nn.exp %c {at = #nn.at<F, "h.3", 3>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.log {{.*}}pipe.place = 3
    %e = nn.log %d {at = #nn.at<F, "", 4>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    return
  }
}

// -----

// The limit of live micro-batches goes on to the program; what holds no more than it is left as it is.
// CHECK: pipe.program {{.*}}live = 2.000000e+00 : f64, micro_count = 4 : i64, schedule = "1f1b"
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", npar.blocks = 2 : i64, npar.micro_count = 4 : i64, pipe.live = 2.0 : f64} {
  func.func @micro() {
    return
  }
}

// -----

// Where nothing is trained a stage holds nothing.
// CHECK: pipe.program {{.*}}schedule = "gpipe"
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", npar.blocks = 2 : i64, npar.micro_count = 4 : i64, npar.kind = "evaluation",
                   pipe.schedule = "gpipe", pipe.live = 2.0 : f64} {
  func.func @micro() {
    return
  }
}
