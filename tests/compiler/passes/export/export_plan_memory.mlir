// RUN: npar-opt %s --export-plan-memory | FileCheck %s
// RUN: npar-opt %s --export-plan-memory | npar-opt | FileCheck %s

// Two stages of one product each. The stash, the boxes and the accumulation have their own storage; what is written to a variable is
// written there; each step waits for exactly those with which it shares memory.

#w = #dist.layout<embed : 16, out : 16>
#x = #dist.layout<batch : 8 {dp}, embed : 16>
#g = #dist.layout<embed : 16, out : 16, partial = {dp : sum}>

module attributes {npar.model = "Two", npar.plan = "p", npar.batch = 16 : i64, npar.micro_count = 2 : i64, npar.seed = 1 : i64,
                   dist.mesh = #dist.mesh<dp = 2, pp = 2>, pipe.schedule = "1f1b", pipe.axis = "pp"} {
  nn.variable @w0 : tensor<16x16xf32, #w> {kind = #nn.kind<parameter>, stages = [0], stored = [16, 16], init = #nn.init<ones>, index = 0 : i64}
  nn.variable @w1 : tensor<16x16xf32, #w> {kind = #nn.kind<parameter>, stages = [1], stored = [16, 16], init = #nn.init<ones>, index = 1 : i64}
  nn.variable @w0.grad.0 : tensor<16x16xf32, #g> {kind = #nn.kind<accumulator>, of = @w0, use = 0 : i64, stages = [0]}
  nn.variable @w1.grad.0 : tensor<16x16xf32, #g> {kind = #nn.kind<accumulator>, of = @w1, use = 0 : i64, stages = [1]}

  rank.kernel @fill attributes {extent = 4 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<4x16xf32, #x>
    rank.yield %0 : tensor<4x16xf32, #x>
  }
  rank.kernel @relu attributes {extent = 4 : i64, flops = 1.0 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%x: tensor<4x16xf32, #x>):
    %0 = nn.relu %x : (tensor<4x16xf32, #x>) -> tensor<4x16xf32, #x>
    rank.yield %0 : tensor<4x16xf32, #x>
  }
  rank.kernel @sgd attributes {extent = 16 : i64, flops = 1.0 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%w: tensor<16x16xf32, #w>, %g: tensor<16x16xf32, #w>):
    %0 = nn.sub %w, %g : (tensor<16x16xf32, #w>, tensor<16x16xf32, #w>) -> tensor<16x16xf32, #w>
    rank.yield %0 : tensor<16x16xf32, #w>
  }

  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<4x16xf32, #x>
    %w = nn.read @w0 : tensor<16x16xf32, #w>
    %y = rank.matmul %x, %w {batch = array<i64>, m = 4 : i64, n = 16 : i64, k = 16 : i64, a = array<i64: 16, 1>, b = array<i64: 16, 1>,
        c = array<i64: 16, 1>} : (tensor<4x16xf32, #x>, tensor<16x16xf32, #w>) -> tensor<4x16xf32, #x>
    %z = rank.launch @relu(%y) : (tensor<4x16xf32, #x>) -> tensor<4x16xf32, #x>
    pipe.stash %x slot("s0") : tensor<4x16xf32, #x>
    pipe.send %z to(1) event(0) : tensor<4x16xf32, #x>
  }
  pipe.fragment @B0 stage(0) phase(B) {
    %d = pipe.recv from(1) event(1) : tensor<4x16xf32, #x>
    %x = pipe.unstash slot("s0") : tensor<4x16xf32, #x>
    %a = nn.read @w0.grad.0 : tensor<16x16xf32, #g>
    %b = rank.matmul %x, %d accumulate %a {batch = array<i64>, m = 16 : i64, n = 16 : i64, k = 4 : i64, a = array<i64: 1, 16>,
        b = array<i64: 16, 1>, c = array<i64: 16, 1>} : (tensor<4x16xf32, #x>, tensor<4x16xf32, #x>, tensor<16x16xf32, #g>) -> tensor<16x16xf32, #g>
    nn.write @w0.grad.0, %b : tensor<16x16xf32, #g>
  }
  pipe.fragment @U0 stage(0) phase(U) {
    %a = nn.read @w0.grad.0 : tensor<16x16xf32, #g>
    %g = dist.all_reduce %a {axes = ["dp"], cause = "because", dist.rule = [loc("batch -> dp"("p.npar":3:5))], op = "sum"} : tensor<16x16xf32, #g> -> tensor<16x16xf32, #w>
    %w = nn.read @w0 : tensor<16x16xf32, #w>
    %n = rank.launch @sgd(%w, %g) : (tensor<16x16xf32, #w>, tensor<16x16xf32, #w>) -> tensor<16x16xf32, #w>
    nn.write @w0, %n : tensor<16x16xf32, #w>
  }
  pipe.fragment @F1 stage(1) phase(F) {
    %x = pipe.recv from(0) event(0) : tensor<4x16xf32, #x>
    pipe.stash %x slot("s0") : tensor<4x16xf32, #x>
  }
  pipe.fragment @B1 stage(1) phase(B) {
    %x = pipe.unstash slot("s0") : tensor<4x16xf32, #x>
    %w = nn.read @w1 : tensor<16x16xf32, #w>
    %d = rank.matmul %x, %w {batch = array<i64>, m = 4 : i64, n = 16 : i64, k = 16 : i64, a = array<i64: 16, 1>, b = array<i64: 1, 16>,
        c = array<i64: 16, 1>} : (tensor<4x16xf32, #x>, tensor<16x16xf32, #w>) -> tensor<4x16xf32, #x>
    pipe.send %d to(0) event(1) : tensor<4x16xf32, #x>
    %a = nn.read @w1.grad.0 : tensor<16x16xf32, #g>
    %b = rank.matmul %x, %d accumulate %a {batch = array<i64>, m = 16 : i64, n = 16 : i64, k = 4 : i64, a = array<i64: 1, 16>,
        b = array<i64: 16, 1>, c = array<i64: 16, 1>} : (tensor<4x16xf32, #x>, tensor<4x16xf32, #x>, tensor<16x16xf32, #g>) -> tensor<16x16xf32, #g>
    nn.write @w1.grad.0, %b : tensor<16x16xf32, #g>
  }
  pipe.fragment @U1 stage(1) phase(U) {
    %a = nn.read @w1.grad.0 : tensor<16x16xf32, #g>
    %g = dist.all_reduce %a {axes = ["dp"], op = "sum"} : tensor<16x16xf32, #g> -> tensor<16x16xf32, #w>
    %w = nn.read @w1 : tensor<16x16xf32, #w>
    %n = rank.launch @sgd(%w, %g) : (tensor<16x16xf32, #w>, tensor<16x16xf32, #w>) -> tensor<16x16xf32, #w>
    nn.write @w1, %n : tensor<16x16xf32, #w>
  }
  pipe.order stage(0) ["F0:0", "F0:1", "B0:0", "B0:1", "U0"]
  pipe.order stage(1) ["F1:0", "B1:0", "F1:1", "B1:1", "U1"]
}

// The fill is stashed where it is made, the relu works where its result is sent from, nothing is copied.
// CHECK: #[[$LINE:.*]] = loc("p.npar":3:5)
// CHECK: #[[$RULE:.*]] = loc("batch -> dp"(#[[$LINE]]))
// CHECK-LABEL: rank.program @stage0 stage(0) arena(3840) fixed {pp = 0 : i64}
// CHECK-SAME: activations = 1792 : i64, gradients = 1024 : i64, optimizer = 0 : i64, parameters = 1024 : i64, workspace = 0 : i64
// CHECK-NEXT: rank.region "static" bytes(2048) slots(1) offset(0)
// CHECK-NEXT: rank.region "scratch" bytes(256) slots(1) offset(2048)
// CHECK-NEXT: rank.region "input" bytes(0) slots(2) offset(2304)
// CHECK-NEXT: rank.region "stash_F0_B0" bytes(256) slots(2) offset(2304)
// CHECK-NEXT: rank.region "outbox0" bytes(256) slots(2) offset(2816)
// CHECK-NEXT: rank.region "inbox1" bytes(256) slots(2) offset(3328)
// CHECK-NEXT: rank.variable @w0 offset(0) bytes(1024) owner
// CHECK-NEXT: rank.variable @w0.grad.0 offset(1024) bytes(1024) owner
// CHECK-NEXT: rank.fragment "P0" phase(P)
// CHECK-NEXT: rank.step zero "zero w0.grad.0" () -> (static[1024, 1024]) after []
// CHECK:      rank.fragment "F0" phase(F)
// CHECK-NEXT: rank.step kernel "fill" () -> (stash_F0_B0[0, 256]) after []
// CHECK-NEXT: rank.step matmul "matmul" (stash_F0_B0[0, 256], static[0, 1024]) -> (scratch[0, 256]) after [0]
// CHECK-NEXT: rank.step kernel "relu" (scratch[0, 256]) -> (outbox0[0, 256]) after [1] does {kernel = @relu}
// CHECK-NEXT: rank.step send "send" (outbox0[0, 256]) -> () after [2]
// CHECK:      rank.fragment "B0" phase(B)
// CHECK-NEXT: rank.step receive "receive" () -> (inbox1[0, 256]) after []
// CHECK-NEXT: rank.step matmul "matmul" (stash_F0_B0[0, 256], inbox1[0, 256]) -> (static[1024, 1024]) after [0] does {a = array<i64: 1, 16>, accumulate
// CHECK:      rank.fragment "U0" phase(U)
// CHECK-NEXT: rank.step collective "all_reduce" (static[1024, 1024]) -> (static[1024, 1024]) after []
// CHECK-SAME: cause = "because"{{.*}} from = "embed : 16, out : 16, partial = {dp : sum}"
// CHECK-SAME: rules = [#[[$RULE]]], to = "embed : 16, out : 16"
// CHECK-NEXT: rank.step kernel "sgd" (static[0, 1024], static[1024, 1024]) -> (static[0, 1024]) after [0]
// CHECK:      rank.task "P0" micro(0)
// CHECK-NEXT: rank.task "F0" micro(0) bases [0, 2048, 2304, 2304, 2816, 3328]
// CHECK-NEXT: rank.task "F0" micro(1) bases [0, 2048, 2304, 2560, 3072, 3328]
// CHECK:      rank.communicate [1, 3, 2, 3, 3, 0, 4, 0, 5, 0]

// What stage 1 receives and keeps for the backward stays in its box.
// CHECK-LABEL: rank.program @stage1 stage(1)
// CHECK:      rank.fragment "F1" phase(F)
// CHECK-NEXT: rank.step receive "receive" () -> (inbox0[0, 256])
// CHECK:      rank.fragment "B1" phase(B)
// CHECK-NEXT: rank.step matmul "matmul" (inbox0[0, 256], static[0, 1024]) -> (outbox1[0, 256]) after []
// CHECK-NEXT: rank.step send "send" (outbox1[0, 256]) -> () after [0]
// CHECK-NOT:  rank.step copy
// CHECK:      rank.communicate
