// What schedule-tasks refuses.
// RUN: npar-opt %s -schedule-tasks -split-input-file -verify-diagnostics

// expected-error @below {{there is no schedule '2f2b'; there are: naive, gpipe, 1f1b, interleaved}}
pipe.program {schedule = "2f2b", stages = 1 : i64, micro_count = 2 : i64}

// -----
// expected-error @below {{there is no pipe.program to schedule}}
module {
}

// -----
// The parts are where the program says, or there is no order.
// expected-error @below {{schedule 'interleaved' places the parts of the chain otherwise than the program says}}
pipe.program {schedule = "interleaved", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, placement = array<i64: 0, 1, 1, 0>}

// -----
// The backward pass reads a sum over all samples, which is complete after the last forward pass.
!v = tensor<4xf64, #dist.layout<vocab : 4>>
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 2 : i64}
nn.variable @"#total.0" : !v {kind = #nn.kind<accumulator>}
func.func @micro() {
  // expected-error @below {{a sum over all samples of a step is known after the last forward pass, but schedule '1f1b' begins with the backward pass of micro-batch 0 before the forward pass of 1 on stage 0}}
  // expected-note @below {{help: choose a schedule that has all forward passes first, such as `by gpipe`, or make 'micro' 2 times as large for a single micro-batch}}
  %t = nn.read @"#total.0" {at = #nn.at<B, "", 0>} : !v
  return
}
