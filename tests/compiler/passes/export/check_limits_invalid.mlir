// RUN: npar-opt %s --export-program --split-input-file --verify-diagnostics

// One arena of two is too large, by less than one share of four of the optimizer's state saves.
#w = #dist.layout<embed : 256>
#m = #dist.layout<embed : 1024>
#x = #dist.layout<embed : 512>
// expected-error @+3 {{each rank of 'stage1' needs 8.00 KiB (8192 bytes), but the plan allows 6.00 KiB (6144 bytes)}}
// expected-note @+2 {{it holds optimizer 4.00 KiB, activations 2.00 KiB, gradients 1.00 KiB, parameters 1.00 KiB}}
// expected-note @+1 {{help: `store { optimizer -> dp }` saves about 3.00 KiB}}
module attributes {dist.mesh = #dist.mesh<dp = 4, pp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"]>],
                   npar.require = {memory = 6144 : i64}} {
  nn.variable @w : tensor<256xf32, #w> {kind = #nn.kind<parameter>, stages = [1], stored = [256], init = #nn.init<ones>, index = 0 : i64}
  nn.variable @w.exp_avg : tensor<1024xf32, #m> {kind = #nn.kind<state>, slot = "exp_avg", stages = [1]}
  nn.variable @w.grad.0 : tensor<256xf32, #w> {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64, stages = [1]}
  rank.kernel @fill attributes {extent = 1 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<512xf32, #x>
    rank.yield %0 : tensor<512xf32, #x>
  }
  pipe.program {schedule = "none", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<512xf32, #x>
  }
  pipe.fragment @F1 stage(1) phase(F) {
    %x = rank.launch @fill() : () -> tensor<512xf32, #x>
  }
  pipe.order stage(0) ["F0:0"]
  pipe.order stage(1) ["F1:0"]
}

// -----

// The optimizer is in shares already: gradients come next.
#w = #dist.layout<embed : 128>
#g = #dist.layout<embed : 256>
#x = #dist.layout<embed : 512>
#y = #dist.layout<embed : 1008>
// expected-error @+4 {{each rank of 'stage0' needs 4.00 KiB (4096 bytes), but the plan allows 3.50 KiB (3584 bytes)}}
// expected-note @+3 {{2 of 2 classes of ranks need more than allowed, this one the most}}
// expected-note @+2 {{it holds activations 2.00 KiB, gradients 1.00 KiB, optimizer 512 B, parameters 512 B}}
// expected-note @+1 {{help: `store { gradients -> node, dp }` saves about 768 B}}
module attributes {dist.mesh = #dist.mesh<node = 2, dp = 2, pp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["node", "dp"]>],
                   dist.stores = [{what = "optimizer", mesh = ["node", "dp"]}], npar.require = {memory = 3584 : i64}} {
  nn.variable @w : tensor<128xf32, #w> {kind = #nn.kind<parameter>, stages = [0], stored = [128], init = #nn.init<ones>, index = 0 : i64}
  nn.variable @w.exp_avg : tensor<128xf32, #w> {kind = #nn.kind<state>, of = @w, slot = "exp_avg", stages = [0]}
  nn.variable @w.grad.0 : tensor<256xf32, #g> {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64, stages = [0]}
  rank.kernel @fill attributes {extent = 1 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<512xf32, #x>
    rank.yield %0 : tensor<512xf32, #x>
  }
  rank.kernel @more attributes {extent = 1 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<1008xf32, #y>
    rank.yield %0 : tensor<1008xf32, #y>
  }
  pipe.program {schedule = "none", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<512xf32, #x>
  }
  pipe.fragment @F1 stage(1) phase(F) {
    %x = rank.launch @more() : () -> tensor<1008xf32, #y>
  }
  pipe.order stage(0) ["F0:0"]
  pipe.order stage(1) ["F1:0"]
}

// -----

// Nothing to shard: the activations are the most.
#w = #dist.layout<embed : 262144>
#x = #dist.layout<embed : 524288>
// expected-error @+3 {{needs 3.00 MiB (3145728 bytes), but the plan allows 1.00 KiB (1024 bytes)}}
// expected-note @+2 {{it holds activations 2.00 MiB, parameters 1.00 MiB}}
// expected-note @+1 {{help: activations need the most: `recompute block` keeps only the input of each block, and a smaller `micro` makes them smaller}}
module attributes {dist.mesh = #dist.mesh<>, npar.batch = 4 : i64, npar.blocks = 2 : i64, npar.require = {memory = 1024 : i64}} {
  nn.variable @w : tensor<262144xf32, #w> {kind = #nn.kind<parameter>, stages = [0], stored = [262144], init = #nn.init<ones>, index = 0 : i64}
  rank.kernel @fill attributes {extent = 1 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<524288xf32, #x>
    rank.yield %0 : tensor<524288xf32, #x>
  }
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<524288xf32, #x>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

#w = #dist.layout<embed : 512>
#x = #dist.layout<embed : 256>
// expected-error @+3 {{needs 3.00 KiB (3072 bytes), but the plan allows 1.00 KiB (1024 bytes)}}
// expected-note @+2 {{it holds parameters 2.00 KiB, activations 1.00 KiB}}
// expected-note @+1 {{help: split the model over more ranks, or use a smaller `micro`}}
module attributes {dist.mesh = #dist.mesh<>, npar.batch = 4 : i64, npar.require = {memory = 1024 : i64}} {
  nn.variable @w : tensor<512xf32, #w> {kind = #nn.kind<parameter>, stages = [0], stored = [512], init = #nn.init<ones>, index = 0 : i64}
  rank.kernel @fill attributes {extent = 1 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<256xf32, #x>
    rank.yield %0 : tensor<256xf32, #x>
  }
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<256xf32, #x>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// Two stages, two micro-batches of one forward task of a second each: F0 F0 . / . F1 F1. A third of the time waits; updates do not count.
#x = #dist.layout<embed : 16>
// expected-error @+3 {{stages wait 33.3 % of the planned time, but the plan allows 20.0 %}}
// expected-note @+2 {{'stage1' waits the most}}
// expected-note @+1 {{help: with equal stages 4 micro-batches would keep within the limit, the step has 2; a smaller `micro` makes more of them}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.schedule = "1f1b", npar.batch = 4 : i64, npar.micro_count = 2 : i64, npar.require = {bubble = 0.2}} {
  rank.kernel @second attributes {extent = 1 : i64, flops = 8.0e+09 : f64} {
    %0 = nn.fill 1.0 : tensor<16xf32, #x>
    rank.yield %0 : tensor<16xf32, #x>
  }
  rank.kernel @next attributes {extent = 1 : i64, flops = 8.0e+09 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%x: tensor<16xf32, #x>):
    %0 = nn.relu %x : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
    rank.yield %0 : tensor<16xf32, #x>
  }
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @second() : () -> tensor<16xf32, #x>
    pipe.send %x to(1) event(0) : tensor<16xf32, #x>
  }
  pipe.fragment @F1 stage(1) phase(F) {
    %x = pipe.recv from(0) event(0) : tensor<16xf32, #x>
    %y = rank.launch @next(%x) : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
  }
  pipe.fragment @U0 stage(0) phase(U) {
    %x = rank.launch @second() : () -> tensor<16xf32, #x>
  }
  pipe.order stage(0) ["F0:0", "F0:1", "U0"]
  pipe.order stage(1) ["F1:0", "F1:1"]
}

// -----

// A schedule without such a formula, and micro-batches of one sample, which cannot be smaller.
#x = #dist.layout<embed : 16>
// expected-error @+3 {{stages wait 50.0 % of the planned time, but the plan allows 0.0 %}}
// expected-note @+2 {{'stage0' waits the most}}
// expected-note @+1 {{help: a larger batch has more micro-batches; `by zb_h1` or `by zb_v` wait less}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.schedule = "naive", npar.require = {bubble = 0.0}} {
  rank.kernel @fill attributes {extent = 1 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<16xf32, #x>
    rank.yield %0 : tensor<16xf32, #x>
  }
  rank.kernel @second attributes {extent = 1 : i64, flops = 8.0e+09 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%x: tensor<16xf32, #x>):
    %0 = nn.relu %x : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
    rank.yield %0 : tensor<16xf32, #x>
  }
  pipe.program {schedule = "naive", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<16xf32, #x>
    %y = rank.launch @second(%x) : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
    pipe.send %y to(1) event(0) : tensor<16xf32, #x>
  }
  pipe.fragment @F1 stage(1) phase(F) {
    %x = pipe.recv from(0) event(0) : tensor<16xf32, #x>
    %y = rank.launch @second(%x) : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
    %z = rank.launch @second(%y) : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
  }
  pipe.order stage(0) ["F0:0"]
  pipe.order stage(1) ["F1:0"]
}
