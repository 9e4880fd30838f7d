// A sound program with transfers in all phases, both ways in the update.
// RUN: npar-opt %s -allow-unregistered-dialect -verify-pipe -split-input-file | FileCheck %s

// CHECK: pipe.program
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.send %x to(1) event(0) : tensor<4xf32>
  pipe.stash %x slot("s0") : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
  %x = pipe.recv from(1) event(1) : tensor<4xf32>
  %y = pipe.unstash slot("s0") : tensor<4xf32>
}
pipe.fragment @U0 stage(0) phase(U) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.send %x to(1) event(2) : tensor<4xf32>
  %y = pipe.recv from(1) event(3) : tensor<4xf32>
}
pipe.fragment @F1 stage(1) phase(F) {
  %x = pipe.recv from(0) event(0) : tensor<4xf32>
}
pipe.fragment @B1 stage(1) phase(B) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.send %x to(0) event(1) : tensor<4xf32>
}
pipe.fragment @U1 stage(1) phase(U) {
  %x = "test.source"() : () -> tensor<4xf32>
  %y = pipe.recv from(0) event(2) : tensor<4xf32>
  pipe.send %x to(0) event(3) : tensor<4xf32>
}
pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "B0:1", "U0"]
pipe.order stage(1) ["F1:0", "B1:0", "F1:1", "B1:1", "U1"]

// -----

// A split backward on a V: values pass between the parts of a stage through slots, one to several fragments.
// CHECK: pipe.program
pipe.program {schedule = "zb_v", axis = "pp", stages = 1 : i64, micro_count = 1 : i64, placement = array<i64: 0, 0>}
pipe.fragment @F0 stage(0) place(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.stash %x slot("s0") : tensor<4xf32>
}
pipe.fragment @B0 stage(0) place(0) phase(B) {
  %dx = pipe.unstash slot("s1") : tensor<4xf32>
}
pipe.fragment @W0 stage(0) place(0) phase(W) {
  %x = pipe.unstash slot("s0") : tensor<4xf32>
}
pipe.fragment @F1 stage(0) place(1) phase(F) {
  %x = pipe.unstash slot("s0") : tensor<4xf32>
}
pipe.fragment @B1 stage(0) place(1) phase(B) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.stash %x slot("s1") : tensor<4xf32>
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.order stage(0) ["F0:0", "F1:0", "B1:0", "B0:0", "W0:0", "U0"]

// -----

// A forward-only program: no backward, no update.
module attributes {npar.kind = "generation"} {
// CHECK: pipe.program
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 2 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.order stage(0) ["F0:0", "F0:1"]
}
