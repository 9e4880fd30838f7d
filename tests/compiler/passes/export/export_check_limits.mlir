// RUN: npar-opt %s --export-check-limits --split-input-file | FileCheck %s

// An arena and a share of waiting that are exactly what is allowed are allowed.
// CHECK: rank.program @stage0
module attributes {dist.mesh = #dist.mesh<pp = 2>, npar.require = {memory = 4096 : i64, bubble = 0.5}} {
  rank.program @stage0 stage(0) arena(4096) fixed {pp = 0 : i64} memory {} {
    rank.region "static" bytes(4096) slots(1) offset(0)
    rank.fragment "F0" phase(F) {
    }
    rank.task "F0" micro(0) bases [0] begin 0.0 end 1.0
    rank.communicate []
  }
  rank.program @stage1 stage(1) arena(64) fixed {pp = 1 : i64} memory {} {
    rank.region "static" bytes(64) slots(1) offset(0)
    rank.fragment "F1" phase(F) {
    }
    rank.task "F1" micro(0) bases [0] begin 1.0 end 2.0
    rank.communicate []
  }
}

// -----

// Nothing is asked for, and a program without times waits for nothing.
// CHECK: rank.program @stage0
module attributes {dist.mesh = #dist.mesh<>, npar.require = {bubble = 0.0}} {
  rank.program @stage0 stage(0) arena(64) fixed {} memory {} {
    rank.region "static" bytes(64) slots(1) offset(0)
    rank.communicate []
  }
}
