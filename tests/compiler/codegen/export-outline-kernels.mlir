// What becomes a product, what a kernel, and what stays.
// RUN: npar-opt %s -split-input-file -export-outline-kernels | FileCheck %s

// Bias, gelu and the residual's add are one kernel; the product's axes batch and seq merge to m.
// CHECK-LABEL: func.func @fuse
// CHECK: %[[H:.*]] = rank.matmul %arg0, %arg1 {a = array<i64: 8, 1>, b = array<i64: 16, 1>, batch = array<i64>, c = array<i64: 16, 1>, k = 8 : i64, m = 6 : i64, n = 16 : i64}
// CHECK: %[[Y:.*]] = rank.launch @gelu_0(%[[H]], %arg2)
// CHECK: return %[[Y]]
// CHECK: rank.kernel @gelu_0 attributes {extent = 6 : i64, {{.*}}inplace = [array<i64: 0, 0>]}
// CHECK: nn.add
// CHECK: nn.gelu
func.func @fuse(%x: tensor<2x3x8xf32, #nn.axes<batch, seq, embed>>, %w: tensor<8x16xf32, #nn.axes<embed, hidden>>, %b: tensor<16xf32, #nn.axes<hidden>>) -> tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>> {
  %h = nn.einsum %x, %w : (tensor<2x3x8xf32, #nn.axes<batch, seq, embed>>, tensor<8x16xf32, #nn.axes<embed, hidden>>) -> tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>
  %s = nn.add %h, %b : (tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>, tensor<16xf32, #nn.axes<hidden>>) -> tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>
  %y = nn.gelu %s {approximate = "tanh"} : (tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>) -> tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>
  return %y : tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>
}

// -----
// A gradient's product adds to its accumulator; the transposed operand is read by its strides.
// CHECK-LABEL: func.func @accumulate
// CHECK: %[[OLD:.*]] = nn.read @w.grad.0
// CHECK: %[[SUM:.*]] = rank.matmul %arg0, %arg1 accumulate %[[OLD]] {a = array<i64: 1, 8>, b = array<i64: 16, 1>, batch = array<i64>, c = array<i64: 16, 1>, k = 6 : i64, m = 8 : i64, n = 16 : i64}
// CHECK: nn.write @w.grad.0, %[[SUM]]
nn.variable @w.grad.0 : tensor<8x16xf32, #nn.axes<embed, hidden>> {kind = #nn.kind<accumulator>}
func.func @accumulate(%x: tensor<2x3x8xf32, #nn.axes<batch, seq, embed>>, %dy: tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>) {
  %g = nn.einsum %x, %dy : (tensor<2x3x8xf32, #nn.axes<batch, seq, embed>>, tensor<2x3x16xf32, #nn.axes<batch, seq, hidden>>) -> tensor<8x16xf32, #nn.axes<embed, hidden>>
  nn.accumulate @w.grad.0, %g : tensor<8x16xf32, #nn.axes<embed, hidden>>
  return
}

// -----
// Attention scores: batch and head are batch loops; selected and renamed operands are views with an offset, no copies.
// CHECK-LABEL: func.func @scores
// CHECK-NOT: rank.launch
// CHECK: rank.matmul %arg0, %arg0 {a = array<i64: 120, 4, 24, 1>, b = array<i64: 120, 4, 1, 24>, b_offset = 8 : i64, batch = array<i64: 2, 2>, c = array<i64: 50, 25, 5, 1>, k = 4 : i64, m = 5 : i64, n = 5 : i64}
// CHECK-NEXT: return
func.func @scores(%x: tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<2x2x5x5xf32, #nn.axes<batch, head, seq, key>> {
  %q = nn.select %x at "part"[0] : (tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>
  %k = nn.select %x at "part"[1] : (tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>
  %r = nn.rename %k from "seq" to "key" : (tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>) -> tensor<2x5x2x4xf32, #nn.axes<batch, key, head, feature>>
  %s = nn.einsum %q, %r : (tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<2x5x2x4xf32, #nn.axes<batch, key, head, feature>>) -> tensor<2x2x5x5xf32, #nn.axes<batch, head, seq, key>>
  return %s : tensor<2x2x5x5xf32, #nn.axes<batch, head, seq, key>>
}

// -----
// Attention that placing has left whole is one step: selected operands are views, the group of heads has a stride where k and v have none.
// CHECK-LABEL: func.func @attention
// CHECK-NOT: rank.launch
// CHECK: rank.attention %arg0, %arg0, %arg0 {batch = array<i64: 2, 2>, causal, features = 4 : i64, flops = {{.*}}, heads = 1 : i64, keys = 5 : i64, offsets = array<i64: 0, 8, 16>, rows = 5 : i64, scale = 5.000000e-01 : f64, strides = [array<i64: 120, 4, 0, 24>, array<i64: 120, 4, 0, 24>, array<i64: 120, 4, 0, 24>, array<i64: 40, 4, 0, 8>, array<i64: 10, 5, 5, 1>], values = 4 : i64}
// CHECK-NEXT: return
func.func @attention(%x: tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>> {
  %q = nn.select %x at "part"[0] : (tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>
  %k = nn.select %x at "part"[1] : (tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>
  %v = nn.select %x at "part"[2] : (tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>
  %o, %l = nn.attention %q, %k, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked}
      : (tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>)
      -> (tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<2x2x5xf32, #nn.axes<batch, head, seq>>)
  return %o : tensor<2x5x2x4xf32, #nn.axes<batch, seq, head, feature>>
}

// -----
// Two axes that are contracted are one row, in the order that q has them: k, which has another, is copied, and so is its gradient. Groups of
// heads share the head of k.
// CHECK-LABEL: func.func @grouped_attention
// CHECK: %[[K:.*]] = rank.launch @broadcast
// CHECK: rank.attention_grad %arg0, %[[K]], %arg2, %arg4, %arg4, %arg3 {batch = array<i64: 2>, features = 6 : i64, {{.*}}heads = 3 : i64, {{.*}}strides = [array<i64: 90, 6, 18>, array<i64: 30, 0, 6>, array<i64: 20, 0, 4>, array<i64: 60, 4, 12>, array<i64: 60, 4, 12>, array<i64: 15, 5, 1>, array<i64: 90, 6, 18>, array<i64: 30, 0, 6>, array<i64: 20, 0, 4>], values = 4 : i64}
// CHECK: %[[DK:.*]] = rank.launch @broadcast
// CHECK: return %{{.*}}, %[[DK]]
!q = tensor<2x5x3x2x3xf32, #nn.axes<batch, seq, group, side, half>>
!k = tensor<2x5x3x2xf32, #nn.axes<batch, seq, half, side>>
!v = tensor<2x5x4xf32, #nn.axes<batch, seq, feature>>
!o = tensor<2x5x3x4xf32, #nn.axes<batch, seq, group, feature>>
func.func @grouped_attention(%q: !q, %k: !k, %v: !v, %l: tensor<2x3x5xf32, #nn.axes<batch, group, seq>>, %o: !o) -> (!q, !k) {
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %l, %o, %o {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5, blocked}
      : (!q, !k, !v, tensor<2x3x5xf32, #nn.axes<batch, group, seq>>, !o, !o) -> (!q, !k, !v)
  return %dq, %dk : !q, !k
}

// -----
// Heads that share keys along two axes are one group where they lie as one axis; the result is copied where the model has them otherwise.
// CHECK-LABEL: func.func @two_axes_of_heads
// CHECK: rank.attention %arg0, %arg1, %arg1 {batch = array<i64: 2>, {{.*}}heads = 6 : i64, {{.*}}strides = [array<i64: 120, 4, 24>, array<i64: 20, 0, 4>, array<i64: 20, 0, 4>, array<i64: 120, 4, 24>, array<i64: 30, 5, 1>]
// CHECK: rank.launch @broadcast
!q = tensor<2x5x2x3x4xf32, #nn.axes<batch, seq, head, group, feature>>
!o = tensor<2x5x3x2x4xf32, #nn.axes<batch, seq, group, head, feature>>
!k = tensor<2x5x4xf32, #nn.axes<batch, seq, feature>>
func.func @two_axes_of_heads(%q: !q, %k: !k) -> !o {
  %o, %l = nn.attention %q, %k, %k {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked}
      : (!q, !k, !k) -> (!o, tensor<2x2x3x5xf32, #nn.axes<batch, head, group, seq>>)
  return %o : !o
}

// -----
// Queries that are split meet all keys by the coordinates of their rank, if there is a mask to ask for them; in a zigzag order of other ranks, too.
// CHECK-LABEL: func.func @gathered
// CHECK: rank.attention %arg0, %arg1, %arg1 {{.*}}keys = 8 : i64, {{.*}}pieces = ["cp"], rows = 4 : i64, {{.*}}zigzag = 4 : i64}
// CHECK: rank.attention %arg0, %arg1, %arg1 {batch = array<i64>, features
// CHECK-NOT: pieces
// CHECK: return
!q = tensor<4x8xf32, #dist.layout<seq : 8 {cp}, feature : 8>>
!k = tensor<8x8xf32, #dist.layout<seq : 8, feature : 8>>
!l = tensor<4xf32, #dist.layout<seq : 8 {cp}>>
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.zigzag = {key = 4 : i64, seq = 4 : i64}} {
  func.func @gathered(%q: !q, %k: !k) -> (!q, !q) {
    %o, %l = nn.attention %q, %k, %k {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked} : (!q, !k, !k) -> (!q, !l)
    %p, %m = nn.attention %q, %k, %k {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5, blocked} : (!q, !k, !k) -> (!q, !l)
    return %o, %p : !q, !q
  }
}

// -----
// A step of a ring: the softmax so far is as its rows lie, and gradients are parts of sums.
// CHECK-LABEL: func.func @ring
// CHECK: %[[S:.*]] = rank.attention %arg0, %arg0, %arg0 {{.*}}pieces = ["cp"], {{.*}}step = 0 : i64, strides = [array<i64: 0, 8>, array<i64: 0, 8>, array<i64: 0, 8>, array<i64: 40, 10>]
// CHECK: %[[O:.*]]:2 = rank.attention %arg0, %arg1, %arg1, %[[S]] {{.*}}step = 1 : i64
// CHECK: rank.attention_grad %arg0, %arg1, %arg1, %[[O]]#0, %arg0, %[[O]]#1 {{.*}}partly, pieces = ["cp"], {{.*}}step = 1 : i64
!q = tensor<4x8xf32, #dist.layout<seq : 8 {cp}, feature : 8>>
!l = tensor<4xf32, #dist.layout<seq : 8 {cp}>>
!s = tensor<4x10xf32, #dist.layout<seq : 8 {cp}, seq.state : 10>>
module attributes {dist.mesh = #dist.mesh<cp = 2>} {
  func.func @ring(%q: !q, %k: !q) -> !q {
    %s = nn.ring_attention %q, %q, %q {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 0} : (!q, !q, !q) -> !s
    %o, %l = nn.ring_attention %q, %k, %k, %s {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 1} : (!q, !q, !q, !s) -> (!q, !l)
    %dq, %dk, %dv = nn.ring_attention_grad %q, %k, %k, %o, %q, %l {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 1}
        : (!q, !q, !q, !q, !q, !l) -> (!q, !q, !q)
    return %dq : !q
  }
}

// -----
// The result's last axis belongs to the first operand: the operands change places.
// CHECK-LABEL: func.func @swap
// CHECK: rank.matmul %arg1, %arg0 {{.*}}m = 3 : i64, n = 5 : i64
func.func @swap(%a: tensor<4x5xf32, #nn.axes<k, m>>, %b: tensor<4x3xf32, #nn.axes<k, n>>) -> tensor<3x5xf32, #nn.axes<n, m>> {
  %c = nn.einsum %a, %b : (tensor<4x5xf32, #nn.axes<k, m>>, tensor<4x3xf32, #nn.axes<k, n>>) -> tensor<3x5xf32, #nn.axes<n, m>>
  return %c : tensor<3x5xf32, #nn.axes<n, m>>
}

// -----
// Contracted axes in different orders cannot merge: one operand is copied in order first.
// CHECK-LABEL: func.func @reorder
// CHECK: rank.launch @broadcast
// CHECK: rank.matmul {{.*}}k = 6 : i64, m = 4 : i64, n = 5 : i64
func.func @reorder(%a: tensor<4x2x3xf32, #nn.axes<m, p, q>>, %b: tensor<3x2x5xf32, #nn.axes<q, p, n>>) -> tensor<4x5xf32, #nn.axes<m, n>> {
  %c = nn.einsum %a, %b : (tensor<4x2x3xf32, #nn.axes<m, p, q>>, tensor<3x2x5xf32, #nn.axes<q, p, n>>) -> tensor<4x5xf32, #nn.axes<m, n>>
  return %c : tensor<4x5xf32, #nn.axes<m, n>>
}

// -----
// A collective parts what would be one kernel, and equal kernels are shared. In float64 the product is a kernel.
// CHECK-LABEL: func.func @around
// CHECK: %[[P:.*]] = rank.launch @einsum_0(%arg0, %arg1)
// CHECK: %[[A:.*]] = rank.launch @exp_0(%[[P]])
// CHECK: %[[R:.*]] = dist.all_reduce %[[A]]
// CHECK: rank.launch @exp_1(%[[R]])
// CHECK: rank.launch @tanh_0(%arg0)
// CHECK: rank.launch @tanh_0(%arg2)
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @around(%a: tensor<4x2xf64, #dist.layout<m : 4, k : 2>>, %b: tensor<2x3xf64, #dist.layout<k : 2, n : 3>>, %c: tensor<4x2xf64, #dist.layout<m : 4, k : 2>>)
      -> (tensor<4x3xf64, #dist.layout<m : 4, n : 3>>, tensor<4x2xf64, #dist.layout<m : 4, k : 2>>, tensor<4x2xf64, #dist.layout<m : 4, k : 2>>) {
    %p = nn.einsum %a, %b : (tensor<4x2xf64, #dist.layout<m : 4, k : 2>>, tensor<2x3xf64, #dist.layout<k : 2, n : 3>>) -> tensor<4x3xf64, #dist.layout<m : 4, n : 3, partial = {tp : sum}>>
    %e = nn.exp %p : (tensor<4x3xf64, #dist.layout<m : 4, n : 3, partial = {tp : sum}>>) -> tensor<4x3xf64, #dist.layout<m : 4, n : 3, partial = {tp : sum}>>
    %r = dist.all_reduce %e {axes = ["tp"], op = "sum"} : tensor<4x3xf64, #dist.layout<m : 4, n : 3, partial = {tp : sum}>> -> tensor<4x3xf64, #dist.layout<m : 4, n : 3>>
    %y = nn.exp %r : (tensor<4x3xf64, #dist.layout<m : 4, n : 3>>) -> tensor<4x3xf64, #dist.layout<m : 4, n : 3>>
    %t = nn.tanh %a : (tensor<4x2xf64, #dist.layout<m : 4, k : 2>>) -> tensor<4x2xf64, #dist.layout<m : 4, k : 2>>
    %u = nn.tanh %c : (tensor<4x2xf64, #dist.layout<m : 4, k : 2>>) -> tensor<4x2xf64, #dist.layout<m : 4, k : 2>>
    return %y, %t, %u : tensor<4x3xf64, #dist.layout<m : 4, n : 3>>, tensor<4x2xf64, #dist.layout<m : 4, k : 2>>, tensor<4x2xf64, #dist.layout<m : 4, k : 2>>
  }
}

// -----
// A read keeps its place before the write of its variable, although the write's value would fuse with the later use.
// CHECK-LABEL: func.func @variables
// CHECK: %[[OLD:.*]] = nn.read @v
// CHECK: %[[A:.*]] = rank.launch @[[TANH:.*]](%[[OLD]])
// CHECK: nn.write @v, %[[A]]
// CHECK: %[[NEW:.*]] = nn.read @v
// CHECK: %[[B:.*]] = rank.launch @[[TANH]](%[[NEW]])
// CHECK: return %[[B]]
nn.variable @v : tensor<4xf32, #nn.axes<a>> {kind = #nn.kind<accumulator>}
func.func @variables() -> tensor<4xf32, #nn.axes<a>> {
  %0 = nn.read @v : tensor<4xf32, #nn.axes<a>>
  %1 = nn.tanh %0 : (tensor<4xf32, #nn.axes<a>>) -> tensor<4xf32, #nn.axes<a>>
  nn.write @v, %1 : tensor<4xf32, #nn.axes<a>>
  %2 = nn.read @v : tensor<4xf32, #nn.axes<a>>
  %3 = nn.tanh %2 : (tensor<4xf32, #nn.axes<a>>) -> tensor<4xf32, #nn.axes<a>>
  return %3 : tensor<4xf32, #nn.axes<a>>
}

// -----
// Sums of squares: one kernel per parameter with a row per block, counted by the first replica along tp but not along the pipeline; then
// the blocks of all are added in bins.
// CHECK-LABEL: func.func @squares
// CHECK: %[[S:.*]] = rank.launch @square_sum_0(%arg0)
// CHECK: %[[T:.*]] = rank.launch @square_sum_1(%arg1)
// CHECK: rank.launch @bin_sums_0(%[[S]], %[[T]])
// CHECK: rank.kernel @square_sum_0
// CHECK-SAME: extent = 1
// CHECK: rank.square_sum {{.*}} {replicas = []} : {{.*}} -> tensor<1xf64, #nn.axes<block>>
// CHECK: rank.kernel @square_sum_1
// CHECK: rank.square_sum {{.*}} {replicas = ["tp"]}
// CHECK: rank.bin_sums {{.*}} -> tensor<56xf64
module attributes {dist.mesh = #dist.mesh<pp = 2, tp = 2>, pipe.axis = "pp"} {
  func.func @squares(%a: tensor<4xf32, #dist.layout<hidden : 8 {tp}>>, %b: tensor<8xf32, #dist.layout<embed : 8>>) -> tensor<56xf64, #dist.layout<bin : 56, partial = {pp : sum, tp : sum}>> {
    %s = nn.square_sums %a, %b parameters [2, 0] : (tensor<4xf32, #dist.layout<hidden : 8 {tp}>>, tensor<8xf32, #dist.layout<embed : 8>>) -> tensor<56xf64, #dist.layout<bin : 56, partial = {pp : sum, tp : sum}>>
    return %s : tensor<56xf64, #dist.layout<bin : 56, partial = {pp : sum, tp : sum}>>
  }
}

// -----
// The gradients of a tied parameter's uses are added up by each kernel that needs the sum: nothing stores it.
// CHECK-LABEL: func.func @uses
// CHECK: rank.launch @combine_tanh_0(%arg0, %arg1)
// CHECK: rank.launch @square_sum_0(%arg0, %arg1)
func.func @uses(%a: tensor<8xf32, #nn.axes<embed>>, %b: tensor<8xf32, #nn.axes<embed>>) -> (tensor<56xf64, #nn.axes<bin>>, tensor<8xf32, #nn.axes<embed>>) {
  %c = nn.combine %a, %b : (tensor<8xf32, #nn.axes<embed>>, tensor<8xf32, #nn.axes<embed>>) -> tensor<8xf32, #nn.axes<embed>>
  %s = nn.square_sums %c parameters [0] : (tensor<8xf32, #nn.axes<embed>>) -> tensor<56xf64, #nn.axes<bin>>
  %d = nn.tanh %c : (tensor<8xf32, #nn.axes<embed>>) -> tensor<8xf32, #nn.axes<embed>>
  return %s, %d : tensor<56xf64, #nn.axes<bin>>, tensor<8xf32, #nn.axes<embed>>
}

// -----
// Products of 16-bit floats are the library's too; one that adds to a gradient in f32 does so itself.
// CHECK-LABEL: func.func @narrow
// CHECK: rank.matmul %arg0, %arg1 {{.*}} -> tensor<6x16xbf16
// CHECK: %[[OLD:.*]] = nn.read @w.grad.0
// CHECK: rank.matmul %arg0, %{{.*}} accumulate %[[OLD]] {{.*}} -> tensor<8x16xf32
nn.variable @w.grad.0 : tensor<8x16xf32, #nn.axes<embed, hidden>> {kind = #nn.kind<accumulator>}
func.func @narrow(%x: tensor<6x8xbf16, #nn.axes<batch, embed>>, %w: tensor<8x16xbf16, #nn.axes<embed, hidden>>) -> tensor<6x16xbf16, #nn.axes<batch, hidden>> {
  %y = nn.einsum %x, %w : (tensor<6x8xbf16, #nn.axes<batch, embed>>, tensor<8x16xbf16, #nn.axes<embed, hidden>>) -> tensor<6x16xbf16, #nn.axes<batch, hidden>>
  %g = nn.einsum %x, %y : (tensor<6x8xbf16, #nn.axes<batch, embed>>, tensor<6x16xbf16, #nn.axes<batch, hidden>>) -> tensor<8x16xf32, #nn.axes<embed, hidden>>
  nn.accumulate @w.grad.0, %g : tensor<8x16xf32, #nn.axes<embed, hidden>>
  return %y : tensor<6x16xbf16, #nn.axes<batch, hidden>>
}

// -----
// With one micro-batch what its stage adds to once is written; what two fragments add to is not.
// CHECK-LABEL: pipe.fragment @B0
// CHECK: %[[PRODUCT:.*]] = rank.matmul %{{.*}}, %{{.*}} {
// CHECK-NEXT: nn.write @w.grad.0, %[[PRODUCT]]
// CHECK-NEXT: %[[OLD:.*]] = nn.read @w.grad.1
// CHECK-NEXT: %[[SUM:.*]] = rank.matmul %{{.*}}, %{{.*}} accumulate %[[OLD]]
// CHECK-NEXT: nn.write @w.grad.1, %[[SUM]]
// CHECK-LABEL: pipe.fragment @W0
// CHECK: nn.read @w.grad.1
module attributes {npar.micro_count = 1 : i64} {
  nn.variable @w.grad.0 : tensor<8x16xf32, #nn.axes<embed, hidden>> {kind = #nn.kind<accumulator>}
  nn.variable @w.grad.1 : tensor<8x16xf32, #nn.axes<embed, hidden>> {kind = #nn.kind<accumulator>}
  pipe.fragment @B0 stage(0) phase(B) {
    %x = nn.input "x" : tensor<3x8xf32, #nn.axes<batch, embed>>
    %dy = nn.input "dy" : tensor<3x16xf32, #nn.axes<batch, hidden>>
    %g = nn.einsum %x, %dy : (tensor<3x8xf32, #nn.axes<batch, embed>>, tensor<3x16xf32, #nn.axes<batch, hidden>>) -> tensor<8x16xf32, #nn.axes<embed, hidden>>
    nn.accumulate @w.grad.0, %g : tensor<8x16xf32, #nn.axes<embed, hidden>>
    %h = nn.einsum %x, %dy : (tensor<3x8xf32, #nn.axes<batch, embed>>, tensor<3x16xf32, #nn.axes<batch, hidden>>) -> tensor<8x16xf32, #nn.axes<embed, hidden>>
    nn.accumulate @w.grad.1, %h : tensor<8x16xf32, #nn.axes<embed, hidden>>
  }
  pipe.fragment @W0 stage(0) phase(W) {
    %x = nn.input "x" : tensor<3x8xf32, #nn.axes<batch, embed>>
    %dy = nn.input "dy" : tensor<3x16xf32, #nn.axes<batch, hidden>>
    %g = nn.einsum %x, %dy : (tensor<3x8xf32, #nn.axes<batch, embed>>, tensor<3x16xf32, #nn.axes<batch, hidden>>) -> tensor<8x16xf32, #nn.axes<embed, hidden>>
    nn.accumulate @w.grad.1, %g : tensor<8x16xf32, #nn.axes<embed, hidden>>
  }
}

// -----
// What is done to scores is a kernel for blocks of 32 rows, of queries forward and of keys backward, whose gradient gives what slopes are made of.
// CHECK-LABEL: func.func @scores
// CHECK: rank.attention %arg0, %arg0, %arg0, %arg1 {{{.*}}data = [array<i64: 0, -1, 1, 8, 0, -1>]{{.*}}kernels = [@scores_0]
// CHECK: rank.attention_grad %arg0, %arg0, %arg0, %arg0, %arg0, %arg2, %arg1 {{{.*}}data = [array<i64: 0, -1, 1, 8, 0, -1>, array<i64: 0, -1, 1, 8, 0, 0>]{{.*}}kernels = [@scores_1, @scores_grad_0]
// CHECK-NOT: nn.scores
// CHECK: rank.kernel @scores_0
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<32x32xf32, #nn.axes<score.query, score.key>>, %{{.+}}: tensor<32xi32, #nn.axes<score.query>>, %{{.+}}: tensor<32xi32, #nn.axes<score.key>>, %{{.+}}: tensor<32xf32, #nn.axes<score.key>>):
// CHECK: rank.kernel @scores_1
// CHECK-NEXT: ^bb0(%{{.+}}: tensor<32x32xf32, #nn.axes<score.key, score.query>>
// CHECK: rank.kernel @scores_grad_0
// CHECK-NEXT: ^bb0(%[[Y:.+]]: tensor<32x32xf32, #nn.axes<score.key, score.query>>, {{.+}}, %[[DY:.+]]: tensor<32x32xf32, #nn.axes<score.key, score.query>>):
// CHECK: rank.yield %{{.+}}, %{{.+}} : tensor<32x32xf32, #nn.axes<score.key, score.query>>, tensor<32x32xf32, #nn.axes<score.key, score.query>>
!q = tensor<8x8xf32, #nn.axes<seq, feature>>
!l = tensor<8xf32, #nn.axes<seq>>
!b = tensor<8xf32, #nn.axes<key>>
!x = tensor<1x1xf32, #nn.axes<score.query, score.key>>
!i = tensor<1xi32, #nn.axes<score.query>>
!j = tensor<1xi32, #nn.axes<score.key>>
!w = tensor<1xf32, #nn.axes<score.key>>
module attributes {dist.mesh = #dist.mesh<>} {
  nn.scores @formula {
  ^bb0(%x: !x, %i: !i, %j: !j, %b: !w):
    %0 = nn.broadcast %b : (!w) -> !x
    %1 = nn.mul %x, %0 : (!x, !x) -> !x
    nn.scores_yield %1 : !x
  }
  func.func @scores(%q: !q, %b: !b, %l: !l) -> (!q, !b) {
    %o, %l2 = nn.attention %q, %q, %q, %b {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5, blocked,
        scores = @formula, sloped = array<i64: 0>} : (!q, !q, !q, !b) -> (!q, !l)
    %dq, %dk, %dv, %db = nn.attention_grad %q, %q, %q, %l, %q, %q, %b {seq = "seq", key = "key", feature = "feature", causal = false,
        scale = 0.5, blocked, scores = @formula, sloped = array<i64: 0>} : (!q, !q, !q, !l, !q, !q, !b) -> (!q, !q, !q, !b)
    return %o, %db : !q, !b
  }
}

// -----
// What needs powers and a cosine is a kernel of scalars, also where one update alone takes them: the update's own calls nothing of the C library.
// CHECK-LABEL: func.func @update
// CHECK: %[[S:.+]]:3 = rank.launch @learning_rate_step_values_0()
// CHECK: rank.launch @optimize_0(%arg0, %arg1, %arg4, %arg2, %arg3, %[[S]]#0, %[[S]]#1, %[[S]]#2)
// CHECK: rank.kernel @learning_rate_step_values_0
// CHECK: nn.learning_rate
// CHECK: nn.step_values
// CHECK: rank.kernel @optimize_0
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.optimize
// CHECK-NEXT: rank.yield
!p = tensor<768xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @update(%w: !p, %g: !p, %m: !p, %v: !p, %f: !s) -> (!p, !p, !p) {
  %rate = nn.learning_rate "cosine" {peak = 1.0e-3, warmup = 10, steps = 110, final = 1.0e-4} : !s
  %keep, %size, %root = nn.step_values %rate {names = ["lr"], definitions = [], formulas = ["sub(1, mul(lr, 0.1))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]} : (!s) -> (!s, !s, !s)
  %0, %1, %2 = nn.optimize %w, %g, %f, %m, %v, %keep, %size, %root {names = ["w", "g", "m", "v", "keep", "size", "root"], definitions = ["%0 = add(m, mul(sub(g, m), 0.1))", "%1 = add(mul(v, 0.95), mul(mul(g, g), 0.05))"],
    formulas = ["sub(mul(w, keep), mul(size, div(%0, add(div(sqrt(%1), root), 1e-08))))", "%0", "%1"]}
    : (!p, !p, !s, !p, !p, !s, !s, !s) -> (!p, !p, !p)
  return %0, %1, %2 : !p, !p, !p
}

// -----
// Products in tf32 say so; one that no stride fits is a kernel that rounds.
// CHECK-LABEL: func.func @tf32
// CHECK: rank.matmul %arg0, %arg1 {{.*}}n = 16 : i64, tf32}
// CHECK: rank.launch @einsum_0
// CHECK: rank.kernel @einsum_0
// CHECK: nn.einsum %{{.+}}, %{{.+}} {tf32}
func.func @tf32(%x: tensor<6x8xf32, #nn.axes<batch, embed>>, %w: tensor<8x16xf32, #nn.axes<embed, hidden>>, %a: tensor<4x3x5xf32, #nn.axes<m, k, n>>, %b: tensor<3x2x5xf32, #nn.axes<k, o, n>>) -> (tensor<6x16xf32, #nn.axes<batch, hidden>>, tensor<4x2x5xf32, #nn.axes<m, o, n>>) {
  %y = nn.einsum %x, %w {tf32} : (tensor<6x8xf32, #nn.axes<batch, embed>>, tensor<8x16xf32, #nn.axes<embed, hidden>>) -> tensor<6x16xf32, #nn.axes<batch, hidden>>
  %c = nn.einsum %a, %b {tf32} : (tensor<4x3x5xf32, #nn.axes<m, k, n>>, tensor<3x2x5xf32, #nn.axes<k, o, n>>) -> tensor<4x2x5xf32, #nn.axes<m, o, n>>
  return %y, %c : tensor<6x16xf32, #nn.axes<batch, hidden>>, tensor<4x2x5xf32, #nn.axes<m, o, n>>
}

// -----
// A rank may have one entry of an axis in one op and all of them in the next, as where a split operand meets a whole one: no kernel has both.
// CHECK-LABEL: func.func @one_entry_and_all
// CHECK: %[[Y:.*]]:2 = rank.launch @sum_exp_0(%arg0)
// CHECK: rank.launch @add_0(%arg1, %[[Y]]#0)
// CHECK: rank.launch @gather_0(%arg1, %arg2)
// CHECK-LABEL: rank.kernel @sum_exp_0
func.func @one_entry_and_all(%one: tensor<8x1xf32, #nn.axes<batch, expert>>, %all: tensor<8x4xf32, #nn.axes<batch, expert>>, %i: tensor<8xi32, #nn.axes<batch>>)
    -> (tensor<8x4xf32, #nn.axes<batch, expert>>, tensor<8x1xf32, #nn.axes<batch, expert>>, tensor<8xf32, #nn.axes<batch>>) {
  %y = nn.sum %one : (tensor<8x1xf32, #nn.axes<batch, expert>>) -> tensor<8xf32, #nn.axes<batch>>
  %z = nn.add %all, %y : (tensor<8x4xf32, #nn.axes<batch, expert>>, tensor<8xf32, #nn.axes<batch>>) -> tensor<8x4xf32, #nn.axes<batch, expert>>
  %e = nn.exp %one : (tensor<8x1xf32, #nn.axes<batch, expert>>) -> tensor<8x1xf32, #nn.axes<batch, expert>>
  %g = nn.gather %all, %i over "expert" : (tensor<8x4xf32, #nn.axes<batch, expert>>, tensor<8xi32, #nn.axes<batch>>) -> tensor<8xf32, #nn.axes<batch>>
  return %z, %e, %g : tensor<8x4xf32, #nn.axes<batch, expert>>, tensor<8x1xf32, #nn.axes<batch, expert>>, tensor<8xf32, #nn.axes<batch>>
}

// -----
// Grouped products: samples and groups are the batch loops, rows are chosen by the ranges. The gradient of matrices that are stored transposed
// changes its operands over, and an operand without a unit stride is copied first.
// CHECK-LABEL: func.func @grouped
// CHECK: rank.matmul %arg0, %arg1 grouped %arg3, %arg4 {a = array<i64: 48, 0, 8, 1>, b = array<i64: 0, 40, 5, 1>, batch = array<i64: 2, 3>, c = array<i64: 30, 0, 5, 1>, k = 8 : i64, m = 6 : i64, n = 5 : i64}
// CHECK: rank.matmul %arg2, %arg0 grouped %arg3, %arg4 {a = array<i64: 30, 0, 1, 5>, b = array<i64: 48, 0, 8, 1>, batch = array<i64: 2, 3>, c = array<i64: 0, 40, 8, 1>, depth, k = 6 : i64, m = 5 : i64, n = 8 : i64}
// CHECK: %[[COPY:.*]] = rank.launch @broadcast_0(%arg5)
// CHECK: rank.matmul %arg0, %[[COPY]] grouped %arg3, %arg4 {{.*}}b = array<i64: 0, 40, 5, 1>
func.func @grouped(%x: tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, %w: tensor<3x8x5xf32, #nn.axes<expert, embed, hidden>>,
                   %dy: tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>, %first: tensor<2x3xi32, #nn.axes<batch, expert>>,
                   %last: tensor<2x3xi32, #nn.axes<batch, expert>>, %v: tensor<8x5x3xf32, #nn.axes<embed, hidden, expert>>)
    -> (tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>, tensor<3x5x8xf32, #nn.axes<expert, hidden, embed>>, tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>) {
  %y = nn.grouped %x, %w, %first, %last of "expert" along "row" : (tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, tensor<3x8x5xf32, #nn.axes<expert, embed, hidden>>, tensor<2x3xi32, #nn.axes<batch, expert>>, tensor<2x3xi32, #nn.axes<batch, expert>>) -> tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>
  %g = nn.grouped_weights %x, %dy, %first, %last of "expert" along "row" : (tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>, tensor<2x3xi32, #nn.axes<batch, expert>>, tensor<2x3xi32, #nn.axes<batch, expert>>) -> tensor<3x5x8xf32, #nn.axes<expert, hidden, embed>>
  %z = nn.grouped %x, %v, %first, %last of "expert" along "row" : (tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, tensor<8x5x3xf32, #nn.axes<embed, hidden, expert>>, tensor<2x3xi32, #nn.axes<batch, expert>>, tensor<2x3xi32, #nn.axes<batch, expert>>) -> tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>
  return %y, %g, %z : tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>, tensor<3x5x8xf32, #nn.axes<expert, hidden, embed>>, tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>
}

// -----
// Rows from the 6th of each piece on: the ranges are cut to the 6 rows that the tensor has.
// CHECK-LABEL: func.func @grouped_round
// CHECK: %[[FIRST:.*]] = rank.launch {{.*}}(%arg2)
// CHECK: %[[LAST:.*]] = rank.launch {{.*}}(%arg3)
// CHECK: rank.matmul %arg0, %arg1 grouped %[[FIRST]], %[[LAST]]
func.func @grouped_round(%x: tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, %w: tensor<3x8x5xf32, #nn.axes<expert, embed, hidden>>,
                         %first: tensor<2x3xi32, #nn.axes<batch, expert>>, %last: tensor<2x3xi32, #nn.axes<batch, expert>>)
    -> tensor<2x6x5xf32, #nn.axes<batch, row, hidden>> {
  %y = nn.grouped %x, %w, %first, %last of "expert" along "row" {offset = 6 : i64} : (tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, tensor<3x8x5xf32, #nn.axes<expert, embed, hidden>>, tensor<2x3xi32, #nn.axes<batch, expert>>, tensor<2x3xi32, #nn.axes<batch, expert>>) -> tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>
  return %y : tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>
}

// -----
// The gradient of experts' matrices is added to its accumulator by the product itself.
// CHECK-LABEL: func.func @grouped_accumulate
// CHECK: %[[OLD:.*]] = nn.read @w.grad.0
// CHECK: %[[SUM:.*]] = rank.matmul %arg1, %arg0 accumulate %[[OLD]] grouped %arg2, %arg3 {{.*}}depth
// CHECK: nn.write @w.grad.0, %[[SUM]]
nn.variable @w.grad.0 : tensor<3x5x8xf32, #nn.axes<expert, hidden, embed>> {kind = #nn.kind<accumulator>}
func.func @grouped_accumulate(%x: tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, %dy: tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>,
                              %first: tensor<2x3xi32, #nn.axes<batch, expert>>, %last: tensor<2x3xi32, #nn.axes<batch, expert>>) {
  %g = nn.grouped_weights %x, %dy, %first, %last of "expert" along "row" : (tensor<2x6x8xf32, #nn.axes<batch, row, embed>>, tensor<2x6x5xf32, #nn.axes<batch, row, hidden>>, tensor<2x3xi32, #nn.axes<batch, expert>>, tensor<2x3xi32, #nn.axes<batch, expert>>) -> tensor<3x5x8xf32, #nn.axes<expert, hidden, embed>>
  nn.accumulate @w.grad.0, %g : tensor<3x5x8xf32, #nn.axes<expert, hidden, embed>>
  return
}

// -----
// Kernels on rows have the part of them that exists, which the product knows that they meet, also under another name; those of positions
// have all.
// CHECK-LABEL: func.func @existing_rows
// CHECK: rank.launch @silu_0(
// CHECK: rank.launch @exp_0(
// CHECK: rank.launch @exp_1(
// CHECK: rank.kernel @silu_0 attributes {existing = {{.*}}, extent = {{[0-9]+}} : i64, filled = 2.500000e-01 : f64
// CHECK: rank.kernel @exp_0 attributes {existing = {{.*}}, extent = {{[0-9]+}} : i64, filled = 2.500000e-01 : f64
// CHECK: rank.kernel @exp_1 attributes {extent = {{[0-9]+}} : i64, flops
!x = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, embed>>
!y = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, hidden>>
!z = tensor<2x6x8xf32, #nn.axes<batch, seq, hidden>>
!r = tensor<2x3xi32, #nn.axes<batch, expert>>
func.func @existing_rows(%x: !x, %w: tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, %first: !r, %last: !r, %z: !z)
    -> (tensor<2x6x8xf32, #nn.axes<batch, expert.rows.other, hidden>>, !z) {
  %s = nn.silu %x : (!x) -> !x
  %y = nn.grouped %s, %w, %first, %last of "expert" along "expert.rows.row" {filled = 0.25 : f64} : (!x, tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, !r, !r) -> !y
  %n = nn.rename %y from "expert.rows.row" to "expert.rows.other" : (!y) -> tensor<2x6x8xf32, #nn.axes<batch, expert.rows.other, hidden>>
  %e = nn.exp %n : (tensor<2x6x8xf32, #nn.axes<batch, expert.rows.other, hidden>>) -> tensor<2x6x8xf32, #nn.axes<batch, expert.rows.other, hidden>>
  %f = nn.exp %z : (!z) -> !z
  return %e, %f : tensor<2x6x8xf32, #nn.axes<batch, expert.rows.other, hidden>>, !z
}

// -----
// A kernel on routed rows gets their ends as its last operand, also where the rows of several samples are scaled; a kernel that adds up
// features has its rows, too. What is no tensor of rows has none.
// CHECK-LABEL: func.func @ends_of_rows
// CHECK: %[[S:.*]] = rank.launch @silu_0(%arg0, %arg3) : (
// CHECK: rank.matmul %[[S]], %arg1 grouped %arg2, %arg3
// CHECK: rank.launch @sum_0(%{{.*}}, %arg3) : (
// CHECK: rank.launch @exp_0(%arg4) : (
// CHECK: rank.kernel @silu_0 attributes {existing = #rank.existing<row = "expert.rows.row", entry = "expert", ends = ["batch", "expert"], places = 6, clears = false>, extent = 12 : i64
// CHECK: rank.kernel @sum_0 attributes {existing = #rank.existing<{{.*}}clears = false>, extent = 12 : i64
// CHECK: rank.kernel @exp_0 attributes {extent = {{[0-9]+}} : i64, flops
!x = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, embed>>
!y = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, hidden>>
!s = tensor<2x6xf32, #nn.axes<batch, expert.rows.row>>
!z = tensor<2x6x8xf32, #nn.axes<batch, seq, hidden>>
!r = tensor<2x3xi32, #nn.axes<batch, expert>>
func.func @ends_of_rows(%x: !x, %w: tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, %first: !r, %last: !r, %z: !z) -> (!y, !s, !z) {
  %s = nn.silu %x : (!x) -> !x
  %y = nn.grouped %s, %w, %first, %last of "expert" along "expert.rows.row" : (!x, tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, !r, !r) -> !y
  %t = nn.sum %y : (!y) -> !s
  %f = nn.exp %z : (!z) -> !z
  return %y, %t, %f : !y, !s, !z
}

// -----
// A sum over all rows reads places without rows, so kernels store zeros there, also under the axis's other name; the sum itself computes
// all places.
// CHECK-LABEL: func.func @sum_of_rows
// CHECK: rank.launch @silu_0(%arg0, %arg3) : (
// CHECK: rank.launch @sum_0(%{{[0-9a-z]+}}) : (
// CHECK: rank.kernel @silu_0 attributes {existing = #rank.existing<{{.*}}clears = true>
// CHECK: rank.kernel @sum_0 attributes {extent
!x = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, embed>>
!y = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, hidden>>
!l = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row.local, embed>>
!r = tensor<2x3xi32, #nn.axes<batch, expert>>
func.func @sum_of_rows(%x: !x, %w: tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, %first: !r, %last: !r, %l: !l)
    -> (!y, tensor<8xf32, #nn.axes<embed>>) {
  %s = nn.silu %x : (!x) -> !x
  %y = nn.grouped %s, %w, %first, %last of "expert" along "expert.rows.row" : (!x, tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, !r, !r) -> !y
  %n = nn.rename %x from "expert.rows.row" to "expert.rows.row.local" : (!x) -> !l
  %t = nn.sum %l : (!l) -> tensor<8xf32, #nn.axes<embed>>
  return %y, %t : !y, tensor<8xf32, #nn.axes<embed>>
}

// -----
// Rows of all ranks have the ends of none of them: kernels compute all places. The rows of one rank have theirs again.
// CHECK-LABEL: func.func @rows_of_all_ranks
// CHECK: rank.kernel @silu_0 attributes {extent = {{[0-9]+}} : i64, flops
// CHECK: rank.kernel @slice_exp_0 attributes {existing = #rank.existing<{{.*}}filled = 2.500000e-01 : f64
!x = tensor<2x6x8xf32, #dist.layout<batch : 2, expert.rows.row : 12 {ep}, embed : 8>>
!all = tensor<2x12x8xf32, #dist.layout<batch : 2, expert.rows.row : 12, embed : 8>>
!w = tensor<3x8x8xf32, #dist.layout<expert : 6 {ep}, embed : 8, hidden : 8>>
!v = tensor<3x8x8xf32, #dist.layout<expert : 6 {ep}, hidden : 8, embed : 8>>
!h = tensor<2x6x8xf32, #dist.layout<batch : 2, expert.rows.row : 12 {ep}, hidden : 8>>
!r = tensor<2x3xi32, #dist.layout<batch : 2, expert : 6 {ep}>>
module attributes {dist.mesh = #dist.mesh<ep = 2>} {
  func.func @rows_of_all_ranks(%h: !h, %w: !w, %v: !v, %first: !r, %last: !r) -> !h {
    %x = nn.grouped %h, %v, %first, %last of "expert" along "expert.rows.row" {filled = 0.25 : f64, pieces = 2 : i64} : (!h, !v, !r, !r) -> !x
    %all = dist.all_gather %x {axes = ["ep"], dim = "expert.rows.row"} : !x -> !all
    %s = nn.silu %all : (!all) -> !all
    %own = dist.slice %s {axes = ["ep"], dim = "expert.rows.row"} : !all -> !x
    %e = nn.exp %own : (!x) -> !x
    %y = nn.grouped %e, %w, %first, %last of "expert" along "expert.rows.row" {filled = 0.25 : f64, pieces = 2 : i64} : (!x, !w, !r, !r) -> !h
    return %y : !h
  }
}

// -----
// A kernel waits for ends that are computed after it in the text.
// CHECK-LABEL: func.func @waits_for_ends
// CHECK: %[[LAST:.*]] = rank.launch @integer_0(
// CHECK: rank.launch @silu_0(%arg0, %[[LAST]]) : (
!x = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, embed>>
!y = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, hidden>>
!r = tensor<2x3xi32, #nn.axes<batch, expert>>
func.func @waits_for_ends(%x: !x, %w: tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, %first: !r, %last: !r) -> !y {
  %s = nn.silu %x : (!x) -> !x
  %l = nn.integer "add" %last, %first : (!r, !r) -> !r
  %y = nn.grouped %s, %w, %first, %l of "expert" along "expert.rows.row" : (!x, tensor<3x8x8xf32, #nn.axes<expert, embed, hidden>>, !r, !r) -> !y
  return %y : !y
}

// -----
// Kernels that differ only in how many of their rows exist on average have one code.
// CHECK-LABEL: func.func @one_code
// CHECK: rank.launch @silu_0(
// CHECK: rank.launch @silu_1(
// CHECK: rank.launch @silu_1(
// CHECK: rank.kernel @silu_0 attributes {existing = [[ROWS:#rank.existing<[^>]*>]], extent = [[EXTENT:[0-9]+]] : i64, filled = 2.500000e-01 : f64, flops = [[FLOPS:[^ ]+]] : f64, inplace = [[INPLACE:.*]]} {
// CHECK: rank.kernel @silu_1 attributes {code = @silu_0, existing = [[ROWS]], extent = [[EXTENT]] : i64, flops = [[FLOPS]] : f64, inplace = [[INPLACE]]} {
// CHECK-NOT: rank.kernel
!x = tensor<2x6x8xf32, #nn.axes<batch, expert.rows.row, embed>>
!h = tensor<2x6x4xf32, #nn.axes<batch, expert.rows.row, hidden>>
!w = tensor<3x8x4xf32, #nn.axes<expert, embed, hidden>>
!r = tensor<2x3xi32, #nn.axes<batch, expert>>
func.func @one_code(%x: !x, %y: !x, %z: !x, %d: !h, %first: !r, %last: !r) -> (!w, !w, !w) {
  %a = nn.silu %x : (!x) -> !x
  %b = nn.silu %y : (!x) -> !x
  %c = nn.silu %z : (!x) -> !x
  %e = nn.grouped_weights %a, %d, %first, %last of "expert" along "expert.rows.row" {filled = 0.25 : f64} : (!x, !h, !r, !r) -> !w
  %f = nn.grouped_weights %b, %d, %first, %last of "expert" along "expert.rows.row" : (!x, !h, !r, !r) -> !w
  %g = nn.grouped_weights %c, %d, %first, %last of "expert" along "expert.rows.row" : (!x, !h, !r, !r) -> !w
  return %e, %f, %g : !w, !w, !w
}
