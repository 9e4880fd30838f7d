// What the verifiers of single pipe ops refuse.
// RUN: npar-opt %s -allow-unregistered-dialect -split-input-file -verify-diagnostics

// expected-error @below {{has 0 stages; there is at least one}}
pipe.program {schedule = "1f1b", axis = "pp", stages = 0 : i64, micro_count = 2 : i64}

// -----
// expected-error @below {{has 0 micro-batches; there is at least one}}
pipe.program {schedule = "1f1b", axis = "pp", stages = 1 : i64, micro_count = 0 : i64}

// -----
// expected-error @below {{has 2 stages but no mesh axis}}
pipe.program {schedule = "1f1b", stages = 2 : i64, micro_count = 1 : i64}

// -----
// expected-error @below {{attribute 'stage' failed to satisfy constraint}}
pipe.fragment @F0 stage(-1) phase(F) {
}

// -----
pipe.fragment @F0 stage(1) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{goes to its own stage 1}}
  pipe.send %x to(1) event(0) : tensor<4xf32>
}

// -----
pipe.fragment @F0 stage(1) phase(F) {
  // expected-error @below {{comes from its own stage 1}}
  %x = pipe.recv from(1) event(0) : tensor<4xf32>
}

// -----
pipe.fragment @U0 stage(0) phase(U) {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{is for fragments of a micro-batch, but its fragment has phase U}}
  pipe.stash %x slot("s0") : tensor<4xf32>
}

// -----
pipe.fragment @U0 stage(0) phase(U) {
  // expected-error @below {{is for fragments of a micro-batch, but its fragment has phase U}}
  %x = pipe.unstash slot("s0") : tensor<4xf32>
}

// -----
// expected-error @below {{has a part of the chain on stage 2; there are 2 stages}}
pipe.program {schedule = "zb_v", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, placement = array<i64: 0, 1, 2, 0>}

// -----
// expected-error @below {{has 3 of the chain's 4 parts on stage 0; every stage has as many}}
pipe.program {schedule = "zb_v", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, placement = array<i64: 0, 1, 0, 0>}

// -----
// expected-error @below {{has costs of 1 stages; there are 2}}
pipe.program {schedule = "zb_v", axis = "pp", stages = 2 : i64, micro_count = 2 : i64, weight = array<f64: 1.0>}

// -----
// expected-error @below {{'pipe.recv' op expects parent op 'pipe.fragment'}}
%x = pipe.recv from(1) event(0) : tensor<4xf32>

// -----
// expected-error @below {{has the entry 'F0:x', which is no task; write 'FRAGMENT:MICRO', '+FRAGMENT:MICRO' or 'FRAGMENT'}}
pipe.order stage(0) ["F0:0", "F0:x"]

// -----
%x = "test.source"() : () -> tensor<4xf32>
// expected-note @below {{required by region isolation constraints}}
pipe.fragment @F0 stage(0) phase(F) {
  // expected-error @below {{using value defined outside the region}}
  pipe.stash %x slot("s0") : tensor<4xf32>
}

// -----
// expected-error @+2 {{'S' is none of P, C, F, B, W, U}}
// expected-error @+1 {{failed to parse Pipe_PhaseAttr parameter}}
pipe.fragment @F0 stage(0) phase(S) {
}
