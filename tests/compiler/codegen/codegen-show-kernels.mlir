// The code of a kernel: what it computes as linalg, how as loops.
// RUN: npar-opt %s -split-input-file -codegen-show-kernels=stage=linalg | FileCheck %s --check-prefix=LINALG
// RUN: npar-opt %s -split-input-file -codegen-show-kernels=stage=loops | FileCheck %s

// A softmax row of 20: the maximum's phase, the phase that keeps exp in a row on the stack, the quotients. One full vector of 16, a masked tail of 4.
// LINALG-LABEL: func.func @softmax.linalg(%arg0: tensor<3x20xf32>) -> tensor<3x20xf32>
// LINALG: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}}axes = ["seq", "key"]
// LINALG: arith.maximumf
// LINALG: math.exp
// CHECK-LABEL: func.func @softmax.loops(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64)
// CHECK: llvm.alloca
// CHECK: scf.for %{{.*}} = %arg2 to %arg3
// CHECK: arith.maximumf {{.*}} vector<16xf32>
// CHECK: llvm.intr.masked.load
// CHECK: llvm.shufflevector {{.*}} [8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: llvm.intr.masked.store
// CHECK-NOT: fastmath
rank.kernel @softmax attributes {extent = 3 : i64, flops = 100.0 : f64} {
^bb0(%x: tensor<3x20xf32, #nn.axes<seq, key>>):
  %m = nn.max %x : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<3xf32, #nn.axes<seq>>
  %d = nn.sub %x, %m : (tensor<3x20xf32, #nn.axes<seq, key>>, tensor<3xf32, #nn.axes<seq>>) -> tensor<3x20xf32, #nn.axes<seq, key>>
  %e = nn.exp %d : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<3x20xf32, #nn.axes<seq, key>>
  %s = nn.sum %e : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<3xf32, #nn.axes<seq>>
  %y = nn.div %e, %s : (tensor<3x20xf32, #nn.axes<seq, key>>, tensor<3xf32, #nn.axes<seq>>) -> tensor<3x20xf32, #nn.axes<seq, key>>
  rank.yield %y : tensor<3x20xf32, #nn.axes<seq, key>>
}

// -----
// Padding of a split axis is masked by its global index: coordinate (word 3) times the shard's size.
// LINALG-LABEL: func.func @padded.linalg
// LINALG: rank.context 3
// LINALG: arith.cmpi slt
// LINALG: arith.select
// CHECK-LABEL: func.func @padded.loops
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  rank.kernel @padded attributes {extent = 1 : i64, flops = 4.0 : f64} {
  ^bb0(%x: tensor<4xf32, #dist.layout<vocab : 7 {tp}>>):
    %s = nn.sum %x : (tensor<4xf32, #dist.layout<vocab : 7 {tp}>>) -> tensor<f32, #dist.layout<>>
    rank.yield %s : tensor<f32, #dist.layout<>>
  }
}

// -----
// A column sum walks rows inside a chunk of columns; no lane tree.
// CHECK-LABEL: func.func @columns.loops
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.addf {{.*}} vector<16xf32>
// CHECK-NOT: llvm.shufflevector {{.*}} [8, 9
rank.kernel @columns attributes {extent = 1 : i64, flops = 4.0 : f64} {
^bb0(%x: tensor<5x16xf32, #nn.axes<batch, embed>>):
  %s = nn.sum %x : (tensor<5x16xf32, #nn.axes<batch, embed>>) -> tensor<16xf32, #nn.axes<embed>>
  rank.yield %s : tensor<16xf32, #nn.axes<embed>>
}
