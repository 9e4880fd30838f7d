// Padding that a product would sum, or that a variable would keep, is zeroed unless it is known to be zero (RULES.md#P8).
// RUN: npar-opt %s -split-input-file -place-mask-padding | FileCheck %s

!table = tensor<3x4xf32, #dist.layout<vocab : 5 {tp}, embed : 4>>
!row = tensor<3xf32, #dist.layout<vocab : 5 {tp}>>
!whole = tensor<4xf32, #dist.layout<embed : 4, partial = {tp : sum}>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  nn.variable @w : !table {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [5, 4]}
  nn.variable @g : !row {kind = #nn.kind<accumulator>}
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %w = nn.read @w : !table
    %x = nn.input "x" : !row
    // What comes from outside is unknown; the parameter's padding is zero.
    // CHECK: %[[M:.*]] = dist.mask_padding %{{.*}} {dims = ["vocab"]}
    // CHECK: nn.einsum %[[M]], %{{[0-9]+}} :
    %a = nn.einsum %x, %w : (!row, !table) -> !whole
    // Zero stays zero through gelu and products, not through exp.
    %r = nn.sum %w : (!table) -> !row
    %h = nn.gelu %r : (!row) -> !row
    // CHECK: %[[H:.*]] = nn.gelu
    // CHECK-NEXT: nn.einsum %[[H]]
    %b = nn.einsum %h, %w : (!row, !table) -> !whole
    %e = nn.exp %h : (!row) -> !row
    // CHECK: %[[E:.*]] = dist.mask_padding
    // CHECK-NEXT: nn.einsum %[[E]]
    %c = nn.einsum %e, %w : (!row, !table) -> !whole
    // CHECK: %[[G:.*]] = dist.mask_padding
    // CHECK-NEXT: nn.accumulate @g, %[[G]]
    nn.accumulate @g, %e : !row
    // CHECK-NEXT: nn.accumulate @g
    nn.accumulate @g, %h : !row
    return
  }
}

// -----
// What is dealt out flat must hold zeros in the padding of its shards, for the padding has no place of its own afterwards.
// CHECK-LABEL: func.func @flat
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>} {
  func.func @flat() {
    %x = nn.input "x" : tensor<4xf32, #dist.layout<vocab : 7 {tp}>>
    // CHECK: %[[M:.*]] = dist.mask_padding {{.*}} {dims = ["vocab"]}
    // CHECK: dist.reshard %[[M]]
    %f = dist.reshard %x : tensor<4xf32, #dist.layout<vocab : 7 {tp}>> -> tensor<1024xf32, #dist.layout<vocab : 7 {tp}, flat = {dp}>>
    // CHECK-NOT: dist.mask_padding
    %g = dist.reshard %f : tensor<1024xf32, #dist.layout<vocab : 7 {tp}, flat = {dp}>> -> tensor<4xf32, #dist.layout<vocab : 7 {tp}>>
    nn.write @v, %g : tensor<4xf32, #dist.layout<vocab : 7 {tp}>>
    return
  }
  nn.variable @v : tensor<4xf32, #dist.layout<vocab : 7 {tp}>> {kind = #nn.kind<state>, of = @v, slot = "x"}
}

// -----
// The gradients of shared keys and values are sums over the groups of queries: what padding has of these must add nothing. That of keys' own
// heads stays where it is.
// CHECK-LABEL: func.func @groups
!q = tensor<2x4x2x8xf32, #dist.layout<seq : 2, kv_head : 7 {tp}, group : 3 {sp}, feature : 8>>
!k = tensor<2x4x8xf32, #dist.layout<seq : 2, kv_head : 7 {tp}, feature : 8>>
!dk = tensor<2x4x8xf32, #dist.layout<seq : 2, kv_head : 7 {tp}, feature : 8, partial = {sp : sum}>>
!l = tensor<4x2x2xf32, #dist.layout<kv_head : 7 {tp}, group : 3 {sp}, seq : 2>>
module attributes {dist.mesh = #dist.mesh<tp = 2, sp = 2>} {
  func.func @groups() {
    %q = nn.input "q" : !q
    // CHECK: %[[K:.*]] = nn.input "k"
    %k = nn.input "k" : !k
    // CHECK-NEXT: nn.attention %{{.*}}, %[[K]], %[[K]]
    %o, %l = nn.attention %q, %k, %k {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked} : (!q, !k, !k) -> (!q, !l)
    // CHECK-NEXT: %[[Q:.*]] = dist.mask_padding %{{.*}} {dims = ["group"]}
    // CHECK-NEXT: %[[L:.*]] = dist.mask_padding %{{.*}} {dims = ["group"]}
    // CHECK-NEXT: %[[D:.*]] = dist.mask_padding %{{.*}} {dims = ["group"]}
    // CHECK-NEXT: %[[O:.*]] = dist.mask_padding %{{.*}} {dims = ["group"]}
    // CHECK-NEXT: nn.attention_grad %[[Q]], %[[K]], %[[K]], %[[L]], %[[D]], %[[O]]
    %dq, %dk, %dv = nn.attention_grad %q, %k, %k, %l, %q, %o {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked}
      : (!q, !k, !k, !l, !q, !q) -> (!q, !dk, !dk)
    return
  }
}

// -----
// Windows at positions that do not exist hold entries of others: the zeros of the other factor are enough, so no window is copied.
!w = tensor<3x2xf32, #dist.layout<k : 3, position : 3 {sp}>>
!dy = tensor<2xf32, #dist.layout<position : 3 {sp}>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %h = nn.input "x" : tensor<4xf32, #dist.layout<row.near : 8 {sp}>>
    %g = nn.input "g" : !dy
    // CHECK: %[[W:.*]] = nn.windows
    %w = nn.windows %h of ["row.near"] to ["position"] by ["k"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 0>,
        spread = array<i64: 1>, fill = 0.0, local} : (tensor<4xf32, #dist.layout<row.near : 8 {sp}>>) -> !w
    // CHECK-NEXT: %[[G:.*]] = dist.mask_padding
    // CHECK-NEXT: nn.einsum %[[G]], %[[W]]
    %a = nn.einsum %g, %w : (!dy, !w) -> tensor<3xf32, #dist.layout<k : 3, partial = {sp : sum}>>
    return
  }
}
