// RUN: npar-opt %s --export-program --split-input-file | FileCheck %s

// An arena that is exactly what is allowed is allowed, and so is a share of waiting below the limit: the second stage waits for the first,
// half of the time and a message's.
#x = #dist.layout<embed : 16>
// CHECK: class stage0 at pp = 0: rank 0
// CHECK: arena 128 bytes
module attributes {dist.mesh = #dist.mesh<pp = 2>, npar.require = {memory = 128 : i64, bubble = 0.51}} {
  rank.kernel @second attributes {extent = 1 : i64, flops = 8.0e+09 : f64} {
    %0 = nn.fill 1.0 : tensor<16xf32, #x>
    rank.yield %0 : tensor<16xf32, #x>
  }
  rank.kernel @next attributes {extent = 1 : i64, flops = 8.0e+09 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%x: tensor<16xf32, #x>):
    %0 = nn.relu %x : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
    rank.yield %0 : tensor<16xf32, #x>
  }
  pipe.program {schedule = "none", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @second() : () -> tensor<16xf32, #x>
    pipe.send %x to(1) event(0) : tensor<16xf32, #x>
  }
  pipe.fragment @F1 stage(1) phase(F) {
    %x = pipe.recv from(0) event(0) : tensor<16xf32, #x>
    %y = rank.launch @next(%x) : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
  }
  pipe.order stage(0) ["F0:0"]
  pipe.order stage(1) ["F1:0"]
}

// -----

// Nothing is asked of the memory, and one stage waits for nobody.
// CHECK: class stage0: rank 0
// CHECK: arena 0 bytes
module attributes {dist.mesh = #dist.mesh<>, npar.require = {bubble = 0.0}} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
  }
  pipe.order stage(0) ["F0:0"]
}
