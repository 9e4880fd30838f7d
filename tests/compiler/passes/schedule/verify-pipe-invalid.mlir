// One wrong program per fact that verify-pipe checks.
// RUN: npar-opt %s -allow-unregistered-dialect -verify-pipe -split-input-file -verify-diagnostics

// V1: exactly one program.
// expected-error @below {{V1: there are 0 pipe.program operations; there must be one}}
module {
}

// -----
// V1: one fragment per stage and phase.
// expected-error @below {{V1: stage 0 has no fragment of phase U}}
// expected-error @below {{V4: stage 0 has no order}}
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}

// -----
// V1: not two.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V1: stage 0 has two fragments of phase F: 'F0' and 'F1'}}
pipe.fragment @F1 stage(0) phase(F) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]

// -----
// V1: no stage beyond.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V1: there is no stage 3; there are 1}}
pipe.fragment @F3 stage(3) phase(F) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]

// -----
// V2: a send without a recv.
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{V2: event 7 is never received}}
  pipe.send %x to(1) event(7) : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) phase(F) {
}
pipe.fragment @B1 stage(1) phase(B) {
}
pipe.fragment @U1 stage(1) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]
pipe.order stage(1) ["F1:0", "B1:0", "U1"]

// -----
// V2: a recv without a send.
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) phase(F) {
  // expected-error @below {{V2: event 7 is never sent}}
  %x = pipe.recv from(0) event(7) : tensor<4xf32>
}
pipe.fragment @B1 stage(1) phase(B) {
}
pipe.fragment @U1 stage(1) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]
pipe.order stage(1) ["F1:0", "B1:0", "U1"]

// -----
// V2: an event twice.
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.send %x to(1) event(7) : tensor<4xf32>
  // expected-error @below {{V2: event 7 is sent twice}}
  pipe.send %x to(1) event(7) : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) phase(F) {
  %x = pipe.recv from(0) event(7) : tensor<4xf32>
  // expected-error @below {{V2: event 7 is received twice}}
  %y = pipe.recv from(0) event(7) : tensor<4xf32>
}
pipe.fragment @B1 stage(1) phase(B) {
}
pipe.fragment @U1 stage(1) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]
pipe.order stage(1) ["F1:0", "B1:0", "U1"]

// -----
// V2: other types.
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{V2: event 7 is sent as 'tensor<4xf32>' and received as 'tensor<5xf32>'}}
  pipe.send %x to(1) event(7) : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) phase(F) {
  %x = pipe.recv from(0) event(7) : tensor<5xf32>
}
pipe.fragment @B1 stage(1) phase(B) {
}
pipe.fragment @U1 stage(1) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]
pipe.order stage(1) ["F1:0", "B1:0", "U1"]

// -----
// V2: other phases.
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{V2: event 7 is sent in phase F and received in phase B}}
  pipe.send %x to(1) event(7) : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) phase(F) {
}
pipe.fragment @B1 stage(1) phase(B) {
  %x = pipe.recv from(0) event(7) : tensor<4xf32>
}
pipe.fragment @U1 stage(1) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]
pipe.order stage(1) ["F1:0", "B1:0", "U1"]

// -----
// V2: another stage.
pipe.program {schedule = "1f1b", axis = "pp", stages = 3 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{V2: event 7 goes from stage 0 to 1 but is received on stage 2 from 1}}
  pipe.send %x to(1) event(7) : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) phase(F) {
}
pipe.fragment @B1 stage(1) phase(B) {
}
pipe.fragment @U1 stage(1) phase(U) {
}
pipe.fragment @F2 stage(2) phase(F) {
  %x = pipe.recv from(1) event(7) : tensor<4xf32>
}
pipe.fragment @B2 stage(2) phase(B) {
}
pipe.fragment @U2 stage(2) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]
pipe.order stage(1) ["F1:0", "B1:0", "U1"]
pipe.order stage(2) ["F2:0", "B2:0", "U2"]

// -----
// V3: stashed and never taken, and the reverse.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{V3: slot 'a' is never unstashed}}
  pipe.stash %x slot("a") : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
  // expected-error @below {{V3: slot 'b' is never stashed}}
  %x = pipe.unstash slot("b") : tensor<4xf32>
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]

// -----
// V3: stashed twice, with another type.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.stash %x slot("a") : tensor<4xf32>
  // expected-error @below {{V3: slot 'a' is stashed twice}}
  pipe.stash %x slot("a") : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
  // expected-error @below {{V3: slot 'a' is stashed as 'tensor<4xf32>' and unstashed as 'tensor<5xf32>'}}
  %x = pipe.unstash slot("a") : tensor<5xf32>
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]

// -----
// V4: an order per stage.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]
// expected-error @below {{V4: stage 0 has two orders}}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]

// -----
// V4: missing, doubled, foreign tasks.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V4: the task of 'F0' for micro-batch 0 appears twice}}
// expected-error @below {{V4: stage 0 has no fragment 'X'}}
// expected-error @below {{V4: the task of 'B0' for micro-batch 0 is missing}}
pipe.order stage(0) ["F0:0", "F0:0", "X:0", "U0"]

// -----
// V4: micro-batches that do not exist, an update per micro-batch.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V4: 'F0' runs once for each of 1 micro-batches}}
// expected-error @below {{V4: 'U0' runs once, not for 1 micro-batches}}
pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "U0:0"]

// -----
// V4: the update is last.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V4: the update comes before 'B0'}}
pipe.order stage(0) ["F0:0", "U0", "B0:0"]

// -----
// V5: a backward before its forward.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V5: task "B0:0" never starts: what it needs is ordered after it}}
pipe.order stage(0) ["B0:0", "F0:0", "U0"]

// -----
// V5: two stages that wait for each other.
pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
pipe.fragment @F0 stage(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.send %x to(1) event(0) : tensor<4xf32>
}
pipe.fragment @B0 stage(0) phase(B) {
  %x = pipe.recv from(1) event(1) : tensor<4xf32>
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) phase(F) {
  %x = pipe.recv from(0) event(0) : tensor<4xf32>
}
pipe.fragment @B1 stage(1) phase(B) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.send %x to(0) event(1) : tensor<4xf32>
}
pipe.fragment @U1 stage(1) phase(U) {
}
// expected-error @below {{V5: task "B0:0" never starts}}
pipe.order stage(0) ["F0:0", "B0:0", "F0:1", "B0:1", "U0"]
// expected-error @below {{V5: task "F1:1" never starts}}
pipe.order stage(1) ["F1:0", "F1:1", "B1:0", "B1:1", "U1"]

// -----
// V1: a part is on the stage that the program says.
pipe.program {schedule = "v", axis = "pp", stages = 2 : i64, micro_count = 1 : i64, placement = array<i64: 0, 1, 1, 0>}
pipe.fragment @F0 stage(0) place(0) phase(F) {
}
pipe.fragment @B0 stage(0) place(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.fragment @F1 stage(1) place(1) phase(F) {
}
pipe.fragment @B1 stage(1) place(1) phase(B) {
}
pipe.fragment @U1 stage(1) phase(U) {
}
// expected-error @below {{V1: 'F2' is on stage 0, but part 2 is on stage 1}}
pipe.fragment @F2 stage(0) place(2) phase(F) {
}
pipe.fragment @B2 stage(1) place(2) phase(B) {
}
pipe.fragment @F3 stage(0) place(3) phase(F) {
}
pipe.fragment @B3 stage(0) place(3) phase(B) {
}
// expected-error @below {{V1: there is no part 4; there are 4}}
pipe.fragment @W4 stage(0) place(4) phase(W) {
}
pipe.order stage(0) ["F0:0", "F3:0", "B3:0", "B0:0", "F2:0", "U0"]
// expected-error @below {{V4: stage 1 has no fragment 'F2'}}
pipe.order stage(1) ["F1:0", "F2:0", "B2:0", "B1:0", "U1"]

// -----
// V3: a slot is for another fragment. V4: the W task of each micro-batch.
pipe.program {schedule = "zb_h1", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.stash %x slot("a") : tensor<4xf32>
  // expected-error @below {{V3: slot 'a' is stashed and unstashed in the same fragment}}
  %y = pipe.unstash slot("a") : tensor<4xf32>
}
pipe.fragment @W0 stage(0) phase(W) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V4: the task of 'W0' for micro-batch 0 is missing}}
pipe.order stage(0) ["F0:0", "B0:0", "U0"]

// -----
// V5: W before its B.
pipe.program {schedule = "zb_h1", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @W0 stage(0) phase(W) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V5: task "W0:0" never starts: what it needs is ordered after it}}
pipe.order stage(0) ["F0:0", "W0:0", "B0:0", "U0"]

// -----
// V5: between two parts of a stage a value passes through a slot, so their order matters.
pipe.program {schedule = "v", axis = "pp", stages = 1 : i64, micro_count = 1 : i64, placement = array<i64: 0, 0>}
pipe.fragment @F0 stage(0) place(0) phase(F) {
  %x = "test.source"() : () -> tensor<4xf32>
  pipe.stash %x slot("a") : tensor<4xf32>
}
pipe.fragment @B0 stage(0) place(0) phase(B) {
}
pipe.fragment @F1 stage(0) place(1) phase(F) {
  %x = pipe.unstash slot("a") : tensor<4xf32>
}
pipe.fragment @B1 stage(0) place(1) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V5: task "F1:0" never starts: what it needs is ordered after it}}
pipe.order stage(0) ["F1:0", "F0:0", "B1:0", "B0:0", "U0"]

// -----
// V6: gradients accumulate in ascending order.
pipe.program {schedule = "zb_h1", stages = 1 : i64, micro_count = 2 : i64}
nn.variable @w.grad.0 : tensor<4xf32, #dist.layout<batch : 4>> {kind = #nn.kind<accumulator>}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @W0 stage(0) phase(W) {
  %x = nn.fill 1.0 : tensor<4xf32, #dist.layout<batch : 4>>
  nn.accumulate @w.grad.0, %x : tensor<4xf32, #dist.layout<batch : 4>>
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V6: 'W0' accumulates micro-batch 0 after 1: sums must be in ascending order of micro-batches}}
pipe.order stage(0) ["F0:0", "F0:1", "B0:1", "B0:0", "W0:1", "W0:0", "U0"]

// -----
// V7: the prologue comes first, C before S.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 2 : i64}
pipe.fragment @C0 stage(0) phase(C) {
}
pipe.fragment @S0 stage(0) phase(P) {
}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V7: 'C0:1' of the prologue comes after 'S0'}}
pipe.order stage(0) ["C0:0", "S0", "C0:1", "F0:0", "B0:0", "F0:1", "B0:1", "U0"]

// -----
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @C0 stage(0) phase(C) {
}
pipe.fragment @S0 stage(0) phase(P) {
}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V7: 'S0' of the prologue comes after 'F0:0'}}
pipe.order stage(0) ["C0:0", "F0:0", "S0", "B0:0", "U0"]

// -----
// V8: only a forward and a backward of two micro-batches run at the same time, and no third task with them.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 3 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V8: '+F0:0' must follow a task that it can overlap: one is a forward, the other a backward of another micro-batch, and no third task overlaps them}}
// expected-error @below {{V8: '+F0:1' must follow a task that it can overlap}}
// expected-error @below {{V8: '+B0:1' must follow a task that it can overlap}}
// expected-error @below {{V8: '+U0' must follow a task that it can overlap}}
pipe.order stage(0) ["+F0:0", "+F0:1", "+B0:1", "F0:2", "+B0:0", "B0:2", "+U0"]

// -----
// V4: of the prologue's counts none may be missing.
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 2 : i64}
pipe.fragment @C0 stage(0) phase(C) {
}
pipe.fragment @F0 stage(0) phase(F) {
}
pipe.fragment @B0 stage(0) phase(B) {
}
pipe.fragment @U0 stage(0) phase(U) {
}
// expected-error @below {{V4: the task of 'C0' for micro-batch 1 is missing}}
pipe.order stage(0) ["C0:0", "F0:0", "B0:0", "F0:1", "B0:1", "U0"]

// -----
// V1: a forward-only program has no other phase.
module attributes {npar.kind = "evaluation"} {
pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
pipe.fragment @F0 stage(0) phase(F) {
}
// expected-error @below {{V1: 'U0' is of phase U, which a forward-only program does not have}}
pipe.fragment @U0 stage(0) phase(U) {
}
pipe.order stage(0) ["F0:0", "U0"]
}
