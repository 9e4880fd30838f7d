// RUN: npar-opt %s --export-program | FileCheck %s

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
    %g = dist.all_reduce %a {axes = ["dp"], cause = #dist.cause<kind = adds_owned, operation = "square_sums">, dist.rule = [loc("batch -> dp"("p.npar":3:5))], op = "sum"} : tensor<16x16xf32, #g> -> tensor<16x16xf32, #w>
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

// CHECK: program Two, plan p
// CHECK-NEXT: 4 ranks: dp = 2, pp = 2
// CHECK-NEXT: batch 16, 2 micro-batches of 8
// CHECK-NEXT: 512 parameters, computes in f32, seed 1, 2 stages by 1f1b
// CHECK: variables
// CHECK-NEXT: w0: parameter f32 [embed 16, out 16], stored [16, 16], ones
// CHECK: w0.grad.0: accumulator f32 [embed 16, out 16], stored [16, 16], zeros of w0 use 0
// CHECK: kernels
// CHECK-NEXT: fill: extent 4, 1 flops

// The fill is stashed where it is made, the relu works where its result is sent from, nothing is copied.
// CHECK-LABEL: class stage0 at pp = 0: ranks 0, 2
// CHECK: arena 3840 bytes (3.75 KiB): parameters 1024, gradients 1024, optimizer 0, activations 1792
// CHECK-NEXT: static: 1 x 2048 bytes at 0
// CHECK-NEXT: scratch: 1 x 256 bytes at 2048
// CHECK-NEXT: stash_F0_B0: 2 x 256 bytes at 2304
// CHECK-NEXT: outbox0: 2 x 256 bytes at 2816
// CHECK-NEXT: inbox1: 2 x 256 bytes at 3328
// CHECK-NEXT: static[0, 1024] w0 [embed 16, out 16] owner
// CHECK-NEXT: static[1024, 1024] w0.grad.0 [embed 16, out 16] owner
// CHECK: fragment P0: prologue
// CHECK-NEXT: 0: zero () -> (static[1024, 1024])  # zero w0.grad.0
// CHECK: fragment F0: forward
// CHECK-NEXT: 0: kernel fill () -> (stash_F0_B0[0, 256])  # fill
// CHECK-NEXT: 1: matmul 4 x 16 x 16 (stash_F0_B0[0, 256], static[0, 1024]) -> (scratch[0, 256]) after 0  # matmul {{.*}}, f32, a [16, 1], b [16, 1], c [16, 1]
// CHECK-NEXT: 2: kernel relu (scratch[0, 256]) -> (outbox0[0, 256]) after 1  # relu
// CHECK-NEXT: 3: send 64 elements to pp = 1 event 0 (outbox0[0, 256]) -> () after 2  # send {{.*}}, f32
// CHECK: fragment B0: backward
// CHECK-NEXT: 0: receive 64 elements from pp = 1 event 1 () -> (inbox1[0, 256])  # receive
// CHECK-NEXT: 1: matmul 16 x 16 x 4 accumulate (stash_F0_B0[0, 256], inbox1[0, 256]) -> (static[1024, 1024]) after 0  # matmul {{.*}}, a [1, 16], b [16, 1], c [16, 1]
// CHECK: fragment U0: update
// CHECK-NEXT: 0: all_reduce 256 elements over dp (static[1024, 1024]) -> (static[1024, 1024])  # all_reduce
// CHECK-SAME: sum of f32, event 0, [1, 1, 1] {embed : 16, out : 16, partial = {dp : sum}} -> {embed : 16, out : 16}
// CHECK-SAME: because 'square_sums' adds what each rank owns, rule 'batch -> dp' at p.npar:3
// CHECK-NEXT: 1: kernel sgd (static[0, 1024], static[1024, 1024]) -> (static[0, 1024]) after 0
// CHECK: tasks
// CHECK-NEXT: 0: P0  stash_F0_B0 0  outbox0 0  inbox1 0  # begin
// CHECK-NEXT: 1: F0:0  stash_F0_B0 0  outbox0 0  inbox1 0  # begin
// CHECK-NEXT: 2: F0:1  stash_F0_B0 1  outbox0 1  inbox1 0  # begin
// CHECK: communication in this order
// CHECK-NEXT: F0:0 step 3: send 64 elements to pp = 1 event 0
// CHECK-NEXT: F0:1 step 3: send
// CHECK-NEXT: B0:0 step 0: receive
// CHECK-NEXT: B0:1 step 0: receive
// CHECK-NEXT: U0 step 0: all_reduce

// What stage 1 receives and keeps for the backward stays in its box.
// CHECK-LABEL: class stage1 at pp = 1: ranks 1, 3
// CHECK: fragment F1: forward
// CHECK-NEXT: 0: receive 64 elements from pp = 0 event 0 () -> (inbox0[0, 256])
// CHECK: fragment B1: backward
// CHECK-NEXT: 0: matmul 4 x 16 x 16 (inbox0[0, 256], static[0, 1024]) -> (outbox1[0, 256])  # matmul
// CHECK-NEXT: 1: send 64 elements to pp = 0 event 1 (outbox1[0, 256]) -> () after 0
// CHECK-NOT: copy
// CHECK: communication in this order
