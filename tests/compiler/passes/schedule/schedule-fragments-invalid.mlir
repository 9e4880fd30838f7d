// What schedule-fragments refuses.
// RUN: npar-opt %s -schedule-fragments -split-input-file -verify-diagnostics

// expected-error @below {{needs the functions @micro and @update}}
module {
}

// -----
!x = tensor<4xf32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp"} {
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.stage = 1, at = #nn.at<F, "h.1", 1>} : !x
    // expected-note @below {{the value is defined here}}
    %b = nn.exp %a {pipe.stage = 1, at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    // expected-error @below {{a value flows to an earlier stage in the forward: stage 0 needs a value of stage 1}}
    %c = nn.exp %b {pipe.stage = 0, at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}

// -----
!x = tensor<4xf32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp"} {
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.stage = 0, at = #nn.at<F, "h.0", 0>} : !x
    // expected-note @below {{the value is defined here}}
    %b = nn.exp %a {pipe.stage = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    // expected-error @below {{a gradient flows to a later stage: stage 1 needs a value of stage 0}}
    %c = nn.exp %b {pipe.stage = 1, at = #nn.at<B, "h.1", 1>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}

// -----
!x = tensor<4xf32, #dist.layout<batch : 4>>
module {
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.stage = 0, at = #nn.at<F, "h.0", 0>} : !x
    // expected-note @below {{the value is defined here}}
    %b = nn.exp %a {pipe.stage = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    // expected-error @below {{the forward uses a value of the backward: stage 0 needs a value of stage 0}}
    %c = nn.exp %b {pipe.stage = 0, at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}
