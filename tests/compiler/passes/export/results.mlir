// RUN: npar-opt %s --export-program | FileCheck %s

// What a forward-only program leaves is made in the result's buffer, which has a slot per micro-batch; what has a place already (here an
// input, and a second result of one value) is copied there.

#x = #dist.layout<batch : 8 {dp}, seq : 8 {tp}>

module attributes {npar.model = "M", npar.plan = "p", npar.batch = 16 : i64, npar.micro_count = 2 : i64, npar.kind = "evaluation",
                   npar.inputs = [{name = "signal", type = tensor<8x8xf32, #nn.axes<batch, seq>>, classes = 0 : i64, axis = ""}],
                   dist.mesh = #dist.mesh<dp = 2, tp = 2>, pipe.schedule = "1f1b"} {
  rank.kernel @relu attributes {extent = 4 : i64, flops = 1.0 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%x: tensor<4x4xf32, #x>):
    %0 = nn.relu %x : (tensor<4x4xf32, #x>) -> tensor<4x4xf32, #x>
    rank.yield %0 : tensor<4x4xf32, #x>
  }
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 2 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = nn.input "signal" : tensor<4x4xf32, #x>
    %y = rank.launch @relu(%x) : (tensor<4x4xf32, #x>) -> tensor<4x4xf32, #x>
    nn.result "losses", %y : tensor<4x4xf32, #x>
    nn.result "again", %y : tensor<4x4xf32, #x>
    nn.result "signal", %x : tensor<4x4xf32, #x>
  }
  pipe.order stage(0) ["F0:0", "F0:1"]
}

// CHECK: program M, plan p, for evaluation
// CHECK: results
// CHECK-NEXT: losses: f32 [batch 16, seq 8]
// CHECK-NEXT: again: f32 [batch 16, seq 8]
// CHECK-NEXT: signal: f32 [batch 16, seq 8]
// CHECK: gradients 0, optimizer 0
// CHECK: input: 2 x 64 bytes
// CHECK-NEXT: result: 2 x 192 bytes
// CHECK: result losses f32 [batch 4 of 8 by dp, seq 4 of 8 by tp] at 0
// CHECK-NEXT: result again f32 [batch 4 of 8 by dp, seq 4 of 8 by tp] at 64
// CHECK-NEXT: result signal f32 [batch 4 of 8 by dp, seq 4 of 8 by tp] at 128
// CHECK-NOT: fragment P0
// CHECK: fragment F0: forward
// CHECK-NEXT: 0: kernel relu (input[0, 64]) -> (result[0, 64])
// CHECK-NEXT: 1: copy (result[0, 64]) -> (result[64, 64]) after 0
// CHECK-NEXT: 2: copy (input[0, 64]) -> (result[128, 64])
