// RUN: npar-opt %s -schedule-stages -split-input-file | FileCheck %s -enable-var-scope

// Two equal blocks on two stages; what is before goes with the first stage, what is after with the last, the backward with its block.
#t = #dist.layout<batch : 4>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp"} {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    // CHECK: nn.fill {{.*}}pipe.stage = 0
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}pipe.stage = 0
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.exp {{.*}}pipe.stage = 1
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.log {{.*}}pipe.stage = 1
    %c = nn.log %b {at = #nn.at<F, "", 2>} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.mul {{.*}}pipe.stage = 1
    %d = nn.mul %c, %b {at = #nn.at<B, "h.1", 1>} : (tensor<4xf32, #t>, tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.mul {{.*}}pipe.stage = 0
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
    // CHECK: nn.exp {{.*}}"h.0", 0>, pipe.stage = 0
    // CHECK: nn.exp {{.*}}"h.1", 1>, pipe.stage = 0
    // CHECK: nn.exp {{.*}}"h.2", 2>, pipe.stage = 0
    // CHECK: nn.exp {{.*}}"h.3", 3>, pipe.stage = 1
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
    // CHECK: nn.log {{.*}}{at = #nn.at<F, "h.0", 0>, pipe.stage = 0 : i64}
    %b = nn.log %a : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    return
  }
}
