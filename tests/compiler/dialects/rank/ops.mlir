// RUN: npar-opt %s | npar-opt | FileCheck %s

// What a rank program holds prints and parses again: kernels, regions, variables, inputs, outputs, steps, tasks, waits, communication.

#l = #dist.layout<batch : 4 {dp}, embed : 16>
#s = #dist.layout<>

module attributes {dist.mesh = #dist.mesh<dp = 2, pp = 2>, npar.micro_count = 2 : i64} {
  // CHECK: nn.variable @"#out.loss"
  nn.variable @"#out.loss" : tensor<f64, #s> {kind = #nn.kind<output>, output = "loss"}
  // CHECK: rank.kernel @relu_0 attributes {extent = 2 : i64, flops = 3.200000e+01 : f64, inplace = [array<i64: 0, 0>]}
  rank.kernel @relu_0 attributes {extent = 2 : i64, flops = 32.0 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%x: tensor<2x16xf32, #l>):
    %0 = nn.relu %x : (tensor<2x16xf32, #l>) -> tensor<2x16xf32, #l>
    // CHECK: rank.yield
    rank.yield %0 : tensor<2x16xf32, #l>
  }
  // CHECK: rank.program @stage0 stage(0) arena(640) fixed {pp = 0 : i64} memory {activations = 576 : i64}
  rank.program @stage0 stage(0) arena(640) fixed {pp = 0 : i64} memory {activations = 576 : i64} {
    // CHECK-NEXT: rank.region "static" bytes(64) slots(1) offset(0)
    rank.region "static" bytes(64) slots(1) offset(0)
    // CHECK-NEXT: rank.region "box" bytes(128) slots(2) offset(64)
    rank.region "box" bytes(128) slots(2) offset(64)
    rank.region "input" bytes(64) slots(2) offset(320)
    // CHECK: rank.variable @"#out.loss" offset(0) bytes(8) owner
    rank.variable @"#out.loss" offset(0) bytes(8) owner
    // CHECK-NEXT: rank.input "tokens" offset(0) : tensor<2x8xi32,
    rank.input "tokens" offset(0) : tensor<2x8xi32, #dist.layout<batch : 4 {dp}, seq : 8>>
    // CHECK-NEXT: rank.output "loss" offset(0)
    rank.output "loss" offset(0)
    // CHECK-NEXT: rank.fragment "F0" phase(F) {
    rank.fragment "F0" phase(F) {
      // CHECK-NEXT: rank.step zero "start" () -> (box[0, 128]) after [] does {} path "" flops 0.000000e+00 begin 0.000000e+00 end 1.000000e+00
      rank.step zero "start" () -> (box[0, 128]) after [] does {} path "" flops 0.0 begin 0.0 end 1.0
      // CHECK-NEXT: rank.step kernel "relu h.0" (box[0, 128]) -> (box[0, 128]) after [0] does {kernel = @relu_0} path "h.0"
      rank.step kernel "relu h.0" (box[0, 128]) -> (box[0, 128]) after [0] does {kernel = @relu_0} path "h.0" flops 32.0 begin 1.0 end 2.0
      // CHECK-NEXT: rank.step send "send" (box[0, 128]) -> () after [1] does {axis = "pp", count = 32 : i64, event = 0 : i64, peer = 1 : i64, type = f32}
      rank.step send "send" (box[0, 128]) -> () after [1]
        does {axis = "pp", peer = 1 : i64, event = 0 : i64, count = 32 : i64, type = f32} path "" flops 0.0 begin 2.0 end 3.0
    }
    // CHECK: rank.task "F0" micro(0) bases [0, 64, 320] begin 0.000000e+00 end 3.000000e+00
    rank.task "F0" micro(0) bases [0, 64, 320] begin 0.0 end 3.0
    rank.task "F0" micro(1) bases [0, 64, 384] begin 3.0 end 6.0
    // CHECK: rank.wait 1, 0 for 0, 2
    rank.wait 1, 0 for 0, 2
    // CHECK-NEXT: rank.communicate [0, 2, 1, 2]
    rank.communicate [0, 2, 1, 2]
  }
}
