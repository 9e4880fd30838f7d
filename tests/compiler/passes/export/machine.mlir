// RUN: npar-opt %s --export-program --split-input-file | FileCheck %s

// Steps are timed for the machine that the module names: 16 operations of a second each, and a product of 4 x 4 x 4 at 2 FLOP/s that takes as long
// again for its four rows. Figures that it leaves out are the reference machine's.
#x = #dist.layout<embed : 16>
#m = #dist.layout<embed : 4, out : 4>
// CHECK-LABEL: fragment F0
// CHECK-NEXT: 0: kernel relu {{.*}}begin 0 end 16,
// CHECK: matmul 4 x 4 x 4 {{.*}}begin 0 end 128,
module attributes {dist.mesh = #dist.mesh<>,
    npar.machine = {name = "slow", processor.cores = 1.0, kernel.operation = 1.0, kernel.function = 0.0, step.launch = 0.0,
                    product.f32.rate = 2.0, product.f32.rows = 4.0, product.f32.columns = 0.0, product.f32.depth = 0.0}} {
  rank.kernel @relu attributes {extent = 1 : i64, flops = 1.6e+01 : f64} {
  ^bb0(%x: tensor<16xf32, #x>):
    %0 = nn.relu %x : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
    rank.yield %0 : tensor<16xf32, #x>
  }
  nn.variable @x : tensor<16xf32, #x> {kind = #nn.kind<parameter>, stages = [0], stored = [16], init = #nn.init<ones>, index = 0 : i64}
  nn.variable @w : tensor<4x4xf32, #m> {kind = #nn.kind<parameter>, stages = [0], stored = [4, 4], init = #nn.init<ones>, index = 1 : i64}
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = nn.read @x : tensor<16xf32, #x>
    %y = rank.launch @relu(%x) : (tensor<16xf32, #x>) -> tensor<16xf32, #x>
    nn.write @x, %y : tensor<16xf32, #x>
  }
  pipe.fragment @B0 stage(0) phase(B) {
    %w = nn.read @w : tensor<4x4xf32, #m>
    %c = rank.matmul %w, %w {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 4, 1>, b = array<i64: 4, 1>,
        c = array<i64: 4, 1>} : (tensor<4x4xf32, #m>, tensor<4x4xf32, #m>) -> tensor<4x4xf32, #m>
    nn.write @w, %c : tensor<4x4xf32, #m>
  }
  pipe.order stage(0) ["F0:0", "B0:0"]
}
