// Kernels for which there is no code, and a form of code that there is not.
// RUN: npar-opt %s -split-input-file -codegen-show-kernels -verify-diagnostics
// RUN: not npar-opt %s -split-input-file -codegen-show-kernels=stage=assembly 2>&1 | FileCheck %s

// CHECK: codegen-show-kernels: 'stage' is linalg, loops, threads or ptx, not 'assembly'

// A library product is a step of its own, no part of a kernel.
rank.kernel @product attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%a: tensor<4x4xf32, #nn.axes<row, column>>):
  // expected-error @+1 {{has no lowering to a kernel}}
  %0 = rank.matmul %a, %a {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 4, 1>, b = array<i64: 4, 1>,
      c = array<i64: 4, 1>} : (tensor<4x4xf32, #nn.axes<row, column>>, tensor<4x4xf32, #nn.axes<row, column>>) -> tensor<4x4xf32, #nn.axes<row, column>>
  rank.yield %0 : tensor<4x4xf32, #nn.axes<row, column>>
}

// -----
// The loops are those of the widest op: it has to have all axes.
// expected-error @+1 {{axis 'seq' is not a loop of the kernel's widest op}}
rank.kernel @apart attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%x: tensor<20xf32, #nn.axes<embed>>, %y: tensor<3xf32, #nn.axes<seq>>):
  %0 = nn.exp %x : (tensor<20xf32, #nn.axes<embed>>) -> tensor<20xf32, #nn.axes<embed>>
  %1 = nn.exp %y : (tensor<3xf32, #nn.axes<seq>>) -> tensor<3xf32, #nn.axes<seq>>
  rank.yield %0, %1 : tensor<20xf32, #nn.axes<embed>>, tensor<3xf32, #nn.axes<seq>>
}

// -----
// Rows are what no reduction reduces: a row sum and a column sum leave none.
// expected-error @+1 {{reductions of one kernel reduce different axes}}
rank.kernel @crossed attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%x: tensor<3x20xf32, #nn.axes<seq, key>>):
  %0 = nn.sum %x : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<3xf32, #nn.axes<seq>>
  %1 = nn.sum %x : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<20xf32, #nn.axes<key>>
  rank.yield %0, %1 : tensor<3xf32, #nn.axes<seq>>, tensor<20xf32, #nn.axes<key>>
}

// -----
// A scattered sum is a kernel's last op, but for the addition of what was there before.
// expected-error @+1 {{does not end with the scattered sum}}
rank.kernel @followed attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%t: tensor<3xi32, #nn.axes<seq>>, %d: tensor<3x16xf32, #nn.axes<seq, embed>>):
  %0 = nn.scatter_add %t, %d over "vocab" : (tensor<3xi32, #nn.axes<seq>>, tensor<3x16xf32, #nn.axes<seq, embed>>) -> tensor<8x16xf32, #nn.axes<vocab, embed>>
  %1 = nn.exp %0 : (tensor<8x16xf32, #nn.axes<vocab, embed>>) -> tensor<8x16xf32, #nn.axes<vocab, embed>>
  rank.yield %1 : tensor<8x16xf32, #nn.axes<vocab, embed>>
}

// -----
// Its rows come from memory.
// expected-error @+1 {{computes an operand of 'nn.scatter_add'}}
rank.kernel @preceded attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%t: tensor<3xi32, #nn.axes<seq>>, %d: tensor<3x16xf32, #nn.axes<seq, embed>>):
  %0 = nn.exp %d : (tensor<3x16xf32, #nn.axes<seq, embed>>) -> tensor<3x16xf32, #nn.axes<seq, embed>>
  %1 = nn.scatter_add %t, %0 over "vocab" : (tensor<3xi32, #nn.axes<seq>>, tensor<3x16xf32, #nn.axes<seq, embed>>) -> tensor<8x16xf32, #nn.axes<vocab, embed>>
  rank.yield %1 : tensor<8x16xf32, #nn.axes<vocab, embed>>
}

// -----
// What is appended comes from memory.
// expected-error @+1 {{computes an operand of 'nn.append'}}
rank.kernel @computed attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%k: tensor<8x16xf32, #nn.axes<key, embed>>, %d: tensor<3x16xf32, #nn.axes<seq, embed>>, %i: tensor<3xi32, #nn.axes<seq>>):
  %0 = nn.exp %d : (tensor<3x16xf32, #nn.axes<seq, embed>>) -> tensor<3x16xf32, #nn.axes<seq, embed>>
  %1 = nn.append %k, %0 at %i along "seq" to "key" : (tensor<8x16xf32, #nn.axes<key, embed>>, tensor<3x16xf32, #nn.axes<seq, embed>>, tensor<3xi32, #nn.axes<seq>>) -> tensor<8x16xf32, #nn.axes<key, embed>>
  rank.yield %1 : tensor<8x16xf32, #nn.axes<key, embed>>
}

// -----
// Rows of the table lie in memory one after the other.
rank.kernel @columns attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%t: tensor<3xi32, #nn.axes<seq>>, %d: tensor<3x16xf32, #nn.axes<seq, embed>>):
  // expected-error @+1 {{has a table whose first axis is not 'vocab': not supported by the code generator}}
  %0 = nn.scatter_add %t, %d over "vocab" : (tensor<3xi32, #nn.axes<seq>>, tensor<3x16xf32, #nn.axes<seq, embed>>) -> tensor<16x8xf32, #nn.axes<embed, vocab>>
  rank.yield %0 : tensor<16x8xf32, #nn.axes<embed, vocab>>
}

// -----
// An axis has one size in all of a kernel.
// expected-error @+1 {{axis 'embed' has sizes 20 and 3 in one kernel}}
rank.kernel @sizes attributes {extent = 1 : i64, flops = 0.0 : f64} {
^bb0(%x: tensor<20xf32, #nn.axes<embed>>, %y: tensor<3xf32, #nn.axes<embed>>):
  %0 = nn.exp %x : (tensor<20xf32, #nn.axes<embed>>) -> tensor<20xf32, #nn.axes<embed>>
  %1 = nn.exp %y : (tensor<3xf32, #nn.axes<embed>>) -> tensor<3xf32, #nn.axes<embed>>
  rank.yield %0, %1 : tensor<20xf32, #nn.axes<embed>>, tensor<3xf32, #nn.axes<embed>>
}
