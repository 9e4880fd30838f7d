// RUN: npar-opt %s --export-check-limits --split-input-file --verify-diagnostics

// One arena of two is too large, by less than one share of four of the optimizer's state saves.
#rules = [#dist.rule<axis = "batch", mesh = ["dp"]>]
#memory = {activations = 2048 : i64, gradients = 1024 : i64, optimizer = 4096 : i64, parameters = 1024 : i64, workspace = 0 : i64}
// expected-error @+3 {{each rank of 'stage1' needs 8.00 KiB (8192 bytes), the plan allows 6.00 KiB (6144 bytes)}}
// expected-note @+2 {{it holds optimizer 4.00 KiB, activations 2.00 KiB, gradients 1.00 KiB, parameters 1.00 KiB}}
// expected-note @+1 {{help: `store { optimizer -> dp }` saves about 3.00 KiB}}
module attributes {dist.mesh = #dist.mesh<dp = 4, pp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"]>],
                   npar.require = {memory = 6144 : i64}} {
  rank.program @stage0 stage(0) arena(4096) fixed {pp = 0 : i64} memory {} {
    rank.region "static" bytes(4096) slots(1) offset(0)
  }
  rank.program @stage1 stage(1) arena(8192) fixed {pp = 1 : i64}
      memory {activations = 2048 : i64, gradients = 1024 : i64, optimizer = 4096 : i64, parameters = 1024 : i64, workspace = 0 : i64} {
    rank.region "static" bytes(8192) slots(1) offset(0)
  }
}

// -----

// The optimizer is in shares already: gradients come next.
// expected-error @+4 {{each rank of 'stage0' needs 4.00 KiB (4096 bytes), the plan allows 3.50 KiB (3584 bytes)}}
// expected-note @+3 {{2 of 2 classes of ranks need more than allowed, this one the most}}
// expected-note @+2 {{it holds activations 2.00 KiB, gradients 1.00 KiB, optimizer 512 B, parameters 512 B}}
// expected-note @+1 {{help: `store { gradients -> node, dp }` saves about 768 B}}
module attributes {dist.mesh = #dist.mesh<node = 2, dp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["node", "dp"]>],
                   dist.stores = [{what = "optimizer", mesh = ["node", "dp"]}], npar.require = {memory = 3584 : i64}} {
  rank.program @stage0 stage(0) arena(4096) fixed {}
      memory {activations = 2048 : i64, gradients = 1024 : i64, optimizer = 512 : i64, parameters = 512 : i64} {
    rank.region "static" bytes(4096) slots(1) offset(0)
  }
  rank.program @stage1 stage(1) arena(4032) fixed {} memory {} {
    rank.region "static" bytes(4032) slots(1) offset(0)
  }
}

// -----

// Nothing to shard: the activations are the most.
// expected-error @+3 {{needs 3.00 MiB (3145728 bytes), the plan allows 1.00 KiB (1024 bytes)}}
// expected-note @+2 {{it holds activations 2.00 MiB, parameters 1.00 MiB}}
// expected-note @+1 {{help: activations are the most: `recompute block` keeps what enters a block only, and a smaller `micro` makes them smaller}}
module attributes {dist.mesh = #dist.mesh<>, npar.blocks = 2 : i64, npar.require = {memory = 1024 : i64}} {
  rank.program @stage0 stage(0) arena(3145728) fixed {} memory {activations = 2097152 : i64, parameters = 1048576 : i64} {
    rank.region "static" bytes(3145728) slots(1) offset(0)
  }
}

// -----

// expected-error @+3 {{needs 3.00 KiB (3072 bytes), the plan allows 1.00 KiB (1024 bytes)}}
// expected-note @+2 {{it holds parameters 2.00 KiB, activations 1.00 KiB}}
// expected-note @+1 {{help: split the model over more ranks, or use a smaller `micro`}}
module attributes {dist.mesh = #dist.mesh<>, npar.require = {memory = 1024 : i64}} {
  rank.program @stage0 stage(0) arena(3072) fixed {} memory {activations = 1024 : i64, parameters = 2048 : i64} {
    rank.region "static" bytes(3072) slots(1) offset(0)
  }
}

// -----

// Two stages, two micro-batches of one forward task each: F0 F0 . / . F1 F1. A third of the time waits; updates do not count.
// expected-error @+3 {{stages wait 33.3 % of the planned time, the plan allows 20.0 %}}
// expected-note @+2 {{'stage1' waits the most}}
// expected-note @+1 {{help: with equal stages 4 micro-batches would wait so little, the step has 2; a smaller `micro` makes more of them}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.schedule = "1f1b", npar.micro_count = 2 : i64, npar.require = {bubble = 0.2}} {
  rank.program @stage0 stage(0) arena(0) fixed {pp = 0 : i64} memory {} {
    rank.region "static" bytes(0) slots(1) offset(0)
    rank.fragment "F0" phase(F) {
    }
    rank.fragment "U0" phase(U) {
    }
    rank.task "F0" micro(0) bases [0] begin 0.0 end 1.0
    rank.task "F0" micro(1) bases [0] begin 1.0 end 2.0
    rank.task "U0" micro(0) bases [0] begin 3.0 end 9.0
    rank.communicate []
  }
  rank.program @stage1 stage(1) arena(0) fixed {pp = 1 : i64} memory {} {
    rank.region "static" bytes(0) slots(1) offset(0)
    rank.fragment "F1" phase(F) {
    }
    rank.task "F1" micro(0) bases [0] begin 1.0 end 2.0
    rank.task "F1" micro(1) bases [0] begin 2.0 end 3.0
    rank.communicate []
  }
}

// -----

// A schedule without such a formula.
// expected-error @+3 {{stages wait 50.0 % of the planned time, the plan allows 0.0 %}}
// expected-note @+2 {{'stage0' waits the most}}
// expected-note @+1 {{help: a smaller `micro` makes more micro-batches; `by zb_h1` or `by zb_v` wait less}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.schedule = "naive", npar.require = {bubble = 0.0}} {
  rank.program @stage0 stage(0) arena(0) fixed {pp = 0 : i64} memory {} {
    rank.region "static" bytes(0) slots(1) offset(0)
    rank.fragment "F0" phase(F) {
    }
    rank.task "F0" micro(0) bases [0] begin 0.0 end 1.0
    rank.communicate []
  }
  rank.program @stage1 stage(1) arena(0) fixed {pp = 1 : i64} memory {} {
    rank.region "static" bytes(0) slots(1) offset(0)
    rank.fragment "F1" phase(F) {
    }
    rank.task "F1" micro(0) bases [0] begin 1.0 end 2.0
    rank.communicate []
  }
}
