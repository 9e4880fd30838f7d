// Normalisation, softmax, attention and cross-entropy keep one gradient op each: they are expanded after placing (RULES.md#P5).
// RUN: npar-opt %s -split-input-file -autodiff-backward -canonicalize | FileCheck %s

!x = tensor<2x8xf64, #nn.axes<batch, embed>>
!e = tensor<8xf64, #nn.axes<embed>>
!b = tensor<2xf64, #nn.axes<batch>>
!t = tensor<2xi32, #nn.axes<batch>>
!s = tensor<f64, #nn.axes<>>
nn.variable @gamma : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<ones>, index = 0 : i64}
nn.variable @beta : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// CHECK-LABEL: @micro
// CHECK: %[[X:.+]] = nn.input "x"
// CHECK: %[[G:.+]] = nn.read @gamma
// CHECK: %{{.+}}, %[[MEAN:.+]], %[[RSTD:.+]] = nn.layer_norm
// CHECK: %[[Y:.+]] = nn.softmax
// CHECK: %{{.+}}, %[[LSE:.+]] = nn.cross_entropy %[[Y]], %[[T:.+]] over "embed"
// CHECK: %[[D:.+]] = nn.fill 2.500000e-01 : tensor<2xf64
// CHECK: %[[DL:.+]] = nn.cross_entropy_grad %[[Y]], %[[T]], %[[LSE]], %[[D]] over "embed"
// CHECK: %[[DY:.+]] = nn.softmax_grad %[[Y]], %[[DL]] over "embed"
// CHECK: %{{.+}}, %[[DG:.+]], %[[DB:.+]] = nn.layer_norm_grad %[[X]], %[[G]], %[[MEAN]], %[[RSTD]], %[[DY]] over "embed"
// CHECK: nn.accumulate @beta.grad.0, %[[DB]]
// CHECK: nn.accumulate @gamma.grad.0, %[[DG]]
func.func @micro() {
  %x = nn.input "x" : !x
  %t = nn.input "targets" : !t
  %g = nn.read @gamma : !e
  %b = nn.read @beta : !e
  %n, %m, %r = nn.layer_norm %x, %g, %b over "embed" epsilon 1.0e-5 : (!x, !e, !e) -> (!x, !b, !b)
  %y = nn.softmax %n over "embed" : (!x) -> !x
  %loss, %lse = nn.cross_entropy %y, %t over "embed" : (!x, !t) -> (!b, !b)
  %s = nn.sum %loss : (!b) -> !s
  %c = nn.scale %s by 0.25 : (!s) -> !s
  nn.accumulate @"#out.loss.sum", %c : !s
  return
}

// -----

!x = tensor<2x8xf64, #nn.axes<batch, embed>>
!e = tensor<8xf64, #nn.axes<embed>>
!b = tensor<2xf64, #nn.axes<batch>>
!s = tensor<f64, #nn.axes<>>
nn.variable @gamma : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<ones>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// The norm by the root mean square saves what it divided by.
// CHECK-LABEL: @micro
// CHECK: %[[X:.+]] = nn.input "x"
// CHECK: %[[G:.+]] = nn.read @gamma
// CHECK: %{{.+}}, %[[RSTD:.+]] = nn.rms_norm
// CHECK: %[[D:.+]] = nn.fill 1.0
// CHECK: %{{.+}}, %[[DG:.+]] = nn.rms_norm_grad %[[X]], %[[G]], %[[RSTD]], %[[D]] over "embed"
// CHECK: nn.accumulate @gamma.grad.0, %[[DG]]
func.func @micro() {
  %x = nn.input "x" : !x
  %g = nn.read @gamma : !e
  %n, %r = nn.rms_norm %x, %g over "embed" epsilon 1.0e-5 : (!x, !e) -> (!x, !b)
  %s = nn.sum %n : (!x) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

!h = tensor<2x8x4x4xf64, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf64, #nn.axes<batch, head, seq, key>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !h {kind = #nn.kind<parameter>, stored = [2, 8, 4, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// One value as query, key and value: the three gradients are added in order of use.
// CHECK-LABEL: @micro
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: %{{.+}}, %[[P:.+]] = nn.attention
// CHECK: %[[D:.+]] = nn.fill 1.0
// CHECK: %[[DQ:.+]], %[[DK:.+]], %[[DV:.+]] = nn.attention_grad %[[W]], %[[W]], %[[W]], %[[P]], %[[D]] {causal = true
// CHECK: %[[KV:.+]] = nn.add %[[DK]], %[[DV]]
// CHECK: %[[QKV:.+]] = nn.add %[[DQ]], %[[KV]]
// CHECK: nn.accumulate @w.grad.0, %[[QKV]]
func.func @micro() {
  %w = nn.read @w : !h
  %o, %p = nn.attention %w, %w, %w {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!h, !h, !h) -> (!h, !p)
  %s = nn.sum %o : (!h) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
