// What a recomputed segment holds is repeated in the backward, right before the gradient that needs it.
// RUN: npar-opt %s -split-input-file -autodiff-backward -autodiff-recompute | FileCheck %s -enable-var-scope

// Of a block: `x` enters and is kept, `h` is repeated (relu and its product), the block's result is not needed. The original and its copy have
// one number.
!x = tensor<2x4xf64, #nn.axes<batch, in>>
!h = tensor<2x8xf64, #nn.axes<batch, hidden>>
!w = tensor<4x8xf64, #nn.axes<in, hidden>>
!b = tensor<2xf64, #nn.axes<batch>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: %[[X:.+]] = nn.input "x"
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: %[[P:.+]] = nn.einsum %[[X]], %[[W]] {at = #nn.at<F, "h.0.up", 0>, recompute = 0 : i64}
// CHECK: %[[H:.+]] = nn.relu %[[P]] {at = #nn.at<F, "h.0", 0>, recompute = 1 : i64}
// CHECK: nn.mul %[[H]], %[[H]] {at = #nn.at<F, "h.0", 0>, recompute = 2 : i64}
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[P2:.+]] = nn.einsum %[[X]], %[[W]] {at = #nn.at<B, "h.0.up", 0>, recompute = 0 : i64}
// CHECK-NEXT: %[[H2:.+]] = nn.relu %[[P2]] {at = #nn.at<B, "h.0", 0>, recompute = 1 : i64}
// CHECK-NEXT: nn.chain_mul %{{.+}}, %[[H2]] {at = #nn.at<B, "h.0", 0>}
// CHECK-NOT: recompute
// CHECK: nn.relu_grad %[[P2]]
module attributes {npar.recompute = {kind = "block"}, npar.blocks = 1 : i64} {
  nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4, 8], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
    %w = nn.read @w {at = #nn.at<F, "h.0.up", 0>} : !w
    %p = nn.einsum %x, %w {at = #nn.at<F, "h.0.up", 0>} : (!x, !w) -> !h
    %h = nn.relu %p {at = #nn.at<F, "h.0", 0>} : (!h) -> !h
    %q = nn.mul %h, %h {at = #nn.at<F, "h.0", 0>} : (!h, !h) -> !h
    %s = nn.sum %q {at = #nn.at<F, "", 1>} : (!h) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 1>} : !s
    return
  }
}

// -----

// Dropout of an equal site draws the same mask again. The layer's result is needed outside of it, so it is kept and not repeated: the
// gradient of the product outside has it.
!x = tensor<2x4xf64, #nn.axes<batch, in>>
!h = tensor<2x8xf64, #nn.axes<batch, hidden>>
!w = tensor<4x8xf64, #nn.axes<in, hidden>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: %[[D:.+]] = nn.dropout %{{.+}} {at = #nn.at<F, "h.0.up", 0>, rate = 1.000000e-01 : f64, recompute = 1 : i64, site = "h.0.up"}
// CHECK: %[[T:.+]] = nn.tanh %[[D]] {at = #nn.at<F, "h.0.up", 0>, recompute = 2 : i64}
// CHECK: nn.mul %[[T]], %[[T]] {at = #nn.at<F, "h.0", 0>}
// CHECK: nn.chain_mul %{{.+}}, %[[T]] {at = #nn.at<B, "h.0", 0>}
// CHECK: nn.chain_mul %{{.+}}, %[[T]] {at = #nn.at<B, "h.0", 0>}
// CHECK: nn.tanh_grad %[[T]], %{{.+}} {at = #nn.at<B, "h.0.up", 0>}
// CHECK-NOT: nn.tanh
module attributes {npar.recompute = {kind = "layers", layers = ["h.*.up"]}, npar.blocks = 1 : i64} {
  nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4, 8], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
    %w = nn.read @w {at = #nn.at<F, "h.0.up", 0>} : !w
    %p = nn.einsum %x, %w {at = #nn.at<F, "h.0.up", 0>} : (!x, !w) -> !h
    %d = nn.dropout %p {at = #nn.at<F, "h.0.up", 0>, rate = 0.1, site = "h.0.up"} : (!h) -> !h
    %h = nn.tanh %d {at = #nn.at<F, "h.0.up", 0>} : (!h) -> !h
    %q = nn.mul %h, %h {at = #nn.at<F, "h.0", 0>} : (!h, !h) -> !h
    %s = nn.sum %q {at = #nn.at<F, "", 1>} : (!h) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 1>} : !s
    return
  }
}

// -----

// Attention alone: its probabilities are made again from q, k and v; its result, which a product outside needs, is kept.
!h = tensor<2x8x4x4xf64, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf64, #nn.axes<batch, head, seq, key>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: %[[O:.+]], %{{.+}} = nn.attention %[[W]], %[[W]], %[[W]] {at = #nn.at<F, "h.0.attn", 0>
// CHECK: nn.chain_mul %{{.+}}, %[[O]] {at = #nn.at<B, "h.0.attn", 0>}
// CHECK: %{{.+}}, %[[P2:.+]] = nn.attention %[[W]], %[[W]], %[[W]] {at = #nn.at<B, "h.0.attn", 0>
// CHECK-NEXT: nn.attention_grad %[[W]], %[[W]], %[[W]], %[[P2]]
module attributes {npar.recompute = {kind = "attention"}} {
  nn.variable @w : !h {kind = #nn.kind<parameter>, stored = [2, 8, 4, 4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %w = nn.read @w {at = #nn.at<F, "h.0.attn", 0>} : !h
    %o, %p = nn.attention %w, %w, %w {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, at = #nn.at<F, "h.0.attn", 0>} : (!h, !h, !h) -> (!h, !p)
    %m = nn.mul %o, %o {at = #nn.at<F, "h.0.attn", 0>} : (!h, !h) -> !h
    %s = nn.sum %m {at = #nn.at<F, "", 1>} : (!h) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 1>} : !s
    return
  }
}

// -----

// Attention in blocks keeps a number per row of queries, and its output, which its gradient needs: it is not repeated.
!h = tensor<2x8x4x4xf64, #nn.axes<batch, seq, head, feature>>
!l = tensor<2x4x8xf64, #nn.axes<batch, head, seq>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: %[[O:.+]], %[[L:.+]] = nn.attention %[[W]], %[[W]], %[[W]]
// CHECK-NOT: nn.attention %
// CHECK: nn.attention_grad %[[W]], %[[W]], %[[W]], %[[L]], %{{.+}}, %[[O]] {at = #nn.at<B, "h.0.attn", 0>, blocked
module attributes {npar.recompute = {kind = "attention"}} {
  nn.variable @w : !h {kind = #nn.kind<parameter>, stored = [2, 8, 4, 4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %w = nn.read @w {at = #nn.at<F, "h.0.attn", 0>} : !h
    %o, %l = nn.attention %w, %w, %w {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked, at = #nn.at<F, "h.0.attn", 0>} : (!h, !h, !h) -> (!h, !l)
    %m = nn.mul %o, %o {at = #nn.at<F, "h.0.attn", 0>} : (!h, !h) -> !h
    %s = nn.sum %m {at = #nn.at<F, "", 1>} : (!h) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 1>} : !s
    return
  }
}

// -----

// Two blocks are one segment: the second begins with what the first repeats, or with what the forward had, as the stages will want.
!x = tensor<2x4xf64, #nn.axes<batch, in>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: %[[A:.+]] = nn.tanh %{{.+}} {at = #nn.at<F, "h.0", 0>, recompute = 1 : i64}
// CHECK: nn.tanh %[[A]] {at = #nn.at<F, "h.1", 1>, recompute = 2 : i64}
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[A2:.+]] = nn.tanh %{{.+}} {at = #nn.at<B, "h.0", 0>, recompute = 1 : i64}
// CHECK-NEXT: %[[C:.+]] = nn.checkpoint %[[A]] or %[[A2]] {at = #nn.at<B, "h.1", 1>}
// CHECK-NEXT: %[[B2:.+]] = nn.tanh %[[C]] {at = #nn.at<B, "h.1", 1>, recompute = 2 : i64}
// CHECK: nn.tanh_grad %[[B2]], %{{.+}} {at = #nn.at<B, "h.1", 1>}
// CHECK: nn.tanh_grad %[[A2]], %{{.+}} {at = #nn.at<B, "h.0", 0>}
module attributes {npar.recompute = {kind = "every", k = 2 : i64}, npar.blocks = 2 : i64} {
  nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
    %w = nn.read @w {at = #nn.at<F, "h.0", 0>} : !x
    %p = nn.mul %x, %w {at = #nn.at<F, "h.0", 0>} : (!x, !x) -> !x
    %a = nn.tanh %p {at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %b = nn.tanh %a {at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    %s = nn.sum %b {at = #nn.at<F, "", 2>} : (!x) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 2>} : !s
    return
  }
}

// -----

// A table of rotary positions costs nothing wherever it is used: in a segment of two blocks it goes through no checkpoint, and is not repeated.
// Nor is a widened parameter. A scaled one is: that is a value like any other.
!i = tensor<4xi32, #nn.axes<seq>>
!x = tensor<4x8xf32, #nn.axes<seq, half>>
!n = tensor<4x8xbf16, #nn.axes<seq, half>>
!s = tensor<f32, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: %[[T:.+]] = nn.sinusoid {{.*}}{at = #nn.at<F, "h.0", 0>} :
// CHECK: %[[W:.+]] = nn.convert {{.*}}{at = #nn.at<F, "h.0", 0>} :
// CHECK: %[[V:.+]] = nn.scale %[[W]] by 2.000000e+00 {at = #nn.at<F, "h.0", 0>, recompute = 0 : i64}
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK-NOT: nn.sinusoid
// CHECK: nn.chain_mul %{{.+}}, %[[T]] {at = #nn.at<B, "h.1", 1>}
// CHECK-NOT: nn.sinusoid
module attributes {npar.recompute = {kind = "every", k = 2 : i64}, npar.blocks = 2 : i64} {
  nn.variable @w : !n {kind = #nn.kind<parameter>, stored = [4, 8], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %i = nn.index {axis = "seq", at = #nn.at<F, "", -1>} : !i
    %t = nn.sinusoid %i along "half" base 10000.0 wave "cos" {at = #nn.at<F, "h.0", 0>} : (!i) -> !x
    %p = nn.read @w {at = #nn.at<F, "h.0", 0>} : !n
    %w = nn.convert %p {at = #nn.at<F, "h.0", 0>} : (!n) -> !x
    %v = nn.scale %w by 2.0 {at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %a = nn.tanh %v {at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %b = nn.mul %a, %t {at = #nn.at<F, "h.1", 1>} : (!x, !x) -> !x
    %s = nn.sum %b {at = #nn.at<F, "", 2>} : (!x) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 2>} : !s
    return
  }
}

// -----

// Which entries are the best is decided once: the scores are computed again, the choice is kept.
!x = tensor<2x4xf64, #nn.axes<batch, in>>
!o = tensor<2x4xf64, #nn.axes<batch, other>>
!i = tensor<2x4xi32, #nn.axes<batch, in>>
!b = tensor<2x1xi32, #nn.axes<batch, slot>>
!c = tensor<2x1xf64, #nn.axes<batch, slot>>
!w = tensor<4xf64, #nn.axes<in>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: nn.order {{.*}} recompute
// CHECK: %[[BEST:.+]] = nn.find %{{.+}} over "in" along "slot" {at = #nn.at<F, "h.0", 0>} :
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK-NOT: nn.find
// CHECK-NOT: nn.order
// CHECK: nn.gather %{{.+}}, %[[BEST]] {{.*}} {at = #nn.at<B, "h.0", 0>, recompute
// CHECK-NOT: nn.find
// CHECK-NOT: nn.order
module attributes {npar.recompute = {kind = "block"}, npar.blocks = 1 : i64} {
  nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
    %w = nn.read @w {at = #nn.at<F, "h.0", 0>} : !w
    %p = nn.mul %x, %w {at = #nn.at<F, "h.0", 0>} : (!x, !w) -> !x
    %o = nn.rename %p from "in" to "other" {at = #nn.at<F, "h.0", 0>} : (!x) -> !o
    %i = nn.order %p, %o along "in" and "other" {at = #nn.at<F, "h.0", 0>} : (!x, !o) -> !i
    %b = nn.find %i over "in" along "slot" {at = #nn.at<F, "h.0", 0>} : (!i) -> !b
    %c = nn.gather %p, %b over "in" {at = #nn.at<F, "h.0", 0>} : (!x, !b) -> !c
    %q = nn.mul %c, %c {at = #nn.at<F, "h.0", 0>} : (!c, !c) -> !c
    %s = nn.sum %q {at = #nn.at<F, "", 1>} : (!c) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 1>} : !s
    return
  }
}

// -----

// Each round of rows of experts is a segment of its own: what the last round needs is repeated before its gradients, then that of the round
// before. The block around them is a segment, too, so the copies of the rounds use its copy of `h`.
!x = tensor<2x4xf64, #nn.axes<batch, in>>
!w = tensor<4xf64, #nn.axes<in>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: @micro
// CHECK: %[[X:.+]] = nn.input "x"
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: nn.mul %[[X]], %[[W]] {at = #nn.at<F, "h.0", 0>, recompute = 4 : i64}
// CHECK: nn.relu %{{.+}} {at = #nn.at<F, "h.0", 0>, npar.round = array<i64: 0, 0>, recompute = 0 : i64}
// CHECK: nn.relu %{{.+}} {at = #nn.at<F, "h.0", 0>, npar.round = array<i64: 0, 1>, recompute = 2 : i64}
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[H:.+]] = nn.mul %[[X]], %[[W]] {at = #nn.at<B, "h.0", 0>, recompute = 4 : i64}
// CHECK-NEXT: %[[B:.+]] = nn.relu %[[H]] {at = #nn.at<B, "h.0", 0>, npar.round = array<i64: 0, 1>, recompute = 2 : i64}
// CHECK-COUNT-2: nn.chain_mul %{{.+}}, %[[B]] {at = #nn.at<B, "h.0", 0>, npar.round = array<i64: 0, 1>}
// CHECK: nn.relu_grad %[[H]], %{{.+}} {at = #nn.at<B, "h.0", 0>, npar.round = array<i64: 0, 1>}
// CHECK: %[[A:.+]] = nn.relu %[[H]] {at = #nn.at<B, "h.0", 0>, npar.round = array<i64: 0, 0>, recompute = 0 : i64}
// CHECK-COUNT-2: nn.chain_mul %{{.+}}, %[[A]] {at = #nn.at<B, "h.0", 0>, npar.round = array<i64: 0, 0>}
// CHECK-NOT: recompute
// CHECK: nn.accumulate @w.grad.0
module attributes {npar.recompute = {kind = "block"}, npar.blocks = 1 : i64} {
  nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
    %w = nn.read @w {at = #nn.at<F, "h.0", 0>} : !w
    %h = nn.mul %x, %w {at = #nn.at<F, "h.0", 0>} : (!x, !w) -> !x
    %a = nn.relu %h {at = #nn.at<F, "h.0", 0>, npar.round = array<i64: 0, 0>} : (!x) -> !x
    %c = nn.mul %a, %a {at = #nn.at<F, "h.0", 0>, npar.round = array<i64: 0, 0>} : (!x, !x) -> !x
    %b = nn.relu %h {at = #nn.at<F, "h.0", 0>, npar.round = array<i64: 0, 1>} : (!x) -> !x
    %d = nn.mul %b, %b {at = #nn.at<F, "h.0", 0>, npar.round = array<i64: 0, 1>} : (!x, !x) -> !x
    %y = nn.add %c, %d {at = #nn.at<F, "h.0", 0>} : (!x, !x) -> !x
    %s = nn.sum %y {at = #nn.at<F, "", 1>} : (!x) -> !s
    nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 1>} : !s
    return
  }
}
