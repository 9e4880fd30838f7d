// RUN: npar-opt %s -schedule-fragments -split-input-file | FileCheck %s -enable-var-scope

// Values go straight to the stage that needs them and are kept for its backward; constants, reads and renames are repeated.
#x = #dist.layout<batch : 4>
#y = #dist.layout<row : 4>
!x = tensor<4xf32, #x>
!y = tensor<4xf32, #y>
module attributes {dist.mesh = #dist.mesh<pp = 3>} {
  // CHECK: nn.variable @w {{.*}}stages = [0]
  nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  // CHECK: nn.variable @w.grad.0 {{.*}}stages = [0]
  nn.variable @w.grad.0 : !x {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  pipe.program {schedule = "1f1b", axis = "pp", stages = 3 : i64, micro_count = 2 : i64}
  func.func @micro() {
    %w = nn.read @w {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !x
    %a = nn.exp %w {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %b = nn.exp %a {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    %r = nn.rename %b from "batch" to "row" {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : (!x) -> !y
    %c = nn.mul %b, %a {pipe.place = 2, at = #nn.at<F, "h.2", 2>} : (!x, !x) -> !x
    %dc = nn.mul %c, %a {pipe.place = 2, at = #nn.at<B, "h.2", 2>} : (!x, !x) -> !x
    %dr = nn.rename %dc from "batch" to "row" {pipe.place = 2, at = #nn.at<B, "h.1", 1>} : (!x) -> !y
    %db = nn.mul %dr, %r {pipe.place = 1, at = #nn.at<B, "h.1", 1>} : (!y, !y) -> !y
    %dw0 = nn.rename %db from "row" to "batch" {pipe.place = 1, at = #nn.at<B, "h.1", 1>} : (!y) -> !x
    %dw = nn.mul %dw0, %w {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x, !x) -> !x
    nn.accumulate @w.grad.0, %dw {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : !x
    return
  }
  func.func @update() {
    return
  }
}
// CHECK: pipe.program {axis = "pp", micro_count = 2 : i64, schedule = "1f1b", stages = 3 : i64}

// CHECK-LABEL: pipe.fragment @F0
// CHECK-NEXT: %[[W:.*]] = nn.read @w
// CHECK-NEXT: %[[A:.*]] = nn.exp %[[W]]
// CHECK-NEXT: pipe.send %[[A]] to(1) event(0)
// CHECK-NEXT: pipe.send %[[A]] to(2) event(1)
// CHECK-NEXT: {{^ *[}]}}

// CHECK-LABEL: pipe.fragment @B0
// CHECK-NEXT: %[[DB:.*]] = pipe.recv from(1) event(4) {{.*}}row
// CHECK-NEXT: %[[DW:.*]] = nn.rename %[[DB]]
// CHECK-NEXT: %[[W:.*]] = nn.read @w
// CHECK-NEXT: %[[D:.*]] = nn.mul %[[DW]], %[[W]]
// CHECK-NEXT: nn.accumulate @w.grad.0, %[[D]]
// CHECK-NEXT: {{^ *[}]}}

// CHECK-LABEL: pipe.fragment @F1
// CHECK-NEXT: %[[A:.*]] = pipe.recv from(0) event(0)
// CHECK-NEXT: %[[B:.*]] = nn.exp %[[A]]
// CHECK-NEXT: pipe.send %[[B]] to(2) event(2)
// CHECK-NEXT: pipe.stash %[[B]] slot("s0")
// CHECK-NEXT: {{^ *[}]}}

// CHECK-LABEL: pipe.fragment @B1
// CHECK-NEXT: %[[DC:.*]] = pipe.recv from(2) event(3)
// CHECK-NEXT: %[[DR:.*]] = nn.rename %[[DC]]
// CHECK-NEXT: %[[B:.*]] = pipe.unstash slot("s0")
// CHECK-NEXT: %[[R:.*]] = nn.rename %[[B]]
// CHECK-NEXT: %[[DB:.*]] = nn.mul %[[DR]], %[[R]]
// CHECK-NEXT: pipe.send %[[DB]] to(0) event(4)
// CHECK-NEXT: {{^ *[}]}}

// CHECK-LABEL: pipe.fragment @F2
// CHECK-NEXT: %[[A:.*]] = pipe.recv from(0) event(1)
// CHECK-NEXT: pipe.stash %[[A]] slot("s0")
// CHECK-NEXT: %[[B:.*]] = pipe.recv from(1) event(2)
// CHECK-NEXT: %[[C:.*]] = nn.mul %[[B]], %[[A]]
// CHECK-NEXT: pipe.stash %[[C]] slot("s1")
// CHECK-NEXT: {{^ *[}]}}

// CHECK-LABEL: pipe.fragment @B2
// CHECK-NEXT: %[[C:.*]] = pipe.unstash slot("s1")
// CHECK-NEXT: %[[A:.*]] = pipe.unstash slot("s0")
// CHECK-NEXT: %[[DC:.*]] = nn.mul %[[C]], %[[A]]
// CHECK-NEXT: pipe.send %[[DC]] to(1) event(3)
// CHECK-NEXT: {{^ *[}]}}

// -----

// A value of a later stage's forward that only an earlier stage's backward needs: stashed where it is made, sent in the backward.
#x = #dist.layout<batch : 4>
!x = tensor<4xf32, #x>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  func.func @micro() {
    %a = nn.fill 1.0 {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !x
    %b = nn.exp %a {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    %c = nn.exp %b {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}
// CHECK-LABEL: pipe.fragment @B0
// CHECK-NEXT: %[[B:.*]] = pipe.recv from(1) event(0)
// CHECK-NEXT: nn.exp %[[B]]
// CHECK-LABEL: pipe.fragment @F1
// CHECK: pipe.stash %{{.*}} slot("s0")
// CHECK-LABEL: pipe.fragment @B1
// CHECK-NEXT: %[[B:.*]] = pipe.unstash slot("s0")
// CHECK-NEXT: pipe.send %[[B]] to(0) event(0)

// -----

// The update of a tied parameter: each stage reduces its use over dp, they are exchanged, both combine in the order of the uses and update
// their copy. Only the lowest stage counts its squares. Norm and rate are everywhere, the loss is where it accumulates.
#w = #dist.layout<vocab : 4>
#wp = #dist.layout<vocab : 4, partial = {dp : sum}>
#s = #dist.layout<>
#sp = #dist.layout<partial = {dp : sum}>
#n = #dist.layout<bin : 56>
#np = #dist.layout<bin : 56, partial = {pp : sum}>
!w = tensor<4xf32, #w>
!wp = tensor<4xf32, #wp>
!s = tensor<f64, #s>
!sp = tensor<f64, #sp>
module attributes {dist.mesh = #dist.mesh<dp = 2, pp = 2>} {
  // CHECK-DAG: nn.variable @wte {{.*}}stages = [0, 1]
  nn.variable @wte : !w {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  // CHECK-DAG: nn.variable @wte.momentum {{.*}}stages = [0, 1]
  nn.variable @wte.momentum : !w {kind = #nn.kind<state>, of = @wte, slot = "momentum"}
  // CHECK-DAG: nn.variable @wte.grad.0 {{.*}}stages = [0]
  nn.variable @wte.grad.0 : !wp {kind = #nn.kind<accumulator>, of = @wte, use = 0 : i64}
  // CHECK-DAG: nn.variable @wte.grad.1 {{.*}}stages = [1]
  nn.variable @wte.grad.1 : !wp {kind = #nn.kind<accumulator>, of = @wte, use = 1 : i64}
  // CHECK-DAG: nn.variable @b {{.*}}stages = [1]
  nn.variable @b : !w {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 1 : i64}
  // CHECK-DAG: nn.variable @b.grad.0 {{.*}}stages = [1]
  nn.variable @b.grad.0 : !w {kind = #nn.kind<accumulator>, of = @b, use = 0 : i64}
  // CHECK-DAG: nn.variable @"#out.loss.sum" {{.*}}stages = [1]
  nn.variable @"#out.loss.sum" : !sp {kind = #nn.kind<accumulator>}
  // CHECK-DAG: nn.variable @"#out.loss" {{.*}}stages = [1]
  nn.variable @"#out.loss" : !s {kind = #nn.kind<output>, output = "loss"}
  // CHECK-DAG: nn.variable @"#out.grad_norm" {{.*}}stages = [0, 1]
  nn.variable @"#out.grad_norm" : !s {kind = #nn.kind<output>, output = "grad_norm"}
  // CHECK-DAG: nn.variable @"#out.lr" {{.*}}stages = [0, 1]
  nn.variable @"#out.lr" : !s {kind = #nn.kind<output>, output = "lr"}
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  func.func @micro() {
    %w0 = nn.read @wte {pipe.place = 0, at = #nn.at<F, "", -1>} : !w
    %x = nn.exp %w0 {pipe.place = 0, at = #nn.at<F, "", -1>} : (!w) -> !w
    %w1 = nn.read @wte {pipe.place = 1, at = #nn.at<F, "", 2>} : !w
    %y = nn.mul %x, %w1 {pipe.place = 1, at = #nn.at<F, "", 2>} : (!w, !w) -> !w
    %b = nn.read @b {pipe.place = 1, at = #nn.at<F, "", 2>} : !w
    %z = nn.add %y, %b {pipe.place = 1, at = #nn.at<F, "", 2>} : (!w, !w) -> !w
    %l = nn.fill 1.0 {pipe.place = 1, at = #nn.at<F, "", 2>} : !sp
    nn.accumulate @"#out.loss.sum", %l {pipe.place = 1, at = #nn.at<F, "", 2>} : !sp
    %g = nn.fill 1.0 {pipe.place = 1, at = #nn.at<B, "", 2>} : !wp
    nn.accumulate @b.grad.0, %z {pipe.place = 1, at = #nn.at<B, "", 2>} : !w
    nn.accumulate @wte.grad.1, %g {pipe.place = 1, at = #nn.at<B, "", 2>} : !wp
    nn.accumulate @wte.grad.0, %g {pipe.place = 0, at = #nn.at<B, "", -1>} : !wp
    return
  }
  func.func @update() {
    %lp = nn.read @"#out.loss.sum" : !sp
    %l = dist.all_reduce %lp {axes = ["dp"], op = "sum"} : !sp -> !s
    nn.write @"#out.loss", %l : !s
    %p0 = nn.read @wte.grad.0 : !wp
    %p1 = nn.read @wte.grad.1 : !wp
    %gb0 = nn.read @b.grad.0 : !w
    %g0 = dist.all_reduce %p0 {axes = ["dp"], op = "sum"} : !wp -> !w
    %g1 = dist.all_reduce %p1 {axes = ["dp"], op = "sum"} : !wp -> !w
    %g = nn.combine %g0, %g1 : (!w, !w) -> !w
    %gb = nn.combine %gb0 : (!w) -> !w
    %sp = nn.square_sums %g, %gb parameters [0, 1] {owners = [["tp"], []]} : (!w, !w) -> tensor<56xf64, #np>
    %sq = dist.all_reduce %sp {axes = ["pp"], op = "sum"} : tensor<56xf64, #np> -> tensor<56xf64, #n>
    %norm = nn.grad_norm %sq : (tensor<56xf64, #n>) -> !s
    nn.write @"#out.grad_norm", %norm : !s
    %lr = nn.learning_rate "constant" {peak = 0.1, warmup = 0 : i64, steps = 0 : i64, final = 0.0} : !s
    nn.write @"#out.lr", %lr : !s
    %one = nn.fill 1.0 : !s
    %w = nn.read @wte : !w
    %m = nn.read @wte.momentum : !w
    %nw, %nm = nn.optimize %w, %g, %one, %m, %lr {names = ["w", "g", "m", "lr"], definitions = ["%0 = add(mul(m, 0.9), g)"], formulas = ["sub(w, mul(lr, %0))", "%0"]} : (!w, !w, !s, !w, !s) -> (!w, !w)
    nn.write @wte, %nw : !w
    nn.write @wte.momentum, %nm : !w
    %vb = nn.read @b : !w
    %nb = nn.optimize %vb, %gb, %one, %lr {names = ["w", "g", "lr"], definitions = [], formulas = ["sub(w, mul(lr, g))"]} : (!w, !w, !s, !s) -> !w
    nn.write @b, %nb : !w
    return
  }
}
// CHECK-LABEL: pipe.fragment @U0
// CHECK-NOT: loss
// CHECK-NEXT: %[[P0:.*]] = nn.read @wte.grad.0
// CHECK-NEXT: %[[G0:.*]] = dist.all_reduce %[[P0]]
// CHECK-NEXT: pipe.send %[[G0]] to(1) event([[E0:.*]]) :
// CHECK-NEXT: %[[G1:.*]] = pipe.recv from(1) event([[E1:.*]]) :
// CHECK-NEXT: %[[G:.*]] = nn.combine %[[G0]], %[[G1]]
// CHECK-NEXT: %[[S:.*]] = nn.square_sums %[[G]] parameters [0] {owners = {{\[\["tp"\]\]}}}
// CHECK-NEXT: %[[SQ:.*]] = dist.all_reduce %[[S]] {axes = ["pp"]
// CHECK-NEXT: nn.grad_norm %[[SQ]]
// CHECK: nn.write @wte,
// CHECK-NEXT: nn.write @wte.momentum,
// CHECK-NEXT: {{^ *[}]}}
// CHECK-LABEL: pipe.fragment @U1
// CHECK: nn.write @"#out.loss",
// CHECK: %[[G0:.*]] = pipe.recv from(0) event({{.*}}) :
// CHECK-NEXT: %[[G1:.*]] = dist.all_reduce
// CHECK-NEXT: pipe.send %[[G1]] to(0) event({{.*}}) :
// CHECK-NEXT: %[[G:.*]] = nn.combine %[[G0]], %[[G1]]
// CHECK-NEXT: %[[GB:.*]] = nn.combine
// CHECK-NEXT: nn.square_sums %[[GB]] parameters [1] {owners = {{\[\[\]\]}}}
// CHECK: nn.write @"#out.grad_norm",
// CHECK: nn.write @"#out.lr",
// CHECK: nn.write @wte,
// CHECK: nn.write @b,

// -----

// A split backward: B has what the stage before waits for, W the gradient of the parameter. %a is used by W alone, %b by both; both are
// stashed once and taken where they are used. The gradient that arrives is kept for W as well.
#x = #dist.layout<batch : 4>
!x = tensor<4xf32, #x>
module attributes {dist.mesh = #dist.mesh<pp = 3>} {
  nn.variable @w.grad.0 : !x {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  pipe.program {schedule = "zb_h1", axis = "pp", stages = 3 : i64, micro_count = 1 : i64}
  pipe.order stage(1) ["F1:0", "B1:0", "W1:0", "U1"]
  func.func @micro() {
    %z = nn.fill 1.0 {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !x
    %a = nn.exp %z {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    %w = nn.read @w {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : !x
    %b = nn.mul %a, %w {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : (!x, !x) -> !x
    %c = nn.exp %b {pipe.place = 2, at = #nn.at<F, "h.2", 2>} : (!x) -> !x
    %dc = nn.exp %c {pipe.place = 2, at = #nn.at<B, "h.2", 2>} : (!x) -> !x
    %db = nn.mul %dc, %b {pipe.place = 1, at = #nn.at<B, "h.1", 1>} : (!x, !x) -> !x
    %dw = nn.mul %db, %a {pipe.place = 1, pipe.weight, at = #nn.at<B, "h.1", 1>} : (!x, !x) -> !x
    %dw2 = nn.mul %dw, %b {pipe.place = 1, pipe.weight, at = #nn.at<B, "h.1", 1>} : (!x, !x) -> !x
    %dw3 = nn.mul %dw2, %dc {pipe.place = 1, pipe.weight, at = #nn.at<B, "h.1", 1>} : (!x, !x) -> !x
    nn.accumulate @w.grad.0, %dw3 {pipe.place = 1, pipe.weight, at = #nn.at<B, "h.1", 1>} : !x
    %da = nn.exp %db {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x) -> !x
    return
  }
  func.func @update() {
    return
  }
}
// CHECK-LABEL: pipe.fragment @F1 stage(1) phase(F)
// CHECK: %[[A:.*]] = nn.exp
// CHECK-NEXT: pipe.stash %[[A]] slot("s0")
// CHECK: %[[B:.*]] = nn.mul %[[A]]
// CHECK-NEXT: pipe.send %[[B]] to(2)
// CHECK-NEXT: pipe.stash %[[B]] slot("s1")
// CHECK-LABEL: pipe.fragment @B1 stage(1) phase(B)
// CHECK-NEXT: %[[DC:.*]] = pipe.recv from(2)
// CHECK-NEXT: pipe.stash %[[DC]] slot("s2")
// CHECK-NEXT: %[[B:.*]] = pipe.unstash slot("s1")
// CHECK-NEXT: %[[DB:.*]] = nn.mul %[[DC]], %[[B]]
// CHECK-NEXT: pipe.send %[[DB]] to(0)
// CHECK-NEXT: pipe.stash %[[DB]] slot("s3")
// CHECK-NEXT: {{^ *[}]}}
// CHECK-LABEL: pipe.fragment @W1 stage(1) phase(W)
// CHECK-DAG: %[[DB:.*]] = pipe.unstash slot("s3")
// CHECK-DAG: %[[A:.*]] = pipe.unstash slot("s0")
// CHECK: %[[DW:.*]] = nn.mul %[[DB]], %[[A]]
// CHECK-NEXT: %[[B:.*]] = pipe.unstash slot("s1")
// CHECK-NEXT: %[[DW2:.*]] = nn.mul %[[DW]], %[[B]]
// CHECK-NEXT: %[[DC:.*]] = pipe.unstash slot("s2")
// CHECK-NEXT: %[[DW3:.*]] = nn.mul %[[DW2]], %[[DC]]
// CHECK-NEXT: nn.accumulate @w.grad.0, %[[DW3]]
// CHECK-NOT: pipe.fragment @W2

// -----

// A V of two stages: the chain turns round on stage 1 without a message, and its ends are both on stage 0, which stores what both use once.
#x = #dist.layout<batch : 4>
!x = tensor<4xf32, #x>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  // CHECK: nn.variable @w {{.*}}stages = [0]
  nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  // CHECK: nn.variable @w.grad.0 {{.*}}stages = [0]
  nn.variable @w.grad.0 : !x {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  // CHECK: nn.variable @w.grad.1 {{.*}}stages = [0]
  nn.variable @w.grad.1 : !x {kind = #nn.kind<accumulator>, of = @w, use = 1 : i64}
  pipe.program {schedule = "v", axis = "pp", stages = 2 : i64, micro_count = 1 : i64, placement = array<i64: 0, 1, 1, 0>}
  func.func @micro() {
    %w = nn.read @w {pipe.place = 0, at = #nn.at<F, "", -1>} : !x
    %a = nn.exp %w {pipe.place = 0, at = #nn.at<F, "", -1>} : (!x) -> !x
    %b = nn.exp %a {pipe.place = 1, at = #nn.at<F, "h.1", 1>} : (!x) -> !x
    %c = nn.exp %b {pipe.place = 2, at = #nn.at<F, "h.2", 2>} : (!x) -> !x
    %w2 = nn.read @w {pipe.place = 3, at = #nn.at<F, "", 4>} : !x
    %e = nn.mul %a, %w2 {pipe.place = 3, at = #nn.at<F, "", 4>} : (!x, !x) -> !x
    %d = nn.mul %c, %e {pipe.place = 3, at = #nn.at<F, "", 4>} : (!x, !x) -> !x
    %dd = nn.mul %d, %a {pipe.place = 3, at = #nn.at<B, "", 4>} : (!x, !x) -> !x
    nn.accumulate @w.grad.1, %dd {pipe.place = 3, at = #nn.at<B, "", 4>} : !x
    %dc = nn.mul %dd, %c {pipe.place = 2, at = #nn.at<B, "h.2", 2>} : (!x, !x) -> !x
    %db = nn.mul %dc, %b {pipe.place = 1, at = #nn.at<B, "h.1", 1>} : (!x, !x) -> !x
    %da = nn.mul %db, %dd {pipe.place = 0, at = #nn.at<B, "", -1>} : (!x, !x) -> !x
    nn.accumulate @w.grad.0, %da {pipe.place = 0, at = #nn.at<B, "", -1>} : !x
    return
  }
  func.func @update() {
    return
  }
}
// CHECK-LABEL: pipe.fragment @F0 stage(0) place(0) phase(F)
// CHECK: %[[A:.*]] = nn.exp
// CHECK-NEXT: pipe.send %[[A]] to(1) event(0)
// CHECK-NEXT: pipe.stash %[[A]] slot("s0")
// CHECK-NEXT: {{^ *[}]}}
// CHECK-LABEL: pipe.fragment @B0 stage(0) place(0) phase(B)
// CHECK-NEXT: %[[DB:.*]] = pipe.recv from(1) event(3)
// CHECK-NEXT: %[[DD:.*]] = pipe.unstash slot("s2")
// CHECK-NEXT: nn.mul %[[DB]], %[[DD]]
// CHECK-LABEL: pipe.fragment @F1 stage(1) place(1) phase(F)
// CHECK-NEXT: pipe.recv from(0) event(0)
// CHECK-NEXT: %[[B:.*]] = nn.exp
// CHECK-NEXT: pipe.stash %[[B]] slot("s0")
// CHECK-NEXT: {{^ *[}]}}
// CHECK-LABEL: pipe.fragment @B1 stage(1) place(1) phase(B)
// CHECK-NEXT: %[[DC:.*]] = pipe.unstash slot("s2")
// CHECK-NEXT: %[[B:.*]] = pipe.unstash slot("s0")
// CHECK-NEXT: %[[DB:.*]] = nn.mul %[[DC]], %[[B]]
// CHECK-NEXT: pipe.send %[[DB]] to(0) event(3)
// CHECK-LABEL: pipe.fragment @F2 stage(1) place(2) phase(F)
// CHECK-NEXT: %[[B:.*]] = pipe.unstash slot("s0")
// CHECK-NEXT: %[[C:.*]] = nn.exp %[[B]]
// CHECK-NEXT: pipe.send %[[C]] to(0) event(1)
// CHECK-NEXT: pipe.stash %[[C]] slot("s1")
// CHECK-LABEL: pipe.fragment @B2 stage(1) place(2) phase(B)
// CHECK-NEXT: %[[DD:.*]] = pipe.recv from(0) event(2)
// CHECK-NEXT: %[[C:.*]] = pipe.unstash slot("s1")
// CHECK-NEXT: %[[DC:.*]] = nn.mul %[[DD]], %[[C]]
// CHECK-NEXT: pipe.stash %[[DC]] slot("s2")
// CHECK-LABEL: pipe.fragment @U1 stage(1) phase(U)
// CHECK-LABEL: pipe.fragment @F3 stage(0) place(3) phase(F)
// CHECK-NEXT: pipe.recv from(1) event(1)
// CHECK-NEXT: pipe.unstash slot("s0")
// CHECK-LABEL: pipe.fragment @B3 stage(0) place(3) phase(B)
// CHECK: %[[DD:.*]] = nn.mul
// CHECK-NEXT: pipe.send %[[DD]] to(1) event(2)
// CHECK-NEXT: pipe.stash %[[DD]] slot("s2")
// CHECK-NEXT: nn.accumulate @w.grad.1, %[[DD]]

// -----

// Of a widened value the narrow one is kept and sent; where it is used it is widened again.
#x = #dist.layout<batch : 4>
!n = tensor<4xbf16, #x>
!x = tensor<4xf32, #x>
module attributes {dist.mesh = #dist.mesh<pp = 1>} {
  nn.variable @w : !n {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @w.grad.0 : !x {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 2 : i64}
  func.func @micro() {
    %w = nn.read @w {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !n
    %a = nn.exp %w {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : (!n) -> !n
    %b = nn.convert %a {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : (!n) -> !x
    %c = nn.exp %b {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %d = nn.mul %c, %b {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : (!x, !x) -> !x
    nn.accumulate @w.grad.0, %d {pipe.place = 0, at = #nn.at<B, "h.0", 0>} : !x
    return
  }
  func.func @update() {
    return
  }
}
// CHECK-LABEL: pipe.fragment @F0
// CHECK: %[[A:.*]] = nn.exp {{.*}} -> tensor<4xbf16
// CHECK: pipe.stash %[[A]]
// CHECK-LABEL: pipe.fragment @B0
// CHECK: %[[KEPT:.*]] = pipe.unstash {{.*}}bf16
// CHECK: nn.convert %[[KEPT]] {{.*}} -> tensor<4xf32

// -----

// The prologue: a fragment that counts, for its part, and one that adds the counts up, for its stage. What it writes is stored there.
!i = tensor<4xi32, #dist.layout<batch : 4>>
!x = tensor<4xf64, #dist.layout<batch : 4>>
!s = tensor<f64, #dist.layout<>>
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  // CHECK: nn.variable @n.sum {{.*}}stages = [1]
  nn.variable @n.sum : !s {kind = #nn.kind<accumulator>}
  // CHECK: nn.variable @n : {{.*}}stages = [1]
  nn.variable @n : !s {kind = #nn.kind<output>, output = "n"}
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
  func.func @count() {
    %t = nn.input "targets" {pipe.place = 1 : i64, at = #nn.at<C, "", 2>} : !i
    %1 = nn.fill 1.0 {pipe.place = 1 : i64, at = #nn.at<C, "", 2>} : !x
    %v = nn.keep_valid %1, %t ignore -100 {pipe.place = 1 : i64, at = #nn.at<C, "", 2>} : (!x, !i) -> !x
    %s = nn.sum %v {pipe.place = 1 : i64, at = #nn.at<C, "", 2>} : (!x) -> !s
    nn.accumulate @n.sum, %s {pipe.place = 1 : i64, at = #nn.at<C, "", 2>} : !s
    return
  }
  func.func @start() {
    %s = nn.read @n.sum {pipe.place = 1 : i64, at = #nn.at<P, "", 2>} : !s
    nn.write @n, %s {pipe.place = 1 : i64, at = #nn.at<P, "", 2>} : !s
    return
  }
  func.func @micro() {
    return
  }
  func.func @update() {
    return
  }
}
// CHECK-NOT: func.func
// CHECK-LABEL: pipe.fragment @C1 stage(1) phase(C)
// CHECK-NEXT: %[[T:.*]] = nn.input "targets"
// CHECK-NEXT: %[[ONE:.*]] = nn.fill
// CHECK-NEXT: %[[V:.*]] = nn.keep_valid %[[ONE]], %[[T]] ignore -100
// CHECK-NEXT: %[[S:.*]] = nn.sum %[[V]]
// CHECK-NEXT: nn.accumulate @n.sum, %[[S]]
// CHECK-NEXT: {{^ *[}]}}
// CHECK-LABEL: pipe.fragment @S1 stage(1) phase(P)
// CHECK-NEXT: %[[N:.*]] = nn.read @n.sum
// CHECK-NEXT: nn.write @n, %[[N]]
// CHECK-NEXT: {{^ *[}]}}
// CHECK-LABEL: pipe.fragment @F0

// -----

// A forward-only program: F alone, a result with what makes it, and no @update.
#x = #dist.layout<batch : 4>
!x = tensor<4xf32, #x>
module attributes {dist.mesh = #dist.mesh<pp = 2>, npar.kind = "evaluation"} {
  nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 2 : i64}
  func.func @micro() {
    %w = nn.read @w {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : !x
    %a = nn.exp %w {pipe.place = 0, at = #nn.at<F, "h.0", 0>} : (!x) -> !x
    %b = nn.exp %a {pipe.place = 1, at = #nn.at<F, "", 1>} : (!x) -> !x
    nn.result "losses", %b {pipe.place = 1, at = #nn.at<F, "", 1>} : !x
    return
  }
}
// CHECK-LABEL: pipe.fragment @F0
// CHECK-NEXT: nn.read @w
// CHECK-NEXT: %[[A:.*]] = nn.exp
// CHECK-NEXT: pipe.send %[[A]] to(1) event(0)
// CHECK-NEXT: {{^ *[}]}}
// CHECK-LABEL: pipe.fragment @F1
// CHECK-NEXT: %[[R:.*]] = pipe.recv from(0) event(0)
// CHECK-NEXT: %[[B:.*]] = nn.exp %[[R]]
// CHECK-NEXT: nn.result "losses", %[[B]]
// CHECK-NEXT: {{^ *[}]}}
// CHECK-NOT: pipe.fragment
