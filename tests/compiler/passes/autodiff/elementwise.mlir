// The gradients of elementwise ops; operands that were broadcast are summed over what they lack.
// RUN: npar-opt %s -split-input-file -autodiff-backward -canonicalize | FileCheck %s

!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!e = tensor<8xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
!f = tensor<f32, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @b : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// y = (w - b) * b: db has a part from each place, the later one first on the way back.
// CHECK: nn.variable @w.grad.0 : {{.*}} {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
// CHECK: nn.variable @b.grad.0
// CHECK-LABEL: @micro
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: %[[B:.+]] = nn.read @b
// CHECK: %[[D:.+]] = nn.sub %[[W]], %[[B]]
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[DY:.+]] = nn.fill 1.000000e+00 {at = #nn.at<B, "m", 2>} : tensor<2x8xf32
// CHECK: %[[DD:.+]] = nn.chain_mul %[[DY]], %[[B]] {at = #nn.at<B, "m", 2>}
// CHECK: %[[P:.+]] = nn.chain_mul %[[DY]], %[[D]] {at = #nn.at<B, "m", 2>}
// CHECK: %[[B1:.+]] = nn.sum %[[P]] {at = #nn.at<B, "m", 2>} : {{.*}} -> tensor<8xf32
// CHECK: %[[S:.+]] = nn.sum %[[DD]] {at = #nn.at<B, "m", 1>} : {{.*}} -> tensor<8xf32
// CHECK: %[[B0:.+]] = nn.scale %[[S]] by -1.000000e+00 {at = #nn.at<B, "m", 1>}
// CHECK: %[[DB:.+]] = nn.add %[[B0]], %[[B1]] {at = #nn.at<B, "m", 1>}
// CHECK: nn.accumulate @b.grad.0, %[[DB]] {at = #nn.at<B, "m", 0>}
// CHECK: nn.accumulate @w.grad.0, %[[DD]] {at = #nn.at<B, "m", 0>}
func.func @micro() {
  %w = nn.read @w {at = #nn.at<F, "m", 0>} : !x
  %b = nn.read @b {at = #nn.at<F, "m", 0>} : !e
  %d = nn.sub %w, %b {at = #nn.at<F, "m", 1>} : (!x, !e) -> !x
  %y = nn.mul %d, %b {at = #nn.at<F, "m", 2>} : (!x, !e) -> !x
  %s = nn.sum %y {at = #nn.at<F, "m", 2>} : (!x) -> !f
  %l = nn.convert %s {at = #nn.at<F, "m", 2>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %l {at = #nn.at<F, "m", 2>} : !s
  return
}

// -----

!x = tensor<8xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// A chain through every unary op, each with its own rule.
// CHECK-LABEL: @micro
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: %[[E:.+]] = nn.exp %[[W]]
// CHECK: %[[SH:.+]] = nn.shift %[[E]]
// CHECK: %[[L:.+]] = nn.log %[[SH]]
// CHECK: %[[SC:.+]] = nn.scale %[[L]]
// CHECK: %[[R:.+]] = nn.rsqrt %[[SC]]
// CHECK: %[[T:.+]] = nn.tanh %[[R]]
// CHECK: %[[RE:.+]] = nn.relu %[[T]]
// CHECK: %[[G:.+]] = nn.gelu %[[RE]]
// CHECK: %[[SI:.+]] = nn.silu %[[G]]
// CHECK: %[[DR:.+]] = nn.dropout %[[SI]]
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[G0:.+]] = nn.fill 1.000000e+00
// CHECK: %[[G1:.+]] = nn.dropout %[[G0]] {rate = 5.000000e-01 : f64, site = "drop"}
// CHECK: %[[GS:.+]] = nn.silu_grad %[[G]], %[[G1]]
// CHECK: %[[G2:.+]] = nn.gelu_grad %[[RE]], %[[GS]] {approximate = "tanh"}
// CHECK: %[[G3:.+]] = nn.relu_grad %[[T]], %[[G2]]
// CHECK: %[[G4:.+]] = nn.tanh_grad %[[T]], %[[G3]]
// CHECK: %[[R2:.+]] = nn.mul %[[R]], %[[R]]
// CHECK: %[[R3:.+]] = nn.mul %[[R2]], %[[R]]
// CHECK: %[[G5:.+]] = nn.chain %[[G4]], %[[R3]]
// CHECK: %[[G6:.+]] = nn.scale %[[G5]] by -5.000000e-01
// CHECK: %[[G7:.+]] = nn.scale %[[G6]] by 2.000000e+00
// CHECK: %[[G8:.+]] = nn.log_grad %[[G7]], %[[SH]]
// CHECK: %[[G9:.+]] = nn.chain %[[G8]], %[[E]]
// CHECK: nn.accumulate @w.grad.0, %[[G9]]
func.func @micro() {
  %w = nn.read @w : !x
  %0 = nn.exp %w : (!x) -> !x
  %1 = nn.shift %0 by 3.0 : (!x) -> !x
  %2 = nn.log %1 : (!x) -> !x
  %3 = nn.scale %2 by 2.0 : (!x) -> !x
  %4 = nn.rsqrt %3 : (!x) -> !x
  %5 = nn.tanh %4 : (!x) -> !x
  %6 = nn.relu %5 : (!x) -> !x
  %7 = nn.gelu %6 {approximate = "tanh"} : (!x) -> !x
  %silu = nn.silu %7 : (!x) -> !x
  %8 = nn.dropout %silu {rate = 0.5, site = "drop"} : (!x) -> !x
  %9 = nn.sum %8 : (!x) -> !s
  nn.accumulate @"#out.loss.sum", %9 : !s
  return
}

// -----

!x = tensor<8xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @a : !x {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @b : !x {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// max2 sends the gradient to the larger operand, ties to the second; div to both.
// CHECK-LABEL: @micro
// CHECK: %[[A:.+]] = nn.read @a
// CHECK: %[[B:.+]] = nn.read @b
// CHECK: %[[M:.+]] = nn.max2 %[[A]], %[[B]]
// CHECK: %[[Q:.+]] = nn.div %[[M]], %[[B]]
// CHECK: %[[DY:.+]] = nn.fill 1.0
// CHECK: %[[DM:.+]] = nn.chain_div %[[DY]], %[[B]]
// CHECK: %[[P:.+]] = nn.div_grad %[[DY]], %[[Q]], %[[B]]
// CHECK: %[[B1:.+]] = nn.scale %[[P]] by -1.0
// CHECK: %[[D:.+]] = nn.sub %[[A]], %[[B]]
// CHECK: %[[DA:.+]] = nn.relu_grad %[[D]], %[[DM]]
// CHECK: %[[B0:.+]] = nn.sub %[[DM]], %[[DA]]
// CHECK: %[[DB:.+]] = nn.add %[[B0]], %[[B1]]
// CHECK: nn.accumulate @b.grad.0, %[[DB]]
// CHECK: nn.accumulate @a.grad.0, %[[DA]]
func.func @micro() {
  %a = nn.read @a : !x
  %b = nn.read @b : !x
  %m = nn.max2 %a, %b : (!x, !x) -> !x
  %q = nn.div %m, %b : (!x, !x) -> !x
  %s = nn.sum %q : (!x) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
