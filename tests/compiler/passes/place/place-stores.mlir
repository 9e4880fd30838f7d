// Store rules: what each stage of ZeRO makes of one parameter w of 4 elements (one block) under data parallelism.
// RUN: split-file %s %t
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["dp"]}/' %t/model.mlir | npar-opt -place-assign -place-lower-reshards | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["dp"]}, {what = "gradients", mesh = ["dp"]}/' %t/model.mlir | npar-opt -place-assign -place-lower-reshards | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["dp"]}, {what = "gradients", mesh = ["dp"]}, {what = "parameters", mesh = ["dp"]}/' %t/model.mlir | npar-opt -place-assign -place-lower-reshards | FileCheck %s --check-prefixes=CHECK,THREE

// `per step` keeps whole accumulators: the program of stage 1.
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["dp"]}/' %t/model.mlir | npar-opt -place-assign | sed 's/dist.stores = .*//' > %t/one
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["dp"]}, {what = "gradients", mesh = ["dp"], per_step}/' %t/model.mlir | npar-opt -place-assign | sed 's/dist.stores = .*//' > %t/two
// RUN: diff %t/one %t/two

// A mesh axis of size 1 is in no layout.
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["one"]}/' %t/model.mlir | npar-opt -place-assign | FileCheck %s --check-prefix=NOTHING
// NOTHING-NOT: flat

// Over dp of a hybrid mesh: scattered there, reduced over the rest on the small piece.
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["dp"]}/' -e 's/mesh = \["dp"\]>\]/mesh = ["node", "dp"]>]/' -e 's/one = 1/node = 2/' %t/model.mlir | npar-opt -place-assign -place-lower-reshards | FileCheck %s --check-prefix=HYBRID

// A second share over dp: the forward gathers the first share over all ranks and cuts the second from it, the backward gathers that over dp.
// RUN: sed -e 's/STORES/{what = "optimizer", mesh = ["node", "dp"]}, {what = "gradients", mesh = ["node", "dp"]}, {what = "parameters", mesh = ["node", "dp"]}, {what = "secondary", mesh = ["dp"]}/' -e 's/mesh = \["dp"\]>\]/mesh = ["node", "dp"]>]/' -e 's/one = 1/node = 2/' %t/model.mlir > %t/second.mlir
// RUN: npar-opt %t/second.mlir -place-assign -place-lower-reshards | FileCheck %s --check-prefix=SECOND
// A node of one rank keeps the whole; a single node has no other shares than the first ones.
// RUN: sed -e 's/node = 2, dp = 2/node = 2, dp = 1/' %t/second.mlir | npar-opt -place-assign -place-lower-reshards | FileCheck %s --check-prefix=WHOLE
// RUN: sed -e 's/node = 2, dp = 2/node = 1, dp = 2/' %t/second.mlir | npar-opt -place-assign -place-lower-reshards | FileCheck %s --check-prefix=FIRST

//--- model.mlir
!s = tensor<f64, #nn.axes<>>
!w = tensor<4xf32, #nn.axes<embed>>
!x = tensor<8x4xf32, #nn.axes<batch, embed>>
// ONE: nn.variable @w : tensor<4xf32, #dist.layout<embed : 4>>
// TWO: nn.variable @w : tensor<4xf32, #dist.layout<embed : 4>>
// THREE: nn.variable @w : tensor<1024xf32, #dist.layout<embed : 4, flat = {dp}>>
// ONE: nn.variable @w.grad.0 : tensor<4xf32, #dist.layout<embed : 4, partial = {dp : sum}>>
// ONE-SAME: reduced = tensor<1024xf32, #dist.layout<embed : 4, flat = {dp}>>
// TWO: nn.variable @w.grad.0 : tensor<1024xf32, #dist.layout<embed : 4, flat = {dp}>>
// TWO-NOT: reduced
// THREE: nn.variable @w.grad.0 : tensor<1024xf32, #dist.layout<embed : 4, flat = {dp}>>
// CHECK: nn.variable @w.momentum : tensor<1024xf32, #dist.layout<embed : 4, flat = {dp}>>
module attributes {dist.mesh = #dist.mesh<one = 1, dp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"]>], dist.stores = [STORES]} {
  nn.variable @w : !w {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [4]}
  nn.variable @w.grad.0 : !w {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  nn.variable @w.momentum : !w {kind = #nn.kind<state>, of = @w, slot = "momentum"}
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    // CHECK: %[[W:.*]] = nn.read @w
    // THREE: %[[G:.*]] = dist.all_gather %[[W]] {{.*}}cause = #dist.cause<kind = stored_in_shares, operation = "mul", variable = "w", store = "parameters -> dp">{{.*}} -> tensor<4xf32
    // THREE: nn.mul %{{.*}}, %[[G]]
    // SECOND: %[[W:.*]] = nn.read @w
    // SECOND: %[[G:.*]] = dist.all_gather %[[W]] {{.*}}axes = ["node", "dp"], cause = {{.*}}store = "parameters -> node, dp">
    // SECOND-NEXT: %[[SHARE:.*]] = dist.slice %[[G]] {{.*}}axes = ["dp"], {{.*}}dim = "#flat"
    // SECOND: nn.mul %{{.*}}, %[[G]]
    // WHOLE: %[[G:.*]] = dist.all_gather {{.*}}axes = ["node"]
    // WHOLE-NOT: dist.slice
    // WHOLE: nn.mul %{{.*}}, %[[G]]
    // WHOLE: nn.mul %{{.*}}, %[[G]]
    // FIRST: %[[W:.*]] = nn.read @w
    // FIRST: dist.all_gather %[[W]]
    // FIRST-NOT: dist.slice
    // FIRST: dist.all_gather %[[W]]
    %x = nn.input "x" : !x
    %w = nn.read @w : !w
    %y = nn.mul %x, %w {at = #nn.at<F, "h", 0>} : (!x, !w) -> !x
    // Gathered again in the backward.
    // THREE: %[[H:.*]] = dist.all_gather %[[W]]
    // SECOND: %[[H:.*]] = dist.all_gather %[[SHARE]] {{.*}}axes = ["dp"], cause = {{.*}}store = "secondary -> dp">
    // SECOND: nn.mul %{{.*}}, %[[H]]
    // THREE: nn.mul %{{.*}}, %[[H]]
    %z = nn.mul %y, %w {at = #nn.at<B, "h", 0>} : (!x, !w) -> !x
    %g = nn.sum %z {at = #nn.at<B, "h", 0>} : (!x) -> !w
    // ONE-NOT: = dist.
    // TWO: %[[S:.*]] = dist.reduce_scatter {{.*}}axes = ["dp"], cause = #dist.cause<kind = stores_share, variable = "w.grad.0", store = "gradients -> dp">, dim = "#flat"
    // TWO: nn.accumulate @w.grad.0, %[[S]]
    // THREE: dist.reduce_scatter
    nn.accumulate @w.grad.0, %g {at = #nn.at<B, "h", 0>} : !w
    return
  }
  // CHECK-LABEL: func.func @update
  func.func @update() {
    // ONE: %[[A:.*]] = nn.read @w.grad.0 : tensor<4xf32
    // ONE-NEXT: %[[R:.*]] = dist.reduce_scatter %[[A]] {{.*}}dim = "#flat", op = "sum"
    // ONE-NEXT: nn.write @w.grad.0, %[[R]]
    // ONE-NEXT: %[[AGAIN:.*]] = nn.read @w.grad.0 : tensor<1024xf32
    // ONE-NEXT: nn.combine %[[AGAIN]]
    // TWO-NEXT: %[[A:.*]] = nn.read @w.grad.0 : tensor<1024xf32
    // TWO-NEXT: nn.combine %[[A]]
    // HYBRID-LABEL: func.func @update
    // HYBRID: dist.reduce_scatter {{.*}}axes = ["dp"]
    // HYBRID-NEXT: dist.all_reduce {{.*}}axes = ["node"]{{.*}} -> tensor<1024xf32
    // HYBRID-NEXT: nn.write @w.grad.0
    %a = nn.read @w.grad.0 : !w
    %g = nn.combine %a : (!w) -> !w
    // Every rank counts the squares of its own piece.
    // CHECK: %[[SUMS:.*]] = nn.square_sums {{.*}} {owners = {{\[\[\]\]}}}
    // CHECK-NEXT: dist.all_reduce %[[SUMS]] {axes = ["dp"]
    %s = nn.square_sums %g parameters [0] : (!w) -> tensor<56xf64, #nn.axes<bin>>
    %n = nn.grad_norm %s : (tensor<56xf64, #nn.axes<bin>>) -> !s
    %f = nn.clip_factor %n max 1.0 : (!s) -> !s
    %w = nn.read @w : !w
    %m = nn.read @w.momentum : !w
    // ONE: %[[P:.*]] = dist.slice {{.*}}dim = "#flat"
    // ONE: %[[NEW:[^:, ]*]]{{.*}} = nn.optimize %[[P]]
    // TWO: dist.slice
    // THREE-NOT: = dist.
    // THREE: %[[NEW:[^:, ]*]]{{.*}} = nn.optimize
    %v, %k = nn.optimize %w, %g, %f, %m, %n {names = ["w", "g", "m", "lr"], definitions = ["%0 = add(mul(m, 0.9), g)"], formulas = ["sub(w, mul(lr, %0))", "%0"]} : (!w, !w, !s, !w, !s) -> (!w, !w)
    // ONE: %[[ALL:.*]] = dist.all_gather %[[NEW]]{{.*}} {axes = ["dp"], cause = #dist.cause<kind = updated_in_shares, variable = "w", store = "optimizer -> dp">, dim = "#flat"}
    // ONE: nn.write @w, %[[ALL]]
    // TWO: dist.all_gather
    // THREE: nn.write @w, %[[NEW]]
    nn.write @w, %v : !w
    nn.write @w.momentum, %k : !w
    return
  }
}
