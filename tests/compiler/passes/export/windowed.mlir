// RUN: npar-opt %s --export-program | FileCheck %s

// Products whose windows differ are entries of their own, even if all else is equal: the third has the border of the first. Operations of a
// product that is spread out are those of the entries that exist.

#x = #dist.layout<batch : 4, row : 8, channel : 4>
#w = #dist.layout<out : 5, tap : 3, channel : 4>
#y = #dist.layout<batch : 4, y : 8, out : 5>

module attributes {npar.model = "M", npar.plan = "p", npar.batch = 4 : i64, npar.micro_count = 1 : i64, npar.kind = "evaluation",
                   npar.inputs = [{name = "x", type = tensor<4x8x4xf32, #nn.axes<batch, row, channel>>, classes = 0 : i64, axis = ""}],
                   dist.mesh = #dist.mesh<dp = 1>, pipe.schedule = "1f1b"} {
  nn.variable @w : tensor<5x3x4xf32, #w> {kind = #nn.kind<parameter>, stages = [0], stored = [5, 3, 4], init = #nn.init<ones>, index = 0 : i64}
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = nn.input "x" : tensor<4x8x4xf32, #x>
    %w = nn.read @w : tensor<5x3x4xf32, #w>
    %0 = rank.matmul %x, %w {batch = array<i64>, m = 32 : i64, n = 5 : i64, k = 12 : i64, a = array<i64: 0, 0>, b = array<i64: 0, 0>,
        c = array<i64: 5, 1>, windowed = #rank.windowed<m [4, 8], n [5], k [3, 4], <[32, 0, 0, 1],
        <8 by 4, before 1, spread 1, steps [0, 1, 1, 0]>>, <[4, 1, 12]>>} : (tensor<4x8x4xf32, #x>, tensor<5x3x4xf32, #w>) -> tensor<4x8x5xf32, #y>
    %1 = rank.matmul %x, %w {batch = array<i64>, m = 32 : i64, n = 5 : i64, k = 12 : i64, a = array<i64: 0, 0>, b = array<i64: 0, 0>,
        c = array<i64: 5, 1>, windowed = #rank.windowed<m [4, 8], n [5], k [3, 4], <[32, 0, 0, 1],
        <8 by 4, before 2, spread 2, steps [0, 1, 1, 0]>>, <[4, 1, 12]>>} : (tensor<4x8x4xf32, #x>, tensor<5x3x4xf32, #w>) -> tensor<4x8x5xf32, #y>
    %2 = rank.matmul %x, %w {batch = array<i64>, m = 32 : i64, n = 5 : i64, k = 12 : i64, a = array<i64: 0, 0>, b = array<i64: 0, 0>,
        c = array<i64: 5, 1>, windowed = #rank.windowed<m [4, 8], n [5], k [3, 4], <[32, 0, 0, 1],
        <8 by 4, before 1, spread 1, steps [0, 1, 1, 0]>>, <[4, 1, 12]>>} : (tensor<4x8x4xf32, #x>, tensor<5x3x4xf32, #w>) -> tensor<4x8x5xf32, #y>
    nn.result "a", %0 : tensor<4x8x5xf32, #y>
    nn.result "b", %1 : tensor<4x8x5xf32, #y>
    nn.result "c", %2 : tensor<4x8x5xf32, #y>
  }
  pipe.order stage(0) ["F0:0"]
}

// CHECK: fragment F0: forward
// CHECK-NEXT: 0: matmul 32 x 5 x 12 {{.*}} 3840 flops, f32, m [4, 8], n [5], k [3, 4], a walks [32, 0, 0, 1] {8 x 4, steps [0, 1, 1, 0], before 1}, b walks [4, 1, 12]
// CHECK-NEXT: 1: matmul 32 x 5 x 12 {{.*}} 1920 flops, {{.*}} {8 x 4, steps [0, 1, 1, 0], before 2, spread 2}
// CHECK-NEXT: 2: matmul 32 x 5 x 12 {{.*}} 3840 flops, {{.*}} {8 x 4, steps [0, 1, 1, 0], before 1}
