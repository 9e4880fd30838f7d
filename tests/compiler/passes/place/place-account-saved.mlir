// What a backward uses of the forward, by value. Parameters and renames are no entries; a statistic is one of its own kind.
// RUN: npar-opt %s -split-input-file -place-account-saved | FileCheck %s

// CHECK: npar.products = {backward = 2.560000e+02 : f64, forward = 1.280000e+02 : f64, repeated = 0.000000e+00 : f64}
// CHECK-SAME: npar.saved = [
// CHECK-SAME: {as = "tensor", bits = 32 : i64, elements = 8 : i64, home = -1 : i64, op = "exp", path = "", uses = array<i64: 0>},
// CHECK-SAME: {as = "tensor", bits = 32 : i64, elements = 8 : i64, home = 0 : i64, op = "layer_norm", path = "h.0.ln", uses = array<i64: 0>},
// CHECK-SAME: {as = "statistic", bits = 32 : i64, elements = 2 : i64, home = 0 : i64, op = "layer_norm", path = "h.0.ln", uses = array<i64: 0>},
// CHECK-SAME: {as = "statistic", bits = 32 : i64, elements = 2 : i64, home = 0 : i64, op = "layer_norm", path = "h.0.ln", uses = array<i64: 0>},
// CHECK-SAME: {as = "mask", bits = 32 : i64, elements = 16 : i64, home = 0 : i64, op = "dropout", path = "h.0.up", uses = array<i64: 0>}]
!x = tensor<2x4xf32, #dist.layout<batch : 2, in : 4>>
!h = tensor<2x8xf32, #dist.layout<batch : 2, hidden : 8>>
!w = tensor<4x8xf32, #dist.layout<in : 4, hidden : 8>>
!g = tensor<4xf32, #dist.layout<in : 4>>
!b = tensor<2xf32, #dist.layout<batch : 2>>
module {
  func.func @micro() {
    %i = nn.input "x" {at = #nn.at<F, "", -1>} : !x
    %x = nn.exp %i {at = #nn.at<F, "", -1>} : (!x) -> !x
    %g = nn.read @g {at = #nn.at<F, "h.0.ln", 0>} : !g
    %w = nn.read @w {at = #nn.at<F, "h.0.up", 0>} : !w
    %n, %m, %r = nn.layer_norm %x, %g, %g over "in" epsilon 1.0e-5 {at = #nn.at<F, "h.0.ln", 0>} : (!x, !g, !g) -> (!x, !b, !b)
    %p = nn.einsum %n, %w {at = #nn.at<F, "h.0.up", 0>} : (!x, !w) -> !h
    %d = nn.dropout %p {at = #nn.at<F, "h.0.up", 0>, rate = 0.1, site = "h.0.up"} : (!h) -> !h
    %dd = nn.fill 1.0 {at = #nn.at<B, "h.0.up", 0>} : !h
    %dp = nn.dropout %dd {at = #nn.at<B, "h.0.up", 0>, rate = 0.1, site = "h.0.up"} : (!h) -> !h
    %dn = nn.einsum %dp, %w {at = #nn.at<B, "h.0.up", 0>} : (!h, !w) -> !x
    %dw = nn.einsum %dp, %n {at = #nn.at<B, "h.0.up", 0>} : (!h, !x) -> !w
    nn.accumulate @w.grad.0, %dw {at = #nn.at<B, "h.0.up", 0>} : !w
    %dx, %dg, %db = nn.layer_norm_grad %x, %g, %m, %r, %dn over "in" {at = #nn.at<B, "h.0.ln", 0>} : (!x, !g, !b, !b, !x) -> (!x, !g, !g)
    nn.accumulate @g.grad.0, %dg {at = #nn.at<B, "h.0.ln", 0>} : !g
    return
  }
  nn.variable @g : !g {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<ones>, index = 0 : i64}
  nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4, 8], init = #nn.init<zeros>, index = 1 : i64}
  nn.variable @g.grad.0 : !g {kind = #nn.kind<accumulator>}
  nn.variable @w.grad.0 : !w {kind = #nn.kind<accumulator>}
}

// -----

// What is sliced after its definition is kept as the slice; what is gathered in the backward is kept as it was. Into another block of a
// recomputed segment a value goes on through a checkpoint: that alone keeps nothing yet. The op of a segment keeps no mask.
// CHECK: repeated = 0.000000e+00 : f64}
// CHECK-SAME: npar.saved = [
// CHECK-SAME: {as = "tensor", bits = 32 : i64, elements = 4 : i64, home = 0 : i64, op = "exp", path = "h.0", uses = array<i64: 0>},
// CHECK-SAME: {as = "tensor", bits = 32 : i64, crossings = array<i64: 1>, elements = 4 : i64, home = 0 : i64, op = "dropout", path = "h.0", uses = array<i64>}]
!x = tensor<8xf32, #dist.layout<seq : 8>>
!s = tensor<4xf32, #dist.layout<seq : 8 {tp}>>
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @micro() {
    %i = nn.input "x" {at = #nn.at<F, "h.0", 0>} : !x
    %x = nn.exp %i {at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %s = dist.reshard %x {at = #nn.at<F, "h.0", 0>} : !x -> !s
    %d = nn.dropout %s {at = #nn.at<F, "h.0", 0>, rate = 0.1, site = "h.0", recompute = 0 : i64} : (!s) -> !s
    %d2 = nn.dropout %s {at = #nn.at<B, "h.0", 0>, rate = 0.1, site = "h.0", recompute = 0 : i64} : (!s) -> !s
    %c = nn.checkpoint %d or %d2 {at = #nn.at<B, "h.1", 1>} : !s
    %w = dist.reshard %s {at = #nn.at<B, "h.0", 0>} : !s -> !x
    return
  }
}

// -----

// Of a widened value the narrow one is kept, once for all uses; a widened parameter is read again. What is computed in f32 is kept as it is.
// CHECK: repeated = 0.000000e+00 : f64}
// CHECK-SAME: npar.saved = [
// CHECK-SAME: {as = "tensor", bits = 16 : i64, elements = 8 : i64, home = -1 : i64, op = "exp", path = "", uses = array<i64: 0, 1>},
// CHECK-SAME: {as = "tensor", bits = 32 : i64, elements = 8 : i64, home = 0 : i64, op = "tanh", path = "h.0", uses = array<i64: 0>}]
!n = tensor<8xbf16, #dist.layout<seq : 8>>
!x = tensor<8xf32, #dist.layout<seq : 8>>
module {
  nn.variable @g : !n {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<ones>, index = 0 : i64}
  func.func @micro() {
    %i = nn.input "x" {at = #nn.at<F, "", -1>} : !n
    %e = nn.exp %i {at = #nn.at<F, "", -1>} : (!n) -> !n
    %p = nn.read @g {at = #nn.at<F, "h.0", 0>} : !n
    %g = nn.convert %p {at = #nn.at<F, "h.0", 0>} : (!n) -> !x
    %w = nn.convert %e {at = #nn.at<F, "h.0", 0>} : (!n) -> !x
    %y = nn.mul %w, %g {at = #nn.at<F, "h.0", 0>} : (!x, !x) -> !x
    %t = nn.tanh %y {at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %d = nn.mul %e, %e {at = #nn.at<B, "h.1", 1>} : (!n, !n) -> !n
    %dt = nn.mul %t, %t {at = #nn.at<B, "h.0", 0>} : (!x, !x) -> !x
    %dg = nn.mul %dt, %w {at = #nn.at<B, "h.0", 0>} : (!x, !x) -> !x
    %dw = nn.mul %dt, %g {at = #nn.at<B, "h.0", 0>} : (!x, !x) -> !x
    return
  }
}
