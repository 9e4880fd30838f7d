// Mixed precision: parameters become bf16, norms, loss and scalars stay f32 between conversions, and so does what the plan keeps. TF32.
// RUN: npar-opt %s -split-input-file -prepare-precision | FileCheck %s -enable-var-scope

// The default: the product in bf16, the norm and the loss in f32.
!w = tensor<8x4xf32, #nn.axes<embed, vocab>>
!e = tensor<8xf32, #nn.axes<embed>>
!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!y = tensor<2x4xf32, #nn.axes<batch, vocab>>
!r = tensor<2xf32, #nn.axes<batch>>
!i = tensor<2xi32, #nn.axes<batch>>
!f = tensor<f32, #nn.axes<>>
!s = tensor<f64, #nn.axes<>>
// CHECK-LABEL: module attributes {nn.precision
module attributes {nn.precision = {compute = bf16}} {
// CHECK: nn.variable @t : tensor<9x8xbf16
// CHECK: nn.variable @g : tensor<8xbf16
// CHECK: nn.variable @w : tensor<8x4xbf16
nn.variable @t : tensor<9x8xf32, #nn.axes<rows, embed>> {kind = #nn.kind<parameter>, stored = [9, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @g : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<ones>, index = 1 : i64}
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 4], init = #nn.init<zeros>, index = 2 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %i = nn.input "tokens" {at = #nn.at<F, "", -1>} : !i
  // CHECK: %[[T:.+]] = nn.read @t {{.*}}bf16
  %t = nn.read @t {at = #nn.at<F, "wte", -1>} : tensor<9x8xf32, #nn.axes<rows, embed>>
  // CHECK: %[[X:.+]] = nn.gather %[[T]], {{.*}} -> tensor<2x8xbf16
  %x = nn.gather %t, %i over "rows" {at = #nn.at<F, "wte", -1>} : (tensor<9x8xf32, #nn.axes<rows, embed>>, !i) -> !x
  // CHECK: %[[G:.+]] = nn.read @g {{.*}}bf16
  %g = nn.read @g {at = #nn.at<F, "ln", 0>} : !e
  // The scale and the shift are one value: it is converted once.
  // CHECK-DAG: %[[WX:.+]] = nn.convert %[[X]] {at = #nn.at<F, "ln", 0>} {{.*}} -> tensor<2x8xf32
  // CHECK-DAG: %[[WG:.+]] = nn.convert %[[G]] {{.*}} -> tensor<8xf32
  // CHECK: %[[N:.+]], %{{.+}}, %{{.+}} = nn.layer_norm %[[WX]], %[[WG]], %[[WG]] {{.*}} -> (tensor<2x8xf32
  %n, %m, %d = nn.layer_norm %x, %g, %g over "embed" epsilon 1.0e-5 {at = #nn.at<F, "ln", 0>} : (!x, !e, !e) -> (!x, !r, !r)
  // CHECK: %[[W:.+]] = nn.read @w
  %w = nn.read @w {at = #nn.at<F, "head", 1>} : !w
  // CHECK: %[[NN:.+]] = nn.convert %[[N]] {at = #nn.at<F, "head", 1>} {{.*}} -> tensor<2x8xbf16
  // CHECK: %[[Y:.+]] = nn.einsum %[[NN]], %[[W]] {{.*}} -> tensor<2x4xbf16
  %y = nn.einsum %n, %w {at = #nn.at<F, "head", 1>} : (!x, !w) -> !y
  // CHECK: %[[WY:.+]] = nn.convert %[[Y]] {{.*}} -> tensor<2x4xf32
  // CHECK: nn.cross_entropy %[[WY]]
  %l, %lse = nn.cross_entropy %y, %i over "vocab" {at = #nn.at<F, "loss", 1>} : (!y, !i) -> (!r, !r)
  // What only chooses what counts in the loss does not round it.
  %z = nn.fill 0.0 {of_loss, at = #nn.at<F, "loss", 1>} : !r
  // CHECK: nn.where {{.*}} -> tensor<2xf32
  %k = nn.where %i, %l, %z {of_loss, at = #nn.at<F, "loss", 1>} : (!i, !r, !r) -> !r
  // CHECK: nn.sum {{.*}} -> tensor<f32
  %sum = nn.sum %k {at = #nn.at<F, "loss", 1>} : (!r) -> !f
  // CHECK: nn.convert {{.*}} -> tensor<f64
  %wide = nn.convert %sum {at = #nn.at<F, "loss", 1>} : (!f) -> !s
  nn.accumulate @"#out.loss.sum", %wide {at = #nn.at<F, "loss", 1>} : !s
  return
}
}

// -----

// What is kept: a kind of operation, and a layer with its parameter. The last word counts: the norm is f16 here. A pattern names layers, not
// what is in none, and a `*` one component, not several.
!w = tensor<8x8xf32, #nn.axes<embed, hidden>>
!e = tensor<8xf32, #nn.axes<embed>>
!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!y = tensor<2x8xf32, #nn.axes<batch, hidden>>
!r = tensor<2xf32, #nn.axes<batch>>
// CHECK-LABEL: module attributes {nn.precision
module attributes {nn.precision = {compute = f16, keep = [
    {what = "norm", layer = false, type = f32}, {what = "gelu", layer = false, type = f32}, {what = "h.*.mlp", layer = true, type = f32},
    {what = "*.mlp", layer = true, type = f16}, {what = "*.*.*.*.*", layer = true, type = f16},
    {what = "layer_norm", layer = false, type = f16}]}} {
// CHECK: nn.variable @h.0.mlp.w : tensor<8x8xf32
// CHECK: nn.variable @g : tensor<8xf16
nn.variable @h.0.mlp.w : !w {kind = #nn.kind<parameter>, stored = [8, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @g : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<ones>, index = 1 : i64}
func.func @micro() {
  %x = nn.fill 1.0 {at = #nn.at<F, "", -1>} : !x
  %g = nn.read @g {at = #nn.at<F, "ln", 0>} : !e
  // CHECK: nn.layer_norm {{.*}} -> (tensor<2x8xf16
  %n, %m, %d = nn.layer_norm %x, %g, %g over "embed" epsilon 1.0e-5 {at = #nn.at<F, "ln", 0>} : (!x, !e, !e) -> (!x, !r, !r)
  // CHECK: nn.gelu {{.*}} -> tensor<2x8xf32
  %a = nn.gelu %n {at = #nn.at<F, "ln", 0>} : (!x) -> !x
  %w = nn.read @h.0.mlp.w {at = #nn.at<F, "h.0.mlp.c_fc", 0>} : !w
  // CHECK: nn.einsum {{.*}} -> tensor<2x8xf32
  %y = nn.einsum %a, %w {at = #nn.at<F, "h.0.mlp.c_fc", 0>} : (!x, !w) -> !y
  // CHECK: nn.relu {{.*}} -> tensor<2x8xf16
  %z = nn.relu %y {at = #nn.at<F, "h.0.attn", 0>} : (!y) -> !y
  return
}
}

// -----

// In f64 there is nothing to mix.
// CHECK-LABEL: module {
module attributes {nn.precision = {compute = bf16}} {
// CHECK: nn.variable @w : tensor<8xf64
nn.variable @w : tensor<8xf64, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
func.func @micro() {
  return
}
}

// -----

// What makes integers of floats has them in one type: the norm's result is f32, its maximum is taken in bf16. One float alone stays as it is.
!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!e = tensor<8xf32, #nn.axes<embed>>
!r = tensor<2xf32, #nn.axes<batch>>
!i = tensor<2xi32, #nn.axes<batch>>
// CHECK-LABEL: module {{.*}}nn.precision
module attributes {nn.precision = {compute = bf16}} {
nn.variable @g : !e {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<ones>, index = 0 : i64}
func.func @micro() {
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  %g = nn.read @g {at = #nn.at<F, "ln", 0>} : !e
  // CHECK: %[[N:.+]], %{{.+}}, %{{.+}} = nn.layer_norm {{.*}} -> (tensor<2x8xf32
  %n, %m, %d = nn.layer_norm %x, %g, %g over "embed" epsilon 1.0e-5 {at = #nn.at<F, "ln", 0>} : (!x, !e, !e) -> (!x, !r, !r)
  // CHECK: %[[MAX:.+]] = nn.max {{.*}} -> tensor<2xbf16
  %max = nn.max %n {at = #nn.at<F, "", 0>} : (!x) -> !r
  // CHECK: %[[C:.+]] = nn.convert %[[N]] {{.*}} -> tensor<2x8xbf16
  // CHECK-NEXT: nn.first_max %[[C]], %[[MAX]] over ["embed"]
  %f = nn.first_max %n, %max over ["embed"] {at = #nn.at<F, "", 0>} : (!x, !r) -> !i
  // CHECK: nn.to_int %[[N]]
  %t = nn.to_int %n {at = #nn.at<F, "", 0>} : (!x) -> tensor<2x8xi32, #nn.axes<batch, embed>>
  return
}
}

// -----

// What is made of positions and constants alone is f32, whatever the plan keeps, and rounded once where it meets a value of the plan's type: an
// angle by a conversion that all its uses share, next to where it is made; what no float goes into (a position as a float, a table) by
// making it in that type. A value of the model that is compared with a position is widened. The wide table is gone: nobody uses it.
!p = tensor<8xi32, #nn.axes<seq>>
!s = tensor<8xf32, #nn.axes<seq>>
!h = tensor<4xf32, #nn.axes<half>>
!t = tensor<8x4xf32, #nn.axes<seq, half>>
!x = tensor<2x8xf32, #nn.axes<batch, seq>>
!y = tensor<2x8x4xf32, #nn.axes<batch, seq, half>>
!c = tensor<2x8xi32, #nn.axes<batch, seq>>
// CHECK-LABEL: module {{.*}}nn.precision
module attributes {nn.precision = {compute = bf16, keep = [{what = "cos", layer = false, type = bf16}]}} {
nn.variable @g : !h {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<ones>, index = 0 : i64}
func.func @micro() {
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  // CHECK: %[[G:.+]] = nn.read @g {{.*}}bf16
  %g = nn.read @g {at = #nn.at<F, "", -1>} : !h
  // CHECK: %[[P:.+]] = nn.index
  %p = nn.index {at = #nn.at<F, "", -1>} : !p
  // CHECK: %[[F:.+]] = nn.to_float %[[P]] {{.*}} -> tensor<8xf32
  // CHECK-NEXT: %[[N:.+]] = nn.to_float %[[P]] {at = #nn.at<F, "", -1>} {{.*}} -> tensor<8xbf16
  %f = nn.to_float %p {at = #nn.at<F, "", -1>} : (!p) -> !s
  %k = nn.fill 0.37 {at = #nn.at<F, "", -1>} : !h
  // CHECK: %[[A:.+]] = nn.mul %[[F]], %{{.+}} {{.*}} -> tensor<8x4xf32
  %a = nn.mul %f, %k {at = #nn.at<F, "rotary", 0>} : (!s, !h) -> !t
  // CHECK: %[[C:.+]] = nn.cos %[[A]] {{.*}} -> tensor<8x4xf32
  // CHECK-NEXT: %[[R:.+]] = nn.convert %[[C]] {at = #nn.at<F, "rotary", 0>} {{.*}} -> tensor<8x4xbf16
  %c = nn.cos %a {at = #nn.at<F, "rotary", 0>} : (!t) -> !t
  // CHECK: %[[S:.+]] = nn.sinusoid %[[P]] {{.*}} -> tensor<8x4xbf16
  %s = nn.sinusoid %p along "half" base 10000.0 wave "sin" {at = #nn.at<F, "rotary", 0>} : (!p) -> !t
  // CHECK: nn.mul %{{.+}}, %[[R]] {{.*}} -> tensor<2x8x4xbf16
  %y = nn.mul %x, %c {at = #nn.at<F, "h", 1>} : (!x, !t) -> !y
  // CHECK: nn.add %{{.+}}, %[[R]] {{.*}} -> tensor<2x8x4xbf16
  %z = nn.add %y, %c {at = #nn.at<F, "h", 1>} : (!y, !t) -> !y
  // CHECK: nn.mul %{{.+}}, %[[S]] {{.*}} -> tensor<2x8x4xbf16
  %w = nn.mul %z, %s {at = #nn.at<F, "h", 1>} : (!y, !t) -> !y
  // CHECK: nn.mul %[[N]], %[[G]] {{.*}} -> tensor<8x4xbf16
  %m = nn.mul %f, %g {at = #nn.at<F, "h", 1>} : (!s, !h) -> !t
  // CHECK: %[[E:.+]] = nn.exp {{.*}} -> tensor<2x8xbf16
  %e = nn.exp %x {at = #nn.at<F, "h", 1>} : (!x) -> !x
  // CHECK: %[[W:.+]] = nn.convert %[[E]] {{.*}} -> tensor<2x8xf32
  // CHECK-NEXT: nn.compare "less" %[[W]], %[[F]]
  %l = nn.compare "less" %e, %f {at = #nn.at<F, "h", 1>} : (!x, !s) -> !c
  return
}
}

// -----

// Attention takes a bias of positions as it is: it changes scores in f32. What counts in a loss is chosen in the types of @micro.
!p = tensor<8xi32, #nn.axes<seq>>
!s = tensor<8xf32, #nn.axes<seq>>
!k = tensor<8xf32, #nn.axes<seq.key>>
!x = tensor<2x8x4xf32, #nn.axes<batch, seq, feature>>
!r = tensor<2x8x8xf32, #nn.axes<batch, seq, seq.key>>
!v = tensor<2x8xf32, #nn.axes<batch, seq>>
!c = tensor<2x8xi32, #nn.axes<batch, seq>>
// CHECK-LABEL: module {{.*}}nn.precision
module attributes {nn.precision = {compute = bf16}} {
// CHECK: func.func @count
func.func @count() {
  %p = nn.index {at = #nn.at<C, "", -1>} : !p
  // CHECK: %[[F:.+]] = nn.to_float {{.*}} -> tensor<8xf32
  %f = nn.to_float %p {at = #nn.at<C, "", -1>} : (!p) -> !s
  %v = nn.input "v" {at = #nn.at<C, "", -1>} : !v
  // CHECK: %[[E:.+]] = nn.exp {{.*}} -> tensor<2x8xbf16
  %e = nn.exp %v {at = #nn.at<C, "", -1>} : (!v) -> !v
  // CHECK: %[[W:.+]] = nn.convert %[[E]] {{.*}} -> tensor<2x8xf32
  // CHECK: nn.compare "less" %[[W]], %[[F]]
  %l = nn.compare "less" %e, %f {at = #nn.at<C, "", -1>} : (!v, !s) -> !c
  return
}
// CHECK: func.func @micro
func.func @micro() {
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  %p = nn.index {at = #nn.at<F, "", -1>} : tensor<8xi32, #nn.axes<seq.key>>
  // CHECK: %[[B:.+]] = nn.to_float {{.*}} -> tensor<8xf32
  %b = nn.to_float %p {at = #nn.at<F, "", -1>} : (tensor<8xi32, #nn.axes<seq.key>>) -> !k
  // CHECK: nn.attention %{{.+}}, %{{.+}}, %{{.+}}, %[[B]] {{.*}}tensor<8xf32, #nn.axes<seq.key>>) -> (tensor<2x8x4xbf16
  %o, %q = nn.attention %x, %x, %x, %b {seq = "seq", key = "seq.key", feature = "feature", causal = false, scale = 0.5, biased = true, at = #nn.at<F, "", -1>}
      : (!x, !x, !x, !k) -> (!x, !r)
  return
}
}

// -----

// What is not rounded, to measure what its rounding does: positions go into it as they are, and what takes its result computes in f32 and
// rounds its own.
!s = tensor<8xf32, #nn.axes<seq>>
!h = tensor<4xf32, #nn.axes<half>>
!t = tensor<8x4xf32, #nn.axes<seq, half>>
// CHECK-LABEL: module {{.*}}nn.precision
module attributes {nn.precision = {compute = bf16}} {
nn.variable @g : !h {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<ones>, index = 0 : i64}
func.func @micro() {
  %g = nn.read @g {at = #nn.at<F, "", -1>} : !h
  %p = nn.index {at = #nn.at<F, "", -1>} : tensor<8xi32, #nn.axes<seq>>
  // CHECK: %[[F:.+]] = nn.to_float {{.*}} -> tensor<8xf32
  %f = nn.to_float %p {at = #nn.at<F, "", -1>} : (tensor<8xi32, #nn.axes<seq>>) -> !s
  // CHECK: %[[M:.+]] = nn.mul %[[F]], %{{.+}} {at = #nn.at<F, "h", 1>} : {{.*}} -> tensor<8x4xf32
  %m = nn.mul %f, %g {unrounded, at = #nn.at<F, "h", 1>} : (!s, !h) -> !t
  // CHECK: %[[C:.+]] = nn.cos %[[M]] {{.*}} -> tensor<8x4xf32
  // CHECK-NEXT: %[[R:.+]] = nn.convert %[[C]] {{.*}} -> tensor<8x4xbf16
  %c = nn.cos %m {at = #nn.at<F, "h", 1>} : (!t) -> !t
  // CHECK-NEXT: nn.exp %[[R]] {{.*}} -> tensor<8x4xbf16
  %e = nn.exp %c {at = #nn.at<F, "h", 1>} : (!t) -> !t
  return
}
}

// -----

// In tf32 products alone change, those that are kept do not; nothing is converted, and nothing is left to consume.
!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!w = tensor<8x8xf32, #nn.axes<embed, hidden>>
!y = tensor<2x8xf32, #nn.axes<batch, hidden>>
// CHECK-LABEL: module {
module attributes {nn.precision = {compute = tf32, keep = [{what = "head", layer = true, type = f32}]}} {
// CHECK: nn.variable @w : tensor<8x8xf32
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 8], init = #nn.init<zeros>, index = 0 : i64}
func.func @micro() {
  %x = nn.input "x" {at = #nn.at<F, "", -1>} : !x
  %w = nn.read @w {at = #nn.at<F, "", 0>} : !w
  // CHECK: %[[Y:.+]] = nn.einsum %{{.+}}, %{{.+}} {at = #nn.at<F, "h", 0>, tf32}
  %y = nn.einsum %x, %w {at = #nn.at<F, "h", 0>} : (!x, !w) -> !y
  // CHECK-NEXT: nn.exp %[[Y]]
  %e = nn.exp %y {at = #nn.at<F, "h", 0>} : (!y) -> !y
  // CHECK-NEXT: nn.einsum %{{.+}}, %{{.+}} {at = #nn.at<F, "head", 0>} :
  %z = nn.einsum %x, %w {at = #nn.at<F, "head", 0>} : (!x, !w) -> !y
  // A product of positions stays exact.
  // CHECK: nn.einsum %[[T:.+]], %[[T]] {at = #nn.at<F, "h", 0>} :
  %p = nn.index {at = #nn.at<F, "h", 0>} : tensor<8xi32, #nn.axes<embed>>
  %t = nn.to_float %p {at = #nn.at<F, "h", 0>} : (tensor<8xi32, #nn.axes<embed>>) -> tensor<8xf32, #nn.axes<embed>>
  %q = nn.einsum %t, %t {at = #nn.at<F, "h", 0>} : (tensor<8xf32, #nn.axes<embed>>, tensor<8xf32, #nn.axes<embed>>) -> tensor<f32, #nn.axes<>>
  return
}
}
