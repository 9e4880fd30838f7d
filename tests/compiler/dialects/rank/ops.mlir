// RUN: npar-opt %s | npar-opt | FileCheck %s

// What a rank runs in one piece prints and parses again: kernels, launches, library products.

#l = #dist.layout<batch : 4 {dp}, embed : 16>
#w = #dist.layout<embed : 16, out : 8>
#y = #dist.layout<batch : 4 {dp}, out : 8>

module attributes {dist.mesh = #dist.mesh<dp = 2, pp = 2>} {
  // CHECK: rank.kernel @relu_0 attributes {extent = 2 : i64, flops = 3.200000e+01 : f64, inplace = [array<i64: 0, 0>]}
  rank.kernel @relu_0 attributes {extent = 2 : i64, flops = 32.0 : f64, inplace = [array<i64: 0, 0>]} {
  ^bb0(%x: tensor<2x16xf32, #l>):
    %0 = nn.relu %x : (tensor<2x16xf32, #l>) -> tensor<2x16xf32, #l>
    // CHECK: rank.yield
    rank.yield %0 : tensor<2x16xf32, #l>
  }
  // CHECK: func.func @f
  func.func @f(%x: tensor<2x16xf32, #l>, %w: tensor<16x8xf32, #w>, %old: tensor<2x8xf32, #y>) -> tensor<2x8xf32, #y> {
    // CHECK-NEXT: %[[RELU:.*]] = rank.launch @relu_0(%{{.*}}) : (tensor<2x16xf32, {{.*}}>) -> tensor<2x16xf32, {{.*}}>
    %0 = rank.launch @relu_0(%x) : (tensor<2x16xf32, #l>) -> tensor<2x16xf32, #l>
    // CHECK-NEXT: rank.matmul %[[RELU]], %{{.*}} accumulate %{{.*}} {a = array<i64: 16, 1>, b = array<i64: 8, 1>, batch = array<i64>, c = array<i64: 8, 1>, k = 16 : i64, m = 2 : i64, n = 8 : i64}
    %1 = rank.matmul %0, %w accumulate %old {batch = array<i64>, m = 2 : i64, n = 8 : i64, k = 16 : i64, a = array<i64: 16, 1>,
        b = array<i64: 8, 1>, c = array<i64: 8, 1>} : (tensor<2x16xf32, #l>, tensor<16x8xf32, #w>, tensor<2x8xf32, #y>) -> tensor<2x8xf32, #y>
    return %1 : tensor<2x8xf32, #y>
  }
}
