// What schedule-fragments refuses.
// RUN: npar-opt %s -schedule-fragments -split-input-file -verify-diagnostics

// expected-error @below {{needs the functions @micro and @update}}
module {
}

// -----
!x = tensor<4xf32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : !x
    // expected-note @below {{the value is defined here}}
    %b = nn.exp %a {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    // expected-error @below {{a value flows to an earlier part in the forward: part 0 needs a value of part 1}}
    %c = nn.exp %b {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}

// -----
!x = tensor<4xf32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !x
    // expected-note @below {{the value is defined here}}
    %b = nn.exp %a {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    // expected-error @below {{a gradient flows to a later part: part 1 needs a value of part 0}}
    %c = nn.exp %b {pipe.place = 1, at = #nn.at<B, "h.1", 1>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}

// -----
!x = tensor<4xf32, #dist.layout<batch : 4>>
module {
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !x
    // expected-note @below {{the value is defined here}}
    %b = nn.exp %a {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    // expected-error @below {{the forward uses a value of the backward: part 0 needs a value of part 0}}
    %c = nn.exp %b {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}

// -----
!x = tensor<4xf32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 1>} {
  pipe.program {schedule = "zb_h1", stages = 1 : i64, micro_count = 1 : i64}
  pipe.order stage(0) ["F0:0", "B0:0", "W0:0", "U0"]
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !x
    // expected-note @below {{the value is defined here}}
    %b = nn.exp %a {pipe.place = 0, pipe.weight, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    // expected-error @below {{a value of the weight gradients is used outside of them: part 0 needs a value of part 0}}
    %c = nn.exp %b {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}

// -----
// expected-error @below {{there is no pipe.program to schedule}}
module {
  func.func @micro() {
    return
  }
  func.func @update() {
    return
  }
}

// -----
// The prologue sends nothing.
!x = tensor<4xf32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  func.func @count() {
    // expected-note @below {{the value is defined here}}
    %a = nn.fill 1.0 {pipe.place = 0 : i64, at = #nn.at<C, "", -1>} : !x
    // expected-error @below {{the prologue uses a value of another stage or part}}
    %b = nn.exp %a {pipe.place = 1 : i64, at = #nn.at<C, "", 2>} : (!x) -> !x
    return
  }
  func.func @micro() {
    return
  }
  func.func @update() {
    return
  }
}

// -----
!s = tensor<f64, #dist.layout<>>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  nn.variable @n : !s {kind = #nn.kind<output>, output = "n"}
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  func.func @start() {
    // expected-error @below {{the prologue counts nothing on stage 1}}
    %a = nn.fill 1.0 {pipe.place = 1 : i64, at = #nn.at<P, "", 2>} : !s
    return
  }
  func.func @micro() {
    return
  }
  func.func @update() {
    return
  }
}

// -----
// What needs a sum over all samples belongs to the backward pass, which goes from later parts to earlier ones.
!x = tensor<4xf32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  pipe.program {schedule = "gpipe", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
  nn.variable @"#total.0" : !x {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %r = nn.read @"#total.0" {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : !x
    // expected-note @below {{the value is defined here}}
    %a = nn.exp %r {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    // expected-error @below {{a later stage needs what is computed from a sum over all samples of a step, which is known only in the backward pass}}
    // expected-note @below {{help: stages can add terms to the same loss if it is a plain sum of them without a condition; otherwise make 'micro' large enough for a single micro-batch}}
    %c = nn.exp %a {pipe.place = 1, at = #nn.at<B, "h.1", 1>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}
