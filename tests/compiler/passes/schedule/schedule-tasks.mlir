// RUN: npar-opt %s -schedule-tasks -split-input-file | FileCheck %s

// Backwards as early as they can; the update last.
// CHECK: pipe.program
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 3 : i64}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "F0:2", "B0:1", "B0:2", "U0"]
// CHECK-NEXT: pipe.order stage(1) ["F1:0", "B1:0", "F1:1", "B1:1", "F1:2", "B1:2", "U1"]

// -----

// Backwards after all forwards.
// CHECK: pipe.program
pipe.program {schedule = "gpipe", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "B0:1", "U0"]
// CHECK-NEXT: pipe.order stage(1) ["F1:0", "F1:1", "B1:0", "B1:1", "U1"]

// -----

// One stage without a pipeline.
// CHECK: pipe.program
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 2 : i64}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "B0:0", "F0:1", "B0:1", "U0"]

// -----

// Split backwards have W tasks; two parts per stage are told apart by their places in the chain.
// CHECK: pipe.program
pipe.program {schedule = "zb_h1", axis = "pp", stages = 2 : i64, micro_count = 3 : i64}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "W0:0", "F0:2", "B0:1", "W0:1", "B0:2", "W0:2", "U0"]
// CHECK-NEXT: pipe.order stage(1) ["F1:0", "B1:0",

// -----

// CHECK: pipe.program
pipe.program {schedule = "interleaved", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, placement = array<i64: 0, 1, 0, 1>}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "F2:0", "F2:1", "B2:0", "B2:1", "B0:0", "B0:1", "U0"]
// CHECK-NEXT: pipe.order stage(1) ["F1:0", "F1:1", "F3:0", "B3:0", "F3:1", "B3:1", "B1:0", "B1:1", "U1"]

// -----

// A schedule from a file that splits one backward (I and W) and leaves the other whole (B): the whole one is B and W, one after the other.
// CHECK: pipe.program
pipe.program {schedule = "mine.csv", stages = 1 : i64, micro_count = 2 : i64, text = "0F0,0F1,0I0,0W0,0B1\0A"}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "W0:0", "B0:1", "W0:1", "U0"]

// -----

// Two tasks that overlap: '+' marks the second. The W of a whole backward that another task overlaps follows both. A pair of one micro-batch
// is two tasks, one after the other.
// CHECK: pipe.program
pipe.program {schedule = "mine.csv", stages = 1 : i64, micro_count = 3 : i64, text = "0F0,(0F1;0I0)OVERLAP_F_B,0W0,(0B1;0F2)OVERLAP_F_B,0B2\0A"}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "+B0:0", "W0:0", "B0:1", "+F0:2", "W0:1", "B0:2", "W0:2", "U0"]

// -----

// CHECK: pipe.program
pipe.program {schedule = "mine.csv", stages = 1 : i64, micro_count = 1 : i64, text = "(0F0;0B0)OVERLAP_F_B\0A"}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "B0:0", "U0"]

// -----

// The part that counts does so for all micro-batches before its first forward; then its stage adds them up. Here the last part is on the
// first stage.
!i = tensor<4xi32, #dist.layout<batch : 4>>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  // CHECK: pipe.program
  pipe.program {schedule = "zb_v", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, placement = array<i64: 0, 1, 1, 0>}
  func.func @count() {
    %t = nn.input "targets" {pipe.place = 3 : i64, at = #nn.at<C, "", 4>} : !i
    return
  }
  // CHECK: pipe.order stage(0) ["C3:0", "C3:1", "S0", "F0:0",
  // CHECK-NEXT: pipe.order stage(1) ["F1:0",
}

// -----

// Where nothing is trained the forwards are left, in their order.
module attributes {npar.kind = "evaluation"} {
// CHECK: pipe.program
pipe.program {schedule = "interleaved", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, placement = array<i64: 0, 1, 0, 1>}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "F2:0", "F2:1"]
// CHECK-NEXT: pipe.order stage(1) ["F1:0", "F1:1", "F3:0", "F3:1"]
}

// -----

// Forwards until the first gradient is there, as far as the limit goes.
// CHECK: pipe.program
pipe.program {schedule = "backward_first", axis = "pp", stages = 2 : i64, micro_count = 5 : i64}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "F0:2", "F0:3", "B0:0",
// CHECK-NEXT: pipe.order stage(1) ["F1:0", "B1:0", "F1:1", "B1:1",

// -----

// CHECK: pipe.program
pipe.program {schedule = "backward_first", axis = "pp", stages = 2 : i64, micro_count = 5 : i64, live = 3.0 : f64}
// CHECK-NEXT: pipe.order stage(0) ["F0:0", "F0:1", "F0:2", "B0:0",
