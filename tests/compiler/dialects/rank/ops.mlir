// RUN: npar-opt %s | npar-opt | FileCheck %s

// What a rank runs in one piece prints and parses again: kernels, launches, library products, attention.

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
  // A convolution of one axis, with a border of one entry, and its weight.
  // CHECK: func.func @windowed
  func.func @windowed(%x: tensor<2x8x4xf32>, %w: tensor<5x3x4xf32>) -> tensor<2x8x5xf32> {
    // CHECK-NEXT: rank.matmul {{.*}} windowed = #rank.windowed<m[2, 8], n[5], k[3, 4], <[32, 0, 0, 1], <8 by 4, before 1, spread 1, steps[0, 1, 1, 0]>>, <[4, 1, 12]>>}
    %y = rank.matmul %x, %w {batch = array<i64>, m = 16 : i64, n = 5 : i64, k = 12 : i64, a = array<i64: 0, 0>, b = array<i64: 0, 0>,
        c = array<i64: 5, 1>, windowed = #rank.windowed<m [2, 8], n [5], k [3, 4], <[32, 0, 0, 1], <8 by 4, before 1, spread 1, steps [0, 1, 1, 0]>>,
        <[4, 1, 12]>>} : (tensor<2x8x4xf32>, tensor<5x3x4xf32>) -> tensor<2x8x5xf32>
    return %y : tensor<2x8x5xf32>
  }
  // Queries in groups of three heads, out of a tensor that holds q, k and v; the gradients apart.
  // CHECK: func.func @attention
  func.func @attention(%x: tensor<2x8x5x4xf32>, %dout: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
    // CHECK-NEXT: %[[O:.*]]:2 = rank.attention %[[X:.*]], %[[X]], %[[X]] {batch = array<i64: 2>, causal, features = 4 : i64, flops = 1.000000e+03 : f64, heads = 3 : i64, keys = 8 : i64, offsets = array<i64: 0, 12, 16>, rows = 8 : i64, scale = 5.000000e-01 : f64, strides = [array<i64: 160, 4, 20>,
    %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 3, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
        strides = [array<i64: 160, 4, 20>, array<i64: 160, 0, 20>, array<i64: 160, 0, 20>, array<i64: 96, 4, 12>, array<i64: 24, 8, 1>],
        offsets = array<i64: 0, 12, 16>, flops = 1000.0}
        : (tensor<2x8x5x4xf32>, tensor<2x8x5x4xf32>, tensor<2x8x5x4xf32>) -> (tensor<2x8x3x4xf32>, tensor<2x3x8xf32>)
    // CHECK-NEXT: rank.attention_grad %[[X]], %[[X]], %[[X]], %[[O]]#0, %{{.*}}, %[[O]]#1 {batch
    %dq, %dk, %dv = rank.attention_grad %x, %x, %x, %o, %dout, %l {batch = array<i64: 2>, heads = 3, rows = 8, keys = 8, features = 4, values = 4,
        scale = 0.5, causal, strides = [array<i64: 160, 4, 20>, array<i64: 160, 0, 20>, array<i64: 160, 0, 20>, array<i64: 96, 4, 12>,
        array<i64: 96, 4, 12>, array<i64: 24, 8, 1>, array<i64: 96, 4, 12>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>],
        offsets = array<i64: 0, 12, 16, 0, 0, 0>, flops = 2500.0}
        : (tensor<2x8x5x4xf32>, tensor<2x8x5x4xf32>, tensor<2x8x5x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x3x8xf32>)
        -> (tensor<2x8x3x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    return %dq : tensor<2x8x3x4xf32>
  }
  // A ring of two in zigzag order: the softmax so far goes from step to step, gradients of a step are wide.
  // CHECK: func.func @ring
  func.func @ring(%x: tensor<2x8x4xbf16>) -> tensor<2x8x4xf32> {
    // CHECK-NEXT: %[[S:.*]] = rank.attention %[[X:.*]], %[[X]], %[[X]] {{.*}}pieces = ["dp"], {{.*}}step = 0 : i64, {{.*}}zigzag = 2 : i64} : {{.*}} -> tensor<2x8x6xf32>
    %s = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
        pieces = ["dp"], step = 0, zigzag = 2,
        strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 48, 48, 6>],
        offsets = array<i64: 0, 0, 0>, flops = 1000.0} : (tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x6xf32>
    // CHECK-NEXT: %[[O:.*]]:2 = rank.attention %[[X]], %[[X]], %[[X]], %[[S]] {{.*}}step = 1 : i64
    %o, %l = rank.attention %x, %x, %x, %s {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
        pieces = ["dp"], step = 1, zigzag = 2,
        strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 48, 48, 6>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
        offsets = array<i64: 0, 0, 0, 0>, flops = 1000.0}
        : (tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8x6xf32>) -> (tensor<2x8x4xbf16>, tensor<2x8xf32>)
    // CHECK-NEXT: rank.attention_grad %[[X]], %[[X]], %[[X]], %[[O]]#0, %[[X]], %[[O]]#1 {{.*}}partly, pieces = ["dp"]
    %dq, %dk, %dv = rank.attention_grad %x, %x, %x, %o, %x, %l {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4,
        scale = 0.5, causal, pieces = ["dp"], step = 1, zigzag = 2, partly, strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>,
        array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>,
        array<i64: 32, 0, 4>], offsets = array<i64: 0, 0, 0, 0, 0, 0>, flops = 2500.0}
        : (tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8xf32>)
        -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
    return %dq : tensor<2x8x4xf32>
  }
}
