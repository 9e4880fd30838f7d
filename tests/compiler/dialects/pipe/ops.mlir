// Every op of the pipe dialect prints as it is read.
// RUN: npar-opt -allow-unregistered-dialect %s | npar-opt -allow-unregistered-dialect | FileCheck %s -enable-var-scope

module {
  // CHECK: pipe.program {axis = "pp", micro_count = 2 : i64, schedule = "1f1b", stages = 2 : i64}
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}

  // CHECK-LABEL: pipe.fragment @F0 stage(0) phase(F)
  pipe.fragment @F0 stage(0) phase(F) {
    // CHECK: %[[X:.*]] = "test.source"
    %x = "test.source"() : () -> tensor<4xf32>
    // CHECK: pipe.send %[[X]] to(1) event(0) : tensor<4xf32>
    pipe.send %x to(1) event(0) : tensor<4xf32>
    // CHECK: pipe.stash %[[X]] slot("s0") : tensor<4xf32>
    pipe.stash %x slot("s0") : tensor<4xf32>
  }
  // CHECK-LABEL: pipe.fragment @B0 stage(0) phase(B)
  pipe.fragment @B0 stage(0) phase(B) {
    // CHECK: pipe.unstash slot("s0") : tensor<4xf32>
    %x = pipe.unstash slot("s0") : tensor<4xf32>
    // CHECK: pipe.recv from(1) event(1) : tensor<4xf32>
    %dx = pipe.recv from(1) event(1) : tensor<4xf32>
  }
  // An empty fragment stays one.
  // CHECK: pipe.fragment @U0 stage(0) phase(U) {
  pipe.fragment @U0 stage(0) phase(U) {
  }
  // CHECK: pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "B0:1", "U0"]
  pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "B0:1", "U0"]

  // A part of the model at another place than the number of its stage; the weight gradients of a split backward.
  // CHECK-LABEL: pipe.fragment @W3 stage(0) place(3) phase(W)
  pipe.fragment @W3 stage(0) place(3) phase(W) {
  }
}
