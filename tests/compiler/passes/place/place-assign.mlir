// What each rule of a plan does to single operations (RULES.md#P1, P2, P4, P7).
// RUN: npar-opt %s -split-input-file -place-assign | FileCheck %s

// Data parallelism: the batch of a replicated parameter's product is split; the parameter's gradient is partial.
// CHECK: nn.variable @w : tensor<4x6xf32, #dist.layout<embed : 4, hidden : 6>>
// CHECK: nn.variable @w.grad.0 : tensor<4x6xf32, #dist.layout<embed : 4, hidden : 6, partial = {dp : sum}>>
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<dp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"]>]} {
  nn.variable @w : tensor<4x6xf32, #nn.axes<embed, hidden>> {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [4, 6]}
  nn.variable @w.grad.0 : tensor<4x6xf32, #nn.axes<embed, hidden>> {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  func.func @micro() {
    // CHECK: nn.input "x" : tensor<1x4xf32, #dist.layout<batch : 2 {dp}, embed : 4>>
    %x = nn.input "x" : tensor<2x4xf32, #nn.axes<batch, embed>>
    %w = nn.read @w : tensor<4x6xf32, #nn.axes<embed, hidden>>
    // CHECK: nn.einsum {{.*}} -> tensor<1x6xf32, #dist.layout<batch : 2 {dp}, hidden : 6>>
    %y = nn.einsum %x, %w : (tensor<2x4xf32, #nn.axes<batch, embed>>, tensor<4x6xf32, #nn.axes<embed, hidden>>) -> tensor<2x6xf32, #nn.axes<batch, hidden>>
    // CHECK: nn.einsum {{.*}} -> tensor<4x6xf32, #dist.layout<embed : 4, hidden : 6, partial = {dp : sum}>>
    // CHECK-NOT: dist.reshard
    %d = nn.einsum %x, %y : (tensor<2x4xf32, #nn.axes<batch, embed>>, tensor<2x6xf32, #nn.axes<batch, hidden>>) -> tensor<4x6xf32, #nn.axes<embed, hidden>>
    nn.accumulate @w.grad.0, %d : tensor<4x6xf32, #nn.axes<embed, hidden>>
    return
  }
}

// -----
// Column then row parallel: both weights are split, one reduction after the second product.
// CHECK: nn.variable @up : tensor<4x3xf32, #dist.layout<embed : 4, hidden : 6 {tp}>>
// CHECK: nn.variable @down : tensor<3x4xf32, #dist.layout<hidden : 6 {tp}, embed : 4>>
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "hidden", mesh = ["tp"]>]} {
  nn.variable @up : tensor<4x6xf32, #nn.axes<embed, hidden>> {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [4, 6]}
  nn.variable @down : tensor<6x4xf32, #nn.axes<hidden, embed>> {index = 1 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [6, 4]}
  nn.variable @sum : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" : tensor<2x4xf32, #nn.axes<batch, embed>>
    %u = nn.read @up : tensor<4x6xf32, #nn.axes<embed, hidden>>
    %v = nn.read @down : tensor<6x4xf32, #nn.axes<hidden, embed>>
    // CHECK: %[[H:.*]] = nn.einsum {{.*}} -> tensor<2x3xf32, #dist.layout<batch : 2, hidden : 6 {tp}>>
    %h = nn.einsum %x, %u : (tensor<2x4xf32, #nn.axes<batch, embed>>, tensor<4x6xf32, #nn.axes<embed, hidden>>) -> tensor<2x6xf32, #nn.axes<batch, hidden>>
    // CHECK: %[[P:.*]] = nn.einsum %[[H]]{{.*}} -> tensor<2x4xf32, #dist.layout<batch : 2, embed : 4, partial = {tp : sum}>>
    // CHECK: %[[Y:.*]] = dist.reshard %[[P]] {cause = #dist.cause<kind = sums_over_split, operation = "einsum", axes = ["hidden"], rules = ["hidden -> tp"]>}
    // CHECK-SAME: -> tensor<2x4xf32, #dist.layout<batch : 2, embed : 4>>
    %y = nn.einsum %h, %v : (tensor<2x6xf32, #nn.axes<batch, hidden>>, tensor<6x4xf32, #nn.axes<hidden, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    // CHECK: nn.gelu %[[Y]]
    %z = nn.gelu %y : (tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    // CHECK: nn.relu %[[Y]]
    %r = nn.relu %y : (tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    %m = nn.mul %z, %r : (tensor<2x4xf32, #nn.axes<batch, embed>>, tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    %s = nn.sum %m : (tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<f32, #nn.axes<>>
    nn.accumulate @sum, %s : tensor<f32, #nn.axes<>>
    return
  }
}

// -----
// Sums of partial values are reduced once, after the addition; what is partial may be scaled and summed on.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "hidden", mesh = ["tp"]>]} {
  nn.variable @sum : tensor<2xf32, #nn.axes<batch>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" : tensor<2x4x6xf32, #nn.axes<batch, embed, hidden>>
    // CHECK-COUNT-2: partial = {tp : sum}>>{{$}}
    // CHECK-NOT: dist.reshard
    // CHECK: nn.add
    // CHECK: dist.reshard
    // CHECK-NOT: dist.reshard
    %a = nn.sum %x : (tensor<2x4x6xf32, #nn.axes<batch, embed, hidden>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    %h = nn.scale %a by 0.5 : (tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    %b = nn.add %a, %h : (tensor<2x4xf32, #nn.axes<batch, embed>>, tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    %e = nn.exp %b : (tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    %s = nn.sum %e : (tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2xf32, #nn.axes<batch>>
    nn.accumulate @sum, %s : tensor<2xf32, #nn.axes<batch>>
    return
  }
}

// -----
// A mesh axis goes to the first rule that an operation can use; of several on the right those still free are taken, major to minor.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<a = 2, b = 2, one = 1>,
                   dist.rules = [#dist.rule<axis = "hidden", mesh = ["b"]>, #dist.rule<axis = "batch", mesh = ["a", "b"]>,
                                 #dist.rule<axis = "embed", mesh = ["one"]>]} {
  func.func @micro() {
    // CHECK: nn.input "x" : tensor<2x4xf32, #dist.layout<batch : 8 {a, b}, embed : 4>>
    %x = nn.input "x" : tensor<8x4xf32, #nn.axes<batch, embed>>
    // CHECK: nn.exp {{.*}} -> tensor<2x4xf32, #dist.layout<batch : 8 {a, b}, embed : 4>>
    %e = nn.exp %x : (tensor<8x4xf32, #nn.axes<batch, embed>>) -> tensor<8x4xf32, #nn.axes<batch, embed>>
    // CHECK: dist.reshard {{.*}} {cause = #dist.cause<kind = wants_whole, operation = "broadcast", axes = ["batch"], rules = ["hidden -> b"], mesh_axis = "b">}
    // CHECK: nn.broadcast {{.*}} -> tensor<4x4x3xf32, #dist.layout<batch : 8 {a}, embed : 4, hidden : 6 {b}>>
    %b = nn.broadcast %e : (tensor<8x4xf32, #nn.axes<batch, embed>>) -> tensor<8x4x6xf32, #nn.axes<batch, embed, hidden>>
    return
  }
}

// -----
// A parameter two uses of which split different dimensions is stored whole; each use slices it.
// CHECK: nn.variable @w : tensor<4x6xf32, #dist.layout<embed : 4, hidden : 6>>
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "hidden", mesh = ["tp"], op = "exp">, #dist.rule<axis = "embed", mesh = ["tp"], op = "tanh">]} {
  nn.variable @w : tensor<4x6xf32, #nn.axes<embed, hidden>> {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [4, 6]}
  func.func @micro() {
    %w = nn.read @w : tensor<4x6xf32, #nn.axes<embed, hidden>>
    // CHECK: dist.reshard {{.*}} -> tensor<4x3xf32, #dist.layout<embed : 4, hidden : 6 {tp}>>
    %a = nn.exp %w : (tensor<4x6xf32, #nn.axes<embed, hidden>>) -> tensor<4x6xf32, #nn.axes<embed, hidden>>
    // CHECK: dist.reshard {{.*}} -> tensor<2x6xf32, #dist.layout<embed : 4 {tp}, hidden : 6>>
    %b = nn.tanh %w : (tensor<4x6xf32, #nn.axes<embed, hidden>>) -> tensor<4x6xf32, #nn.axes<embed, hidden>>
    return
  }
}

// -----
// `in layer` and `-> none`; constants and indices are made in the layout of each use.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = [], op = "exp">, #dist.rule<axis = "seq", mesh = ["tp"], layer = "h.*.attn">]} {
  func.func @micro() {
    %f = nn.fill 0.5 : tensor<4xf32, #nn.axes<seq>>
    // CHECK: nn.fill {{.*}}: tensor<2xf32, #dist.layout<seq : 4 {tp}>>
    // CHECK: nn.tanh {{.*}} -> tensor<2xf32, #dist.layout<seq : 4 {tp}>>
    %a = nn.tanh %f {at = #nn.at<F, "h.3.attn.c_attn", 3>} : (tensor<4xf32, #nn.axes<seq>>) -> tensor<4xf32, #nn.axes<seq>>
    // CHECK: nn.fill {{.*}}: tensor<4xf32, #dist.layout<seq : 4>>
    // CHECK: nn.exp {{.*}} -> tensor<4xf32, #dist.layout<seq : 4>>
    %b = nn.exp %f {at = #nn.at<F, "h.3.attn", 3>} : (tensor<4xf32, #nn.axes<seq>>) -> tensor<4xf32, #nn.axes<seq>>
    // CHECK: nn.tanh {{.*}} -> tensor<4xf32, #dist.layout<seq : 4>>
    %c = nn.tanh %f {at = #nn.at<F, "h.3.mlp", 3>} : (tensor<4xf32, #nn.axes<seq>>) -> tensor<4xf32, #nn.axes<seq>>
    return
  }
}

// -----
// Without a plan everything is whole and has a layout.
// CHECK-LABEL: func.func @micro
module {
  func.func @micro() {
    // CHECK: nn.input "x" : tensor<8x4xf32, #dist.layout<batch : 8, embed : 4>>
    %x = nn.input "x" : tensor<8x4xf32, #nn.axes<batch, embed>>
    return
  }
}

// -----
// An index is never partial: the gradient of a table takes partial rows, and its indices whole.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "vocab", mesh = ["tp"]>]} {
  nn.variable @table.grad : tensor<6x4xf32, #nn.axes<vocab, embed>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    // CHECK: %[[IDX:.*]] = nn.input "tokens" : tensor<8xi32, #dist.layout<batch : 8>>
    %idx = nn.input "tokens" : tensor<8xi32, #nn.axes<batch>>
    %dy = nn.input "dy" : tensor<8x6xf32, #nn.axes<batch, vocab>>
    %w = nn.input "w" : tensor<6x4xf32, #nn.axes<vocab, embed>>
    // CHECK: %[[DX:.*]] = nn.einsum {{.*}} -> tensor<8x4xf32, #dist.layout<batch : 8, embed : 4, partial = {tp : sum}>>
    %dx = nn.einsum %dy, %w : (tensor<8x6xf32, #nn.axes<batch, vocab>>, tensor<6x4xf32, #nn.axes<vocab, embed>>) -> tensor<8x4xf32, #nn.axes<batch, embed>>
    // CHECK: nn.scatter_add %[[IDX]], %[[DX]] {{.*}} -> tensor<6x4xf32, #dist.layout<vocab : 6, embed : 4, partial = {tp : sum}>>
    // CHECK-NOT: dist.reshard
    %d = nn.scatter_add %idx, %dx over "vocab" : (tensor<8xi32, #nn.axes<batch>>, tensor<8x4xf32, #nn.axes<batch, embed>>) -> tensor<6x4xf32, #nn.axes<vocab, embed>>
    nn.accumulate @table.grad, %d : tensor<6x4xf32, #nn.axes<vocab, embed>>
    return
  }
}

// -----
// Of a partial table rows are partial; so is what is picked of partial rows.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "hidden", mesh = ["tp"]>]} {
  nn.variable @rows : tensor<8x4xf32, #nn.axes<batch, embed>> {kind = #nn.kind<accumulator>}
  nn.variable @picked : tensor<4xf32, #nn.axes<embed>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %idx = nn.input "tokens" : tensor<8xi32, #nn.axes<batch>>
    %which = nn.input "which" : tensor<4xi32, #nn.axes<embed>>
    %x = nn.input "x" : tensor<6x4x2xf32, #nn.axes<vocab, embed, hidden>>
    // CHECK: nn.sum {{.*}} -> tensor<6x4xf32, #dist.layout<vocab : 6, embed : 4, partial = {tp : sum}>>
    // CHECK-NOT: dist.reshard
    %t = nn.sum %x : (tensor<6x4x2xf32, #nn.axes<vocab, embed, hidden>>) -> tensor<6x4xf32, #nn.axes<vocab, embed>>
    // CHECK: nn.gather {{.*}}xi32, #dist.layout<batch : 8>>) -> tensor<8x4xf32, #dist.layout<batch : 8, embed : 4, partial = {tp : sum}>>
    %r = nn.gather %t, %idx over "vocab" : (tensor<6x4xf32, #nn.axes<vocab, embed>>, tensor<8xi32, #nn.axes<batch>>) -> tensor<8x4xf32, #nn.axes<batch, embed>>
    nn.accumulate @rows, %r : tensor<8x4xf32, #nn.axes<batch, embed>>
    // CHECK: nn.pick {{.*}}xi32, #dist.layout<embed : 4>>) -> tensor<4xf32, #dist.layout<embed : 4, partial = {tp : sum}>>
    %p = nn.pick %t, %which over "vocab" : (tensor<6x4xf32, #nn.axes<vocab, embed>>, tensor<4xi32, #nn.axes<embed>>) -> tensor<4xf32, #nn.axes<embed>>
    nn.accumulate @picked, %p : tensor<4xf32, #nn.axes<embed>>
    return
  }
}

// -----
// Data is never sent: rows whose indices are split by a rule are reduced to that split rather than kept partial.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "vocab", mesh = ["tp"], op = "einsum">,
                                                                 #dist.rule<axis = "seq", mesh = ["tp"]>]} {
  nn.variable @table.grad : tensor<6x4xf32, #nn.axes<vocab, embed>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    // CHECK: %[[IDX:.*]] = nn.input "tokens" : tensor<4xi32, #dist.layout<seq : 8 {tp}>>
    %idx = nn.input "tokens" : tensor<8xi32, #nn.axes<seq>>
    %dy = nn.input "dy" : tensor<8x6xf32, #nn.axes<seq, vocab>>
    %w = nn.input "w" : tensor<6x4xf32, #nn.axes<vocab, embed>>
    // CHECK: %[[DX:.*]] = nn.einsum {{.*}} -> tensor<8x4xf32, #dist.layout<seq : 8, embed : 4, partial = {tp : sum}>>
    // CHECK: %[[ROWS:.*]] = dist.reshard %[[DX]] {{.*}} -> tensor<4x4xf32, #dist.layout<seq : 8 {tp}, embed : 4>>
    %dx = nn.einsum %dy, %w : (tensor<8x6xf32, #nn.axes<seq, vocab>>, tensor<6x4xf32, #nn.axes<vocab, embed>>) -> tensor<8x4xf32, #nn.axes<seq, embed>>
    // CHECK: nn.scatter_add %[[IDX]], %[[ROWS]]
    %d = nn.scatter_add %idx, %dx over "vocab" : (tensor<8xi32, #nn.axes<seq>>, tensor<8x4xf32, #nn.axes<seq, embed>>) -> tensor<6x4xf32, #nn.axes<vocab, embed>>
    nn.accumulate @table.grad, %d : tensor<6x4xf32, #nn.axes<vocab, embed>>
    return
  }
}

// -----
// Partial sums of 16 bits stay partial through a narrowing, and are reduced before a widening: what travels is narrow.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "hidden", mesh = ["tp"]>]} {
  nn.variable @sum : tensor<2x4xf32, #nn.axes<batch, embed>> {kind = #nn.kind<accumulator>}
  nn.variable @narrow : tensor<2x4xbf16, #nn.axes<batch, embed>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" : tensor<2x6xbf16, #nn.axes<batch, hidden>>
    %w = nn.input "w" : tensor<6x4xbf16, #nn.axes<hidden, embed>>
    // CHECK: %[[P:.*]] = nn.einsum {{.*}} -> tensor<2x4xbf16, #dist.layout<batch : 2, embed : 4, partial = {tp : sum}>>
    // CHECK-NEXT: %[[Y:.*]] = dist.reshard %[[P]] {{.*}} -> tensor<2x4xbf16, #dist.layout<batch : 2, embed : 4>>
    // CHECK-NEXT: nn.convert %[[Y]]
    %y = nn.einsum %x, %w : (tensor<2x6xbf16, #nn.axes<batch, hidden>>, tensor<6x4xbf16, #nn.axes<hidden, embed>>) -> tensor<2x4xbf16, #nn.axes<batch, embed>>
    %wide = nn.convert %y : (tensor<2x4xbf16, #nn.axes<batch, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    nn.accumulate @sum, %wide : tensor<2x4xf32, #nn.axes<batch, embed>>
    // CHECK: %[[Q:.*]] = nn.einsum {{.*}} -> tensor<2x4xf32, #dist.layout<batch : 2, embed : 4, partial = {tp : sum}>>
    // CHECK-NEXT: %[[N:.*]] = nn.convert %[[Q]] {{.*}} -> tensor<2x4xbf16, #dist.layout<batch : 2, embed : 4, partial = {tp : sum}>>
    // CHECK-NEXT: nn.accumulate @narrow, %[[N]]
    %z = nn.einsum %x, %w : (tensor<2x6xbf16, #nn.axes<batch, hidden>>, tensor<6x4xbf16, #nn.axes<hidden, embed>>) -> tensor<2x4xf32, #nn.axes<batch, embed>>
    %n = nn.convert %z : (tensor<2x4xf32, #nn.axes<batch, embed>>) -> tensor<2x4xbf16, #nn.axes<batch, embed>>
    nn.accumulate @narrow, %n : tensor<2x4xbf16, #nn.axes<batch, embed>>
    return
  }
}

// -----
// A data buffer holds what all its uses have in common; one that needs more would have to be sent the rest.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.rules = [#dist.rule<axis = "seq", mesh = [], op = "tanh">,
                                                                 #dist.rule<axis = "seq", mesh = ["cp"]>]} {
  func.func @micro() {
    // CHECK: nn.input "a" : tensor<8x2xf32, #dist.layout<batch : 8, seq : 4 {cp}>>
    // CHECK: nn.input "b" : tensor<8x4xf32, #dist.layout<batch : 8, seq : 4>>
    %a = nn.input "a" : tensor<8x4xf32, #nn.axes<batch, seq>>
    %b = nn.input "b" : tensor<8x4xf32, #nn.axes<batch, seq>>
    %0 = nn.exp %a : (tensor<8x4xf32, #nn.axes<batch, seq>>) -> tensor<8x4xf32, #nn.axes<batch, seq>>
    // CHECK: %[[B:.*]] = dist.reshard {{.*}} -> tensor<8x2xf32, #dist.layout<batch : 8, seq : 4 {cp}>>
    // CHECK: nn.exp %[[B]]
    %1 = nn.exp %b : (tensor<8x4xf32, #nn.axes<batch, seq>>) -> tensor<8x4xf32, #nn.axes<batch, seq>>
    %2 = nn.tanh %b : (tensor<8x4xf32, #nn.axes<batch, seq>>) -> tensor<8x4xf32, #nn.axes<batch, seq>>
    return
  }
}

// -----
// `by gather`: the queries stay split, keys and values are wanted whole along their alias, and their gradients are partial.
// CHECK-LABEL: func.func @micro
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "gather">]} {
  func.func @micro() {
    %i = nn.input "i" : !h
    // CHECK: %[[Q:.*]] = nn.exp
    %q = nn.exp %i : (!h) -> !h
    // CHECK: %[[KEYS:.*]] = dist.reshard %[[Q]] {{.*}} -> tensor<2x8x2x4xf32, #dist.layout<batch : 2, seq : 8, head : 2, feature : 4>>
    // CHECK: nn.attention %[[Q]], %[[KEYS]], %[[KEYS]] {{.*}} -> (tensor<2x4x2x4xf32, #dist.layout<batch : 2, seq : 8 {cp}, head : 2, feature : 4>>,
    // CHECK-SAME: tensor<2x2x4x8xf32, #dist.layout<batch : 2, head : 2, seq : 8 {cp}, key : 8>>)
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    // CHECK: nn.attention_grad {{.*}} -> (tensor<2x4x2x4xf32, #dist.layout<batch : 2, seq : 8 {cp}, head : 2, feature : 4>>,
    // CHECK-SAME: tensor<2x8x2x4xf32, #dist.layout<batch : 2, seq : 8, head : 2, feature : 4, partial = {cp : sum}>>
    %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %p, %o {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64}
        : (!h, !h, !h, !p, !h) -> (!h, !h, !h)
    // CHECK: dist.reshard {{.*}} -> tensor<2x4x2x4xf32, #dist.layout<batch : 2, seq : 8 {cp}, head : 2, feature : 4>>
    // CHECK: nn.tanh
    %t = nn.tanh %dk : (!h) -> !h
    return
  }
}

// -----
// Ulysses: what moves between two splits of one size does so once, after its definition, for both phases.
// CHECK-LABEL: func.func @micro
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.rules = [#dist.rule<axis = "head", mesh = ["cp"], op = "attention">,
                                                                 #dist.rule<axis = "seq", mesh = ["cp"]>]} {
  func.func @micro() {
    %i = nn.input "i" : !h
    // CHECK: %[[E:.*]] = nn.exp
    // CHECK-NEXT: %[[Q:.*]] = dist.reshard %[[E]] {{.*}} -> tensor<2x8x1x4xf32, #dist.layout<batch : 2, seq : 8, head : 2 {cp}, feature : 4>>
    %q = nn.exp %i {at = #nn.at<F, "x", 0>} : (!h) -> !h
    // CHECK-NEXT: nn.attention %[[Q]], %[[Q]], %[[Q]]
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "x", 0>}
        : (!h, !h, !h) -> (!h, !p)
    // CHECK-NOT: dist.reshard
    // CHECK: nn.attention_grad %[[Q]], %[[Q]], %[[Q]]
    %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %p, %o {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<B, "x", 0>}
        : (!h, !h, !h, !p, !h) -> (!h, !h, !h)
    return
  }
}

// -----
// The prologue: each rank counts its own rows and positions in all micro-batches, and the counts are added once, before the first forward.
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>,
                   dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"]>, #dist.rule<axis = "seq", mesh = ["tp"]>]} {
  // CHECK: nn.variable @n.sum : tensor<f64, #dist.layout<partial = {dp : sum, tp : sum}>>
  nn.variable @n.sum : tensor<f64, #nn.axes<>> {kind = #nn.kind<accumulator>}
  // CHECK: nn.variable @n : tensor<f64, #dist.layout<>>
  nn.variable @n : tensor<f64, #nn.axes<>> {kind = #nn.kind<output>, output = "n"}
  // CHECK-LABEL: func.func @count
  func.func @count() {
    %t = nn.input "targets" : tensor<4x8xi32, #nn.axes<batch, seq>>
    %1 = nn.fill 1.0 : tensor<4x8xf64, #nn.axes<batch, seq>>
    // CHECK: nn.keep_valid {{.*}} -> tensor<2x4xf64, #dist.layout<batch : 4 {dp}, seq : 8 {tp}>>
    %v = nn.keep_valid %1, %t ignore -100 : (tensor<4x8xf64, #nn.axes<batch, seq>>, tensor<4x8xi32, #nn.axes<batch, seq>>) -> tensor<4x8xf64, #nn.axes<batch, seq>>
    // CHECK-NEXT: nn.sum {{.*}} -> tensor<f64, #dist.layout<partial = {dp : sum, tp : sum}>>
    // CHECK-NEXT: nn.accumulate @n.sum
    %s = nn.sum %v : (tensor<4x8xf64, #nn.axes<batch, seq>>) -> tensor<f64, #nn.axes<>>
    nn.accumulate @n.sum, %s : tensor<f64, #nn.axes<>>
    return
  }
  // CHECK-LABEL: func.func @start
  func.func @start() {
    // CHECK: %[[PARTIAL:.*]] = nn.read @n.sum
    // CHECK-NEXT: %[[WHOLE:.*]] = dist.reshard %[[PARTIAL]] {cause = #dist.cause<kind = accumulated, variable = "n.sum", axes = ["batch", "seq"], rules = ["batch -> dp", "seq -> tp"]>}
    // CHECK-NEXT: nn.write @n, %[[WHOLE]]
    %s = nn.read @n.sum : tensor<f64, #nn.axes<>>
    nn.write @n, %s : tensor<f64, #nn.axes<>>
    return
  }
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    return
  }
}

// -----
// What a reshard is there for names the rules at their lines: the product's own, and for a gradient those that split what it sums over.
// CHECK: #[[$FIRST:.*]] = loc("p.npar":4:9)
// CHECK: #[[$SECOND:.*]] = loc("p.npar":5:9)
// CHECK: #[[$HIDDEN:.*]] = loc("hidden -> tp"(#[[$SECOND]]))
// CHECK: #[[$BATCH:.*]] = loc("batch -> dp"(#[[$FIRST]]))
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>,
    dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"], loc("p.npar":4:9)>, #dist.rule<axis = "hidden", mesh = ["tp"], loc("p.npar":5:9)>]} {
  nn.variable @w : tensor<6x4xf32, #nn.axes<hidden, embed>> {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [6, 4]}
  nn.variable @w.grad.0 : tensor<6x4xf32, #nn.axes<hidden, embed>> {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  func.func @micro() {
    %x = nn.input "x" : tensor<4x6xf32, #nn.axes<batch, hidden>>
    %w = nn.read @w : tensor<6x4xf32, #nn.axes<hidden, embed>>
    %y = nn.einsum %x, %w : (tensor<4x6xf32, #nn.axes<batch, hidden>>, tensor<6x4xf32, #nn.axes<hidden, embed>>) -> tensor<4x4xf32, #nn.axes<batch, embed>>
    // CHECK: dist.reshard {{.*}} {cause = #dist.cause<kind = sums_over_split, operation = "einsum", axes = ["hidden"], rules = ["hidden -> tp"]>, dist.rule = [#[[$HIDDEN]]]}
    %z = nn.relu %y : (tensor<4x4xf32, #nn.axes<batch, embed>>) -> tensor<4x4xf32, #nn.axes<batch, embed>>
    %d = nn.einsum %x, %z : (tensor<4x6xf32, #nn.axes<batch, hidden>>, tensor<4x4xf32, #nn.axes<batch, embed>>) -> tensor<6x4xf32, #nn.axes<hidden, embed>>
    nn.accumulate @w.grad.0, %d : tensor<6x4xf32, #nn.axes<hidden, embed>>
    return
  }
  // CHECK-LABEL: func.func @update
  func.func @update() {
    %g = nn.read @w.grad.0 : tensor<6x4xf32, #nn.axes<hidden, embed>>
    // CHECK: dist.reshard {{.*}} {cause = #dist.cause<kind = accumulated, variable = "w.grad.0", axes = ["batch"], rules = ["batch -> dp"]>, dist.rule = [#[[$BATCH]]]}
    %s = nn.scale %g by 2.0 : (tensor<6x4xf32, #nn.axes<hidden, embed>>) -> tensor<6x4xf32, #nn.axes<hidden, embed>>
    nn.write @w, %s : tensor<6x4xf32, #nn.axes<hidden, embed>>
    return
  }
}

// -----
// What is the largest of a rank's part is partial by max, and reduced before anything is done with it: no sum takes it as it is.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "hidden", mesh = ["tp"]>]} {
  nn.variable @hits : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
  nn.variable @sum : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" : tensor<2x6xf32, #nn.axes<batch, hidden>>
    // CHECK: %[[P:.*]] = nn.max {{.*}} -> tensor<2xf32, #dist.layout<batch : 2, partial = {tp : max}>>
    // CHECK: %[[M:.*]] = dist.reshard %[[P]]
    // CHECK: nn.is_max {{.*}} -> tensor<2x3xf32, #dist.layout<batch : 2, hidden : 6 {tp}>>
    // CHECK: nn.sum %[[M]]
    %m = nn.max %x : (tensor<2x6xf32, #nn.axes<batch, hidden>>) -> tensor<2xf32, #nn.axes<batch>>
    %h = nn.is_max %x, %m : (tensor<2x6xf32, #nn.axes<batch, hidden>>, tensor<2xf32, #nn.axes<batch>>) -> tensor<2x6xf32, #nn.axes<batch, hidden>>
    %c = nn.sum %h : (tensor<2x6xf32, #nn.axes<batch, hidden>>) -> tensor<2xf32, #nn.axes<batch>>
    %s = nn.sum %m : (tensor<2xf32, #nn.axes<batch>>) -> tensor<f32, #nn.axes<>>
    %d = nn.sum %c : (tensor<2xf32, #nn.axes<batch>>) -> tensor<f32, #nn.axes<>>
    nn.accumulate @sum, %s : tensor<f32, #nn.axes<>>
    nn.accumulate @hits, %d : tensor<f32, #nn.axes<>>
    return
  }
}

// -----
// The gradient of experts' biases has both the experts and their rows. A rule for products of experts splits the rows, which stay on their
// ranks; it does not apply to the experts here.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<ep = 2>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"], op = "grouped">, #dist.rule<axis = "batch", mesh = ["ep"]>]} {
  nn.variable @bias.grad.0 : tensor<4x6xf32, #nn.axes<expert, embed>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %number = nn.input "number" : tensor<2x8xi32, #nn.axes<batch, expert.rows.row>>
    %dy = nn.input "dy" : tensor<2x8x6xf32, #nn.axes<batch, expert.rows.row, embed>>
    // CHECK: nn.scatter_add {{.*}}tensor<2x4x6xf32, #dist.layout<batch : 2, expert.rows.row : 8 {ep}, embed : 6>>) -> tensor<4x6xf32, #dist.layout<expert : 4, embed : 6, partial = {ep : sum}>>
    %sum = nn.scatter_add %number, %dy over "expert" : (tensor<2x8xi32, #nn.axes<batch, expert.rows.row>>, tensor<2x8x6xf32, #nn.axes<batch, expert.rows.row, embed>>) -> tensor<4x6xf32, #nn.axes<expert, embed>>
    nn.accumulate @bias.grad.0, %sum : tensor<4x6xf32, #nn.axes<expert, embed>>
    return
  }
}

// -----
// A sum over samples that goes back to each of them is complete before it is repeated: its parts would be as large as the results of all ranks.
// CHECK-LABEL: func.func @micro
module attributes {dist.mesh = #dist.mesh<dp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"]>]} {
  nn.variable @sum : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" : tensor<8x4xf32, #nn.axes<batch, channel>>
    // CHECK: %[[PART:.*]] = nn.sum {{.*}} -> tensor<4xf32, #dist.layout<channel : 4, partial = {dp : sum}>>
    // CHECK: %[[SUM:.*]] = dist.reshard %[[PART]] {{.*}} -> tensor<4xf32, #dist.layout<channel : 4>>
    // CHECK: nn.broadcast %[[SUM]] {{.*}} -> tensor<4x4xf32, #dist.layout<batch : 8 {dp}, channel : 4>>
    // CHECK-NOT: dist.reshard
    %s = nn.sum %x : (tensor<8x4xf32, #nn.axes<batch, channel>>) -> tensor<4xf32, #nn.axes<channel>>
    %b = nn.broadcast %s : (tensor<4xf32, #nn.axes<channel>>) -> tensor<8x4xf32, #nn.axes<batch, channel>>
    %m = nn.mul %x, %b : (tensor<8x4xf32, #nn.axes<batch, channel>>, tensor<8x4xf32, #nn.axes<batch, channel>>) -> tensor<8x4xf32, #nn.axes<batch, channel>>
    %l = nn.sum %m : (tensor<8x4xf32, #nn.axes<batch, channel>>) -> tensor<f32, #nn.axes<>>
    nn.accumulate @sum, %l : tensor<f32, #nn.axes<>>
    return
  }
}
