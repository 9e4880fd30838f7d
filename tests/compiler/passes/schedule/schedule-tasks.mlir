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
