// What schedule-tasks refuses.
// RUN: npar-opt %s -schedule-tasks -split-input-file -verify-diagnostics

// expected-error @below {{there is no schedule '2f2b'; there are: naive, gpipe, 1f1b, interleaved,}}
pipe.program {schedule = "2f2b", stages = 1 : i64, micro_count = 2 : i64}

// -----
// expected-error @below {{there is no pipe.program to schedule}}
module {
}
