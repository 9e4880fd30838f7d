// Every op of the dialect prints what it parses.
// RUN: npar-opt %s | npar-opt | FileCheck %s

!tokens = tensor<2x8xi32, #nn.axes<batch, seq>>
!rows = tensor<2x8xf32, #nn.axes<batch, seq>>
!x = tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>
!e = tensor<16xf32, #nn.axes<embed>>
!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
!qkv = tensor<2x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>
!table = tensor<30x16xf32, #nn.axes<vocab, embed>>
!logits = tensor<2x8x30xf32, #nn.axes<batch, seq, vocab>>
!s = tensor<f64, #nn.axes<>>

// CHECK: nn.variable @wte.weight : tensor<30x16xf32, #nn.axes<vocab, embed>>
// CHECK-SAME: {index = 0 : i64, init = #nn.init<normal, 2.000000e-02>, kind = #nn.kind<parameter>, stored = [30, 16]}
nn.variable @wte.weight : !table {kind = #nn.kind<parameter>, stored = [30, 16], init = #nn.init<normal, 0.02>, index = 0 : i64}
// CHECK: nn.variable @wte.weight.grad.0 : {{.*}} {kind = #nn.kind<accumulator>, of = @wte.weight, use = 0 : i64}
nn.variable @wte.weight.grad.0 : !table {kind = #nn.kind<accumulator>, of = @wte.weight, use = 0 : i64}
// CHECK: nn.variable @wte.weight.momentum : {{.*}} {kind = #nn.kind<state>, of = @wte.weight, slot = "momentum"}
nn.variable @wte.weight.momentum : !table {kind = #nn.kind<state>, of = @wte.weight, slot = "momentum"}
// CHECK: nn.variable @"#out.loss" : tensor<f64, #nn.axes<>> {kind = #nn.kind<output>, output = "loss"}
nn.variable @"#out.loss" : !s {kind = #nn.kind<output>, output = "loss"}
// CHECK: nn.variable @ln.weight : {{.*}}init = #nn.init<ones>
nn.variable @ln.weight : !e {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<ones>, index = 1 : i64}

// CHECK-LABEL: @variables
func.func @variables(%s: !s) {
  // CHECK: %[[W:.+]] = nn.read @wte.weight {at = #nn.at<F, "wte", -1>} : tensor<30x16xf32, #nn.axes<vocab, embed>>
  %w = nn.read @wte.weight {at = #nn.at<F, "wte", -1>} : !table
  // CHECK: nn.accumulate @wte.weight.grad.0, %[[W]] {at = #nn.at<B, "wte", -1>}
  nn.accumulate @wte.weight.grad.0, %w {at = #nn.at<B, "wte", -1>} : !table
  // CHECK: nn.write @"#out.loss", %{{.+}} {at = #nn.at<U, "", 3>} : tensor<f64, #nn.axes<>>
  nn.write @"#out.loss", %s {at = #nn.at<U, "", 3>} : !s
  // CHECK: nn.input "tokens" : tensor<2x8xi32, #nn.axes<batch, seq>>
  %t = nn.input "tokens" : !tokens
  // CHECK: nn.index : tensor<8xi32, #nn.axes<seq>>
  %i = nn.index : tensor<8xi32, #nn.axes<seq>>
  // CHECK: nn.sinusoid %{{.+}} along "half" base 1.000000e+04 wave "cos" : (tensor<8xi32, #nn.axes<seq>>) -> tensor<8x4xf32, #nn.axes<seq, half>>
  %c = nn.sinusoid %i along "half" base 10000.0 wave "cos" : (tensor<8xi32, #nn.axes<seq>>) -> tensor<8x4xf32, #nn.axes<seq, half>>
  // CHECK: nn.sinusoid %{{.+}} along "half" frequencies [1.000000e+00, 5.000000e-01] wave "sin" :
  %listed = nn.sinusoid %i along "half" frequencies [1.0, 0.5] wave "sin" : (tensor<8xi32, #nn.axes<seq>>) -> tensor<8x2xf32, #nn.axes<seq, half>>
  // CHECK: nn.fill 5.000000e-01 : tensor<16xf32, #nn.axes<embed>>
  %f = nn.fill 0.5 : !e
  return
}

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: !x, %e: !e, %d: tensor<2x8x16xf64, #nn.axes<batch, seq, embed>>) {
  // CHECK: nn.add %{{.+}}, %{{.+}} : (tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16xf32, #nn.axes<embed>>) -> tensor<2x8x16xf32
  %0 = nn.add %x, %e : (!x, !e) -> !x
  // CHECK: nn.sub
  %1 = nn.sub %x, %e : (!x, !e) -> !x
  // CHECK: nn.mul
  %2 = nn.mul %x, %e : (!x, !e) -> !x
  // CHECK: nn.div
  %3 = nn.div %e, %x : (!e, !x) -> !x
  // CHECK: nn.max2
  %4 = nn.max2 %x, %x : (!x, !x) -> !x
  // CHECK: nn.scale %{{.+}} by 2.000000e+00 :
  %5 = nn.scale %x by 2.0 : (!x) -> !x
  // CHECK: nn.shift %{{.+}} by -1.000000e+00 :
  %6 = nn.shift %x by -1.0 : (!x) -> !x
  // CHECK: nn.exp
  %7 = nn.exp %x : (!x) -> !x
  // CHECK: nn.log
  %8 = nn.log %x : (!x) -> !x
  // CHECK: nn.rsqrt
  %9 = nn.rsqrt %x : (!x) -> !x
  // CHECK: nn.tanh
  %10 = nn.tanh %x : (!x) -> !x
  // CHECK: nn.relu
  %11 = nn.relu %x : (!x) -> !x
  // CHECK: nn.gelu %{{.+}} {approximate = "tanh"}
  %12 = nn.gelu %x {approximate = "tanh"} : (!x) -> !x
  // CHECK: nn.relu_grad
  %13 = nn.relu_grad %x, %x : (!x, !x) -> !x
  // CHECK: nn.tanh_grad
  %14 = nn.tanh_grad %x, %x : (!x, !x) -> !x
  // CHECK: nn.gelu_grad
  %15 = nn.gelu_grad %x, %x {approximate = "none"} : (!x, !x) -> !x
  // CHECK: nn.silu %
  %18 = nn.silu %x : (!x) -> !x
  // CHECK: nn.silu_grad
  %19 = nn.silu_grad %x, %x : (!x, !x) -> !x
  // CHECK: nn.convert
  %16 = nn.convert %d : (tensor<2x8x16xf64, #nn.axes<batch, seq, embed>>) -> !x
  // CHECK: nn.dropout %{{.+}} {rate = 1.000000e-01 : f64, site = "h.0.drop"}
  %17 = nn.dropout %x {rate = 0.1, site = "h.0.drop"} : (!x) -> !x
  return
}

// CHECK-LABEL: @shapes
func.func @shapes(%x: !x, %w: !table, %t: !tokens, %l: !logits, %rows: !rows, %qkv: !qkv, %h: !h, %p: !p) {
  // CHECK: nn.einsum
  %0 = nn.einsum %x, %w : (!x, !table) -> !logits
  // CHECK: nn.sum %{{.+}} : (tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>) -> tensor<16xf32, #nn.axes<embed>>
  %1 = nn.sum %x : (!x) -> !e
  // CHECK: nn.max
  %2 = nn.max %x : (!x) -> !rows
  // CHECK: nn.is_max %{{.+}}, %{{.+}} :
  %is = nn.is_max %x, %2 : (!x, !rows) -> !x
  // CHECK: nn.broadcast
  %3 = nn.broadcast %rows : (!rows) -> tensor<16x8x2xf32, #nn.axes<embed, seq, batch>>
  // CHECK: nn.gather %{{.+}}, %{{.+}} over "vocab" :
  %4 = nn.gather %w, %t over "vocab" : (!table, !tokens) -> !x
  // CHECK: nn.scatter_add %{{.+}}, %{{.+}} over "vocab" :
  %5 = nn.scatter_add %t, %x over "vocab" : (!tokens, !x) -> !table
  // CHECK: nn.select %{{.+}} at "part"[2] :
  %6 = nn.select %qkv at "part"[2] : (!qkv) -> !h
  // CHECK: nn.stack %{{.+}}, %{{.+}}, %{{.+}} along "part" :
  %7 = nn.stack %h, %h, %h along "part" : (!h, !h, !h) -> !qkv
  // CHECK: nn.rename %{{.+}} from "seq" to "key" :
  %8 = nn.rename %h from "seq" to "key" : (!h) -> tensor<2x8x4x4xf32, #nn.axes<batch, key, head, feature>>
  // CHECK: nn.causal_mask %{{.+}} query "seq" key "key" :
  %9 = nn.causal_mask %p query "seq" key "key" : (!p) -> !p
  // CHECK: nn.reshape %{{.+}} :
  %halves = nn.reshape %h : (!h) -> tensor<2x2x4x4x4xf32, #nn.axes<batch, half, row, head, feature>>
  // CHECK: nn.pick %{{.+}}, %{{.+}} over "vocab" :
  %10 = nn.pick %l, %t over "vocab" : (!logits, !tokens) -> !rows
  // CHECK: nn.one_hot %{{.+}} over "vocab" :
  %11 = nn.one_hot %t over "vocab" : (!tokens) -> !logits
  return
}

// CHECK-LABEL: @layers
func.func @layers(%x: !x, %e: !e, %rows: !rows, %h: !h, %p: !p, %l: !logits, %t: !tokens) {
  // CHECK: nn.layer_norm %{{.+}}, %{{.+}}, %{{.+}} over "embed" epsilon {{1.000000e-05|1.0e-05}} :
  %y, %m, %r = nn.layer_norm %x, %e, %e over "embed" epsilon 1.0e-5 : (!x, !e, !e) -> (!x, !rows, !rows)
  // CHECK: nn.layer_norm_grad {{.*}} over "embed" :
  %dx, %dg, %db = nn.layer_norm_grad %x, %e, %m, %r, %y over "embed" : (!x, !e, !rows, !rows, !x) -> (!x, !e, !e)
  // CHECK: nn.rms_norm %{{.+}}, %{{.+}} over "embed" epsilon {{1.000000e-05|1.0e-05}} :
  %z, %d = nn.rms_norm %x, %e over "embed" epsilon 1.0e-5 : (!x, !e) -> (!x, !rows)
  // CHECK: nn.rms_norm_grad {{.*}} over "embed" :
  %rx, %rg = nn.rms_norm_grad %x, %e, %d, %z over "embed" : (!x, !e, !rows, !x) -> (!x, !e)
  // CHECK: nn.softmax %{{.+}} over "key" :
  %s = nn.softmax %p over "key" : (!p) -> !p
  // CHECK: nn.softmax_grad %{{.+}}, %{{.+}} over "key" :
  %ds = nn.softmax_grad %s, %p over "key" : (!p, !p) -> !p
  // CHECK: nn.attention %{{.+}}, %{{.+}}, %{{.+}} {causal = true, feature = "feature", key = "key", scale = 5.000000e-01 : f64, seq = "seq"}
  %o, %probs = nn.attention %h, %h, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!h, !h, !h) -> (!h, !p)
  // CHECK: nn.attention {{.*}} ring,
  %oo, %sums = nn.attention %h, %h, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, ring} : (!h, !h, !h) -> (!h, !lse)
  // CHECK: nn.attention_grad {{.*}} ring,
  %rq, %rk, %rv = nn.attention_grad %h, %h, %h, %sums, %oo, %oo {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, ring}
      : (!h, !h, !h, !lse, !h, !h) -> (!h, !h, !h)
  // CHECK: nn.attention {{.*}}blocked,
  %bo, %logs = nn.attention %h, %h, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked} : (!h, !h, !h) -> (!h, !lse)
  // CHECK: nn.attention_grad {{.*}}blocked,
  %bq, %bk, %bv = nn.attention_grad %h, %h, %h, %logs, %bo, %bo {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked}
      : (!h, !h, !h, !lse, !h, !h) -> (!h, !h, !h)
  // CHECK: nn.attention_grad
  %q, %k, %v = nn.attention_grad %h, %h, %h, %probs, %o {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5}
    : (!h, !h, !h, !p, !h) -> (!h, !h, !h)
  // CHECK: nn.cross_entropy %{{.+}}, %{{.+}} over "vocab" :
  %loss, %lse = nn.cross_entropy %l, %t over "vocab" : (!logits, !tokens) -> (!rows, !rows)
  // CHECK: nn.cross_entropy_grad
  %dl = nn.cross_entropy_grad %l, %t, %lse, %rows over "vocab" : (!logits, !tokens, !rows, !rows) -> !logits
  // CHECK: nn.cross_entropy %{{.+}}, %{{.+}} over "vocab" ignore -100 :
  %loss2, %lse2 = nn.cross_entropy %l, %t over "vocab" ignore -100 : (!logits, !tokens) -> (!rows, !rows)
  // CHECK: nn.cross_entropy_grad {{.*}} over "vocab" ignore -100 :
  %dl2 = nn.cross_entropy_grad %l, %t, %lse, %rows over "vocab" ignore -100 : (!logits, !tokens, !rows, !rows) -> !logits
  // CHECK: nn.keep_valid %{{.+}}, %{{.+}} ignore -100 :
  %kept = nn.keep_valid %l, %t ignore -100 : (!logits, !tokens) -> !logits
  return
}

// Three query heads share each key; the features that q and k share are two axes, v has another one.
// CHECK-LABEL: @grouped
func.func @grouped(%q: tensor<2x8x2x3x2x4xf32, #nn.axes<batch, seq, kv_head, group, side, half>>,
                   %k: tensor<2x8x2x2x4xf32, #nn.axes<batch, seq, kv_head, side, half>>,
                   %v: tensor<2x8x2x5xf32, #nn.axes<batch, seq, kv_head, feature>>) {
  // CHECK: nn.attention
  %o, %p = nn.attention %q, %k, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5}
    : (tensor<2x8x2x3x2x4xf32, #nn.axes<batch, seq, kv_head, group, side, half>>,
       tensor<2x8x2x2x4xf32, #nn.axes<batch, seq, kv_head, side, half>>, tensor<2x8x2x5xf32, #nn.axes<batch, seq, kv_head, feature>>)
    -> (tensor<2x8x2x3x5xf32, #nn.axes<batch, seq, kv_head, group, feature>>,
        tensor<2x2x3x8x8xf32, #nn.axes<batch, kv_head, group, seq, key>>)
  return
}

// CHECK-LABEL: @updates
func.func @updates(%g: !e, %w: !e) {
  // CHECK: nn.combine %{{.+}}, %{{.+}} :
  %0 = nn.combine %g, %g : (!e, !e) -> !e
  // CHECK: nn.square_sums %{{.+}} parameters [1] :
  %1 = nn.square_sums %0 parameters [1] : (!e) -> tensor<56xf64, #nn.axes<bin>>
  // CHECK: nn.grad_norm
  %norm = nn.grad_norm %1 : (tensor<56xf64, #nn.axes<bin>>) -> !s
  // CHECK: nn.clip_factor %{{.+}} max 1.000000e+00 :
  %factor = nn.clip_factor %norm max 1.0 : (!s) -> !s
  // CHECK: nn.learning_rate "cosine" {final = 0.000000e+00 : f64, peak = 1.000000e-03 : f64, steps = 100 : i64, warmup = 10 : i64}
  %rate = nn.learning_rate "cosine" {final = 0.0, peak = 0.001, steps = 100, warmup = 10} : !s
  // CHECK: nn.learning_rate "step" {every = 30 : i64, factor = 1.000000e-01 : f64, final = 0.000000e+00 : f64, peak = 1.000000e-03 : f64, steps = 0 : i64, warmup = 10 : i64}
  %falling = nn.learning_rate "step" {final = 0.0, peak = 0.001, steps = 0, warmup = 10, factor = 0.1, every = 30} : !s
  // CHECK: nn.step_values %{{.+}} {definitions = [], formulas = ["sub(1, mul(lr, 0.1))", {{.*}}, names = ["lr"]} : (tensor<f64, #nn.axes<>>) -> (
  %keep, %size, %root = nn.step_values %rate {names = ["lr"], definitions = [], formulas = ["sub(1, mul(lr, 0.1))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]} : (!s) -> (!s, !s, !s)
  // CHECK: nn.optimize {{.*}}definitions = ["%0 = add(m
  %w1, %m1, %v1 = nn.optimize %w, %g, %factor, %w, %w, %keep, %size, %root {names = ["w", "g", "m", "v", "keep", "size", "root"], definitions = ["%0 = add(m, mul(sub(g, m), 0.1))", "%1 = add(mul(v, 0.95), mul(mul(g, g), 0.05))"],
    formulas = ["sub(mul(w, keep), mul(size, div(%0, add(div(sqrt(%1), root), 1e-08))))", "%0", "%1"]}
    : (!e, !e, !s, !e, !e, !s, !s, !s) -> (!e, !e, !e)
  // CHECK: nn.optimize
  %w2, %b2 = nn.optimize %w, %g, %factor, %w, %rate {names = ["w", "g", "m", "lr"], definitions = ["%0 = add(mul(m, 0.9), g)"], formulas = ["sub(w, mul(lr, %0))", "%0"]} : (!e, !e, !s, !e, !s) -> (!e, !e)
  // CHECK: nn.optimize
  %w3 = nn.optimize %w, %g, %factor, %rate {names = ["w", "g", "lr"], definitions = [], formulas = ["sub(w, mul(lr, g))"]} : (!e, !e, !s, !s) -> !e
  // A state of the step stays as it is where the step is skipped.
  // CHECK: nn.step_values
  %count = nn.step_values %rate, %factor, %norm {names = ["lr", "#factor", "count"], definitions = [], formulas = ["select(less(count, 3), add(count, 1), count)"]} : (!s, !s, !s) -> !s
  return
}

// Mixed precision: products and sums of 16 bits may give f32, an optimizer takes such a gradient; fp16's loss scale.
!nx = tensor<2x16xbf16, #nn.axes<batch, embed>>
!nh = tensor<2x8xbf16, #nn.axes<batch, hidden>>
!nw = tensor<16x8xbf16, #nn.axes<embed, hidden>>
!w = tensor<16x8xf32, #nn.axes<embed, hidden>>
// CHECK: nn.variable @loss_scale : {{.*}} {init = #nn.init<constant, 6.553600e+04>, kind = #nn.kind<state>, slot = "loss_scale"}
nn.variable @loss_scale : !s {kind = #nn.kind<state>, slot = "loss_scale", init = #nn.init<constant, 65536.0>}
// CHECK-LABEL: @mixed
func.func @mixed(%x: !nx, %h: !nh, %n: !nw, %w: !w, %s: !s) {
  // CHECK: nn.einsum {{.*}} : (tensor<2x16xbf16, {{.*}}>, tensor<2x8xbf16, {{.*}}>) -> tensor<16x8xf32
  %0 = nn.einsum %x, %h : (!nx, !nh) -> !w
  // CHECK: nn.optimize {{.*}} : (tensor<16x8xf32, {{.*}}>, tensor<16x8xbf16
  %4 = nn.optimize %w, %n, %s, %s {names = ["w", "g", "lr"], definitions = [], formulas = ["sub(w, mul(lr, g))"]} : (!w, !nw, !s, !s) -> !w
  // CHECK: nn.learning_rate "constant" counting %{{.+}} : tensor<f64, #nn.axes<>> {
  %5 = nn.learning_rate "constant" counting %s : !s {peak = 0.1, warmup = 0, steps = 1, final = 0.1} : !s
  // CHECK: nn.step_values %{{.+}}, %{{.+}} {{.*}}names = ["lr", "#counted"]
  %10 = nn.step_values %s, %s {names = ["lr", "#counted"], definitions = [], formulas = ["div(lr, t)"]} : (!s, !s) -> !s
  // CHECK: nn.gate %{{.+}}, %{{.+}} : (
  %6 = nn.gate %s, %s : (!s, !s) -> !s
  // CHECK: nn.renew %{{.+}}, %{{.+}}, %{{.+}} : (
  %renewed = nn.renew %s, %s, %s : (!s, !s, !s) -> !s
  // CHECK: nn.loss_scale {{.*}} {interval = 2000 : i64}
  %7, %8, %9 = nn.loss_scale %s, %s, %s, %s {interval = 2000} : (!s, !s, !s, !s) -> (!s, !s, !s)
  return
}

// Integers, truth values (i32 that are 0 or 1), choices, and what looks along an axis.
!wide = tensor<2x8x16xf32, #nn.axes<batch, seq, whole>>
!top = tensor<2x8x3xi32, #nn.axes<batch, seq, slot>>
!order = tensor<2x8x16xi32, #nn.axes<batch, seq, embed>>
// CHECK-LABEL: @integers
func.func @integers(%t: !tokens, %x: !x, %rows: !rows, %e: !e, %wide: !wide) {
  // CHECK: %[[I:.+]] = nn.integer "mod" %{{.+}}, %{{.+}} : (tensor<2x8xi32, #nn.axes<batch, seq>>, tensor<2x8xi32, #nn.axes<batch, seq>>) -> tensor<2x8xi32
  %0 = nn.integer "mod" %t, %t : (!tokens, !tokens) -> !tokens
  // CHECK: %[[C:.+]] = nn.compare "less_equal" %{{.+}}, %{{.+}} : (tensor<2x8xf32, {{.*}}>, tensor<16xf32, {{.*}}>) -> tensor<2x8x16xi32
  %1 = nn.compare "less_equal" %rows, %e : (!rows, !e) -> !order
  // CHECK: nn.where %[[C]], %{{.+}}, %{{.+}} : (tensor<2x8x16xi32
  %2 = nn.where %1, %x, %e : (!order, !x, !e) -> !x
  // CHECK: nn.where %[[I]], %[[I]], %[[I]] : {{.*}} -> tensor<2x8xi32
  %3 = nn.where %0, %0, %0 : (!tokens, !tokens, !tokens) -> !tokens
  // CHECK: nn.to_float %[[I]] :
  %4 = nn.to_float %0 : (!tokens) -> !rows
  // CHECK: nn.to_int
  %5 = nn.to_int %rows : (!rows) -> !tokens
  // CHECK: nn.sqrt
  %6 = nn.sqrt %x : (!x) -> !x
  // CHECK: nn.cos
  %7 = nn.cos %x : (!x) -> !x
  // CHECK: nn.sin
  %8 = nn.sin %x : (!x) -> !x
  // CHECK: nn.abs
  %9 = nn.abs %x : (!x) -> !x
  // CHECK: nn.stop_gradient %{{.+}} :
  %10 = nn.stop_gradient %x : (!x) -> !x
  // CHECK: nn.first_max %{{.+}}, %{{.+}} over ["embed"] :
  %11 = nn.first_max %x, %rows over ["embed"] : (!x, !rows) -> !tokens
  // CHECK: nn.order %{{.+}}, %{{.+}} along "embed" and "whole" :
  %12 = nn.order %x, %wide along "embed" and "whole" : (!x, !wide) -> !order
  // CHECK: nn.find %{{.+}} over "embed" along "slot" :
  %13 = nn.find %12 over "embed" along "slot" : (!order) -> !top
  // CHECK: nn.cumsum %{{.+}} of "whole" to "embed" :
  %14 = nn.cumsum %wide of "whole" to "embed" : (!wide) -> !x
  // CHECK: nn.part %{{.+}} of "whole" to "slot" from -1 :
  %15 = nn.part %wide of "whole" to "slot" from -1 : (!wide) -> tensor<2x8x3xf32, #nn.axes<batch, seq, slot>>
  // CHECK: nn.scatter_match %{{.+}}, %{{.+}} over "embed" :
  %16 = nn.scatter_match %t, %rows over "embed" : (!tokens, !rows) -> !x
  // CHECK: nn.gather %{{.+}}, %{{.+}} over "embed" : (tensor<2x8x16xf32, {{.*}}>, tensor<2x8x3xi32, {{.*}}>) -> tensor<2x8x3xf32
  %17 = nn.gather %x, %13 over "embed" : (!x, !top) -> tensor<2x8x3xf32, #nn.axes<batch, seq, slot>>
  // CHECK: nn.sum {{.*}} -> tensor<2xi32
  %18 = nn.sum %t : (!tokens) -> tensor<2xi32, #nn.axes<batch>>
  // CHECK: nn.fill 3.000000e+00 : tensor<i32, #nn.axes<>>
  %19 = nn.fill 3.0 : tensor<i32, #nn.axes<>>
  // CHECK: nn.fold %{{.+}} of "embed" and "side" by "half" :
  %20 = nn.fold %x of "embed" and "side" by "half" : (!x) -> tensor<2x8x2x8xf32, #nn.axes<batch, seq, side, half>>
  // CHECK: nn.fold %{{.+}} of "flat" and "side" by "half" : (tensor<2x8x2x8xf32, {{.*}}>) -> tensor<2x8x16xf32, #nn.axes<batch, seq, flat>>
  %21 = nn.fold %20 of "flat" and "side" by "half" : (tensor<2x8x2x8xf32, #nn.axes<batch, seq, side, half>>) -> tensor<2x8x16xf32, #nn.axes<batch, seq, flat>>
  // CHECK: nn.sample : tensor<2xi32
  %sample = nn.sample : tensor<2xi32, #nn.axes<batch>>
  // CHECK: nn.group_total %{{.+}} by 1 :
  %group = nn.group_total %x by 1 : !x
  // CHECK: nn.chain %{{.+}}, %{{.+}} :
  %22 = nn.chain %x, %x : (!x, !x) -> !x
  // CHECK: nn.chain_mul %{{.+}}, %{{.+}} :
  %23 = nn.chain_mul %x, %x : (!x, !x) -> !x
  // CHECK: nn.chain_div %{{.+}}, %{{.+}} :
  %24 = nn.chain_div %x, %x : (!x, !x) -> !x
  // CHECK: nn.div_grad %{{.+}}, %{{.+}}, %{{.+}} :
  %25 = nn.div_grad %x, %x, %x : (!x, !x, !x) -> !x
  // CHECK: nn.log_grad %{{.+}}, %{{.+}} :
  %26 = nn.log_grad %x, %x : (!x, !x) -> !x
  return
}

// Windows along two axes, and the gradient of them, which has the axes of the windows already.
// CHECK-LABEL: @windows
func.func @windows(%x: tensor<2x8x8x4xf32, #nn.axes<batch, row, column, channel>>) {
  // CHECK: nn.windows %{{.+}} of ["row", "column"] to ["y", "z"] by ["kh", "kw"]
  %w = nn.windows %x of ["row", "column"] to ["y", "z"] by ["kh", "kw"]
    {stride = array<i64: 2, 1>, dilation = array<i64: 1, 2>, before = array<i64: 1, 2>, spread = array<i64: 1, 1>, fill = 0.0} :
    (tensor<2x8x8x4xf32, #nn.axes<batch, row, column, channel>>) -> tensor<2x3x4x3x8x4xf32, #nn.axes<batch, kh, y, kw, z, channel>>
  // CHECK: nn.windows %{{.+}} of ["y", "z"] to ["row", "column"] by ["kh", "kw"]
  %b = nn.windows %w of ["y", "z"] to ["row", "column"] by ["kh", "kw"]
    {stride = array<i64: 1, 1>, dilation = array<i64: -1, -2>, before = array<i64: -1, -2>, spread = array<i64: 2, 1>, fill = 0.0} :
    (tensor<2x3x4x3x8x4xf32, #nn.axes<batch, kh, y, kw, z, channel>>) -> tensor<2x3x8x3x8x4xf32, #nn.axes<batch, kh, row, kw, column, channel>>
  // CHECK: nn.max_first %{{.+}} over ["kh", "kw"]
  %m = nn.max_first %w over ["kh", "kw"] : (tensor<2x3x4x3x8x4xf32, #nn.axes<batch, kh, y, kw, z, channel>>) -> tensor<2x4x8x4xf32, #nn.axes<batch, y, z, channel>>
  // CHECK: nn.first_max %{{.+}}, %{{.+}} over ["kh", "kw"]
  %i = nn.first_max %w, %m over ["kh", "kw"] : (tensor<2x3x4x3x8x4xf32, #nn.axes<batch, kh, y, kw, z, channel>>, tensor<2x4x8x4xf32, #nn.axes<batch, y, z, channel>>) -> tensor<2x4x8x4xi32, #nn.axes<batch, y, z, channel>>
  // CHECK: nn.at_position %{{.+}}, %{{.+}} over ["kh", "kw"]
  %d = nn.at_position %m, %i over ["kh", "kw"] : (tensor<2x4x8x4xf32, #nn.axes<batch, y, z, channel>>, tensor<2x4x8x4xi32, #nn.axes<batch, y, z, channel>>) -> tensor<2x3x4x3x8x4xf32, #nn.axes<batch, kh, y, kw, z, channel>>
  return
}

// Rows that are sent to entries of an axis and come back; products of each with the matrix of its entry; an order of integers.
// CHECK-LABEL: @experts
func.func @experts(%x: tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>, %source: tensor<2x16xi32, #nn.axes<batch, row>>,
                   %place: tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>, %w: tensor<4x16x32xf32, #nn.axes<expert, embed, hidden>>,
                   %first: tensor<2x4xi32, #nn.axes<batch, expert>>, %last: tensor<2x4xi32, #nn.axes<batch, expert>>,
                   %whole: tensor<2x16xi32, #nn.axes<batch, whole>>) {
  // CHECK: nn.dispatch %{{.+}}, %{{.+}}, %{{.+}} along "seq" to "row" :
  %0 = nn.dispatch %x, %source, %place along "seq" to "row" : (tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<2x16xi32, #nn.axes<batch, row>>, tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>) -> tensor<2x16x16xf32, #nn.axes<batch, row, embed>>
  // CHECK: nn.collect %{{.+}}, %{{.+}}, %{{.+}} along "seq" of "row" :
  %1 = nn.collect %0, %source, %place along "seq" of "row" : (tensor<2x16x16xf32, #nn.axes<batch, row, embed>>, tensor<2x16xi32, #nn.axes<batch, row>>, tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>) -> tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>
  // CHECK: nn.grouped %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} of "expert" along "row" {tf32} :
  %2 = nn.grouped %0, %w, %first, %last of "expert" along "row" {tf32} : (tensor<2x16x16xf32, #nn.axes<batch, row, embed>>, tensor<4x16x32xf32, #nn.axes<expert, embed, hidden>>, tensor<2x4xi32, #nn.axes<batch, expert>>, tensor<2x4xi32, #nn.axes<batch, expert>>) -> tensor<2x16x32xf32, #nn.axes<batch, row, hidden>>
  // CHECK: nn.grouped_weights %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} of "expert" along "row" :
  %3 = nn.grouped_weights %0, %2, %first, %last of "expert" along "row" : (tensor<2x16x16xf32, #nn.axes<batch, row, embed>>, tensor<2x16x32xf32, #nn.axes<batch, row, hidden>>, tensor<2x4xi32, #nn.axes<batch, expert>>, tensor<2x4xi32, #nn.axes<batch, expert>>) -> tensor<4x16x32xf32, #nn.axes<expert, embed, hidden>>
  // CHECK: nn.order %{{.+}}, %{{.+}} along "row" and "whole" : (tensor<2x16xi32
  %4 = nn.order %source, %whole along "row" and "whole" : (tensor<2x16xi32, #nn.axes<batch, row>>, tensor<2x16xi32, #nn.axes<batch, whole>>) -> tensor<2x16xi32, #nn.axes<batch, row>>
  return
}

// Choices counted and found.
// CHECK-LABEL: @counts
func.func @counts(%choice: tensor<2x16xi32, #nn.axes<batch, choice>>, %others: tensor<2x16xi32, #nn.axes<batch, other>>) {
  // CHECK: nn.queue %{{.+}}, %{{.+}} along "choice" and "other" {entries = 4 : i64, looks_ahead = true, sorted = false} :
  %0 = nn.queue %choice, %others along "choice" and "other" {entries = 4 : i64, looks_ahead = true, sorted = false} : (tensor<2x16xi32, #nn.axes<batch, choice>>, tensor<2x16xi32, #nn.axes<batch, other>>) -> tensor<2x16xi32, #nn.axes<batch, choice>>
  // CHECK: nn.count_below %{{.+}} over "choice" to "expert" {entries = 4 : i64, inclusive = true} :
  %1 = nn.count_below %choice over "choice" to "expert" {entries = 4 : i64, inclusive = true} : (tensor<2x16xi32, #nn.axes<batch, choice>>) -> tensor<2x4xi32, #nn.axes<batch, expert>>
  // CHECK: nn.locate %{{.+}} over "choice" along "row" :
  %2 = nn.locate %choice over "choice" along "row" : (tensor<2x16xi32, #nn.axes<batch, choice>>) -> tensor<2x32xi32, #nn.axes<batch, row>>
  return
}
