// RUN: npar-opt %s --split-input-file --verify-diagnostics

// A product reaches no further than its operands.
rank.kernel @k attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%a: tensor<4x4xf32>):
  // expected-error @+1 {{'a' reaches element 19 of a tensor of 16}}
  %0 = rank.matmul %a, %a {batch = array<i64>, m = 5 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 4, 1>, b = array<i64: 4, 1>,
      c = array<i64: 4, 1>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  rank.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{'extent' is 0, must be at least 1}}
rank.kernel @k attributes {extent = 0 : i64, flops = 0.0 : f64} {
  rank.yield
}

// -----

// The yield names a kernel's results.
// expected-error @+1 {{must end with 'rank.yield'}}
rank.kernel @k attributes {extent = 1 : i64, flops = 0.0 : f64} {
  %0 = nn.fill 1.0 : tensor<4xf32, #nn.axes<embed>>
}

// -----

// A result without its operand shares nothing.
// expected-error @+1 {{'inplace' must hold pairs array<i64: result, operand>}}
rank.kernel @k attributes {extent = 1 : i64, flops = 0.0 : f64, inplace = [array<i64: 0>]} {
^bb0(%a: tensor<4xf32>):
  rank.yield %a : tensor<4xf32>
}

// -----

// Shared storage is that of an operand which the kernel has.
// expected-error @+1 {{'inplace' pair array<i64: 0, 1> is outside 1 results and 1 operands}}
rank.kernel @k attributes {extent = 1 : i64, flops = 0.0 : f64, inplace = [array<i64: 0, 1>]} {
^bb0(%a: tensor<4xf32>):
  rank.yield %a : tensor<4xf32>
}

// -----

// Which rows exist is what the last operand says, whose axes are named.
// expected-error @+1 {{needs ends of rows that fit #rank.existing<row = "row", entry = "expert", ends = ["batch", "expert"], places = 4, clears = false> as its last operand}}
rank.kernel @k attributes {extent = 1 : i64, flops = 0.0 : f64,
    existing = #rank.existing<row = "row", entry = "expert", ends = ["batch", "expert"], places = 4, clears = false>} {
^bb0(%a: tensor<4xf32>, %ends: tensor<2xi32>):
  rank.yield %a : tensor<4xf32>
}

// -----

// A launch needs its kernel.
func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{calls unknown kernel 'k'}}
  %0 = rank.launch @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A launch passes what its kernel takes.
rank.kernel @k attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%a: tensor<4xf32>):
  rank.yield %a : tensor<4xf32>
}
func.func @f(%a: tensor<5xf32>) {
  // expected-error @+1 {{operand types differ from those of kernel 'k'}}
  %0 = rank.launch @k(%a) : (tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// A launch gets what its kernel yields.
rank.kernel @k attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%a: tensor<4xf32>):
  rank.yield %a : tensor<4xf32>
}
func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result types differ from those of kernel 'k'}}
  %0 = rank.launch @k(%a) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// Each batch loop has a stride of its own.
func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{'b' has 2 strides for 1 batch loops, a row and a column}}
  %0 = rank.matmul %a, %a {batch = array<i64: 1>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 0, 4, 1>, b = array<i64: 4, 1>,
      c = array<i64: 0, 4, 1>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// The library reads rows or columns without gaps.
func.func @f(%a: tensor<8x8xf32>) {
  // expected-error @+1 {{'a' has no unit stride among row and column}}
  %0 = rank.matmul %a, %a {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 8, 2>, b = array<i64: 8, 1>,
      c = array<i64: 8, 1>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// Positions make up rows, columns and what is summed over.
func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{has positions whose sizes do not make m, n and k}}
  %0 = rank.matmul %a, %a {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 0, 0>, b = array<i64: 0, 0>,
      c = array<i64: 4, 1>, windowed = #rank.windowed<m [2, 2], n [4], k [2], <[8, 4, 1]>, <[4, 1]>>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// Each position has a stride, and a step in each window.
func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{needs a stride and a step of each window for each of 2 positions}}
  %0 = rank.matmul %a, %a {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 0, 0>, b = array<i64: 0, 0>,
      c = array<i64: 4, 1>, windowed = #rank.windowed<m [4], n [4], k [4], <[4, 1], <4 by 1, before 0, spread 1, steps [1]>>, <[4, 1]>>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// A grouped product has two ranges.
func.func @f(%a: tensor<4x4xf32>, %r: tensor<1x1xi32>) {
  // expected-error @+1 {{a grouped product has two ranges, two batch loops and, unless it sums over rows, no accumulator; this one has 2 ranges and 1 batch loops}}
  %0 = rank.matmul %a, %a grouped %r, %r {batch = array<i64: 1>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 0, 4, 1>,
      b = array<i64: 0, 4, 1>, c = array<i64: 0, 4, 1>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<4x4xf32>
  return
}

// -----

// The product is written by rows.
func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{'c' has column stride 4, must be 1}}
  %0 = rank.matmul %a, %a {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 4, 1>, b = array<i64: 4, 1>,
      c = array<i64: 1, 4>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// Attention has rows and keys.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{has a size of 0, must be at least 1}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 0, keys = 8, features = 4, values = 4, scale = 0.5, causal,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// Data are for kernels.
func.func @f(%x: tensor<2x8x4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{has data and no kernels}}
  %o, %l = rank.attention %x, %x, %x, %b {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5,
      data = [array<i64: 1, 0, -1, -1, 0, 0, -1>],
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0, 0>, flops = 1.0}
      : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// A row sees the keys up to its own place.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{is causal with 8 rows and 7 keys, must have equally many}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 7, features = 4, values = 4, scale = 0.5, causal,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// Each operand and result says where its rows lie.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{has strides of 4 values and offsets of 3, must be of 5 and 3}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// The logarithms of sums are as wide as the sums.
func.func @f(%x: tensor<2x8x4xbf16>) {
  // expected-error @+1 {{'lse' is of 'bf16', must be of 'f32'}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xbf16>, tensor<2x8x4xbf16>, tensor<2x8x4xbf16>) -> (tensor<2x8x4xbf16>, tensor<2x8xbf16>)
  return
}

// -----

// Each batch loop has a stride.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'v' has 2 strides for 1 batch loops, heads and rows}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// All logarithms of an index lie together.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'lse' has strides 8 and 2, must be 8 and 1}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 2>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// Attention reaches no further than its operands.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'k' reaches element 64 of a tensor of 64}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 1, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// Without pieces there is no ring to go round.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{is at step 1 of a ring without members}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal, step = 1,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// All pieces of a ring are of one size.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{is causal with 8 rows and 7 keys, must have equally many}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 7, features = 4, values = 4, scale = 0.5, causal,
      pieces = ["cp"], step = 0,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// A state is the values and two numbers more of each row, side by side.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'the state' has strides 32 and 4, must be 48 and 6}}
  %s = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 32, 4>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// As many ranks as there are.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{is in zigzag order of -1 ranks}}
  %o, %l = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
      pieces = ["cp"], step = 0, zigzag = -1,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>)
  return
}

// -----

// The state so far, or the values and their logarithms of sums.
func.func @f(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{makes 3 values, must make one or two}}
  %o, %l, %m = rank.attention %x, %x, %x {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5,
      strides = [array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 32, 0, 4>, array<i64: 8, 8, 1>],
      offsets = array<i64: 0, 0, 0>, flops = 1.0} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}
