// The gradients of gather, select, stack, rename, pick, broadcast and max.
// RUN: npar-opt %s -split-input-file -autodiff-backward -canonicalize | FileCheck %s

!w = tensor<30x4xf64, #nn.axes<vocab, embed>>
!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!x = tensor<2x8x4xf64, #nn.axes<batch, seq, embed>>
!l = tensor<2x8x30xf64, #nn.axes<batch, seq, vocab>>
!r = tensor<2x8xf64, #nn.axes<batch, seq>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [30, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// A tied table has one accumulator per use (RULES.md#N2), numbered in order of the text.
// CHECK: nn.variable @w.grad.0
// CHECK: nn.variable @w.grad.1
// CHECK-LABEL: @micro
// CHECK: %[[T:.+]] = nn.input "tokens"
// CHECK: %[[W0:.+]] = nn.read @w
// CHECK: %[[X:.+]] = nn.gather
// CHECK: %[[W1:.+]] = nn.read @w
// CHECK: %[[D:.+]] = nn.fill 1.0
// CHECK: %[[HOT:.+]] = nn.one_hot %[[T]] over "vocab" : {{.*}} -> tensor<2x8x30xf64
// CHECK: %[[DL:.+]] = nn.chain_mul %[[HOT]], %[[D]]
// CHECK-DAG: %[[DX:.+]] = nn.einsum %[[DL]], %[[W1]]
// CHECK-DAG: %[[D1:.+]] = nn.einsum %[[DL]], %[[X]]
// CHECK: nn.accumulate @w.grad.1, %[[D1]]
// CHECK: %[[D0:.+]] = nn.scatter_add %[[T]], %[[DX]] over "vocab"
// CHECK: nn.accumulate @w.grad.0, %[[D0]]
func.func @micro() {
  %t = nn.input "tokens" : !t
  %w0 = nn.read @w : !w
  %x = nn.gather %w0, %t over "vocab" : (!w, !t) -> !x
  %w1 = nn.read @w : !w
  %l = nn.einsum %x, %w1 : (!x, !w) -> !l
  %p = nn.pick %l, %t over "vocab" : (!l, !t) -> !r
  %s = nn.sum %p : (!r) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

!p = tensor<3x4xf64, #nn.axes<part, embed>>
!x = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !p {kind = #nn.kind<parameter>, stored = [3, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// Selects of one value become one stack; what no select took is zero.
// CHECK-LABEL: @micro
// CHECK: %[[A:.+]] = nn.select %{{.+}} at "part"[0]
// CHECK: %[[B:.+]] = nn.select %{{.+}} at "part"[2]
// CHECK: %[[DY:.+]] = nn.fill 1.0
// CHECK-DAG: %[[DA:.+]] = nn.chain_mul %[[DY]], %[[B]]
// CHECK-DAG: %[[DB:.+]] = nn.chain_mul %[[DY]], %[[A]]
// CHECK: %[[Z:.+]] = nn.fill 0.0
// CHECK: %[[DW:.+]] = nn.stack %[[DA]], %[[Z]], %[[DB]] along "part"
// CHECK-NEXT: nn.accumulate @w.grad.0, %[[DW]]
// CHECK-NOT: nn.stack
func.func @micro() {
  %w = nn.read @w : !p
  %a = nn.select %w at "part"[0] : (!p) -> !x
  %b = nn.select %w at "part"[2] : (!p) -> !x
  %y = nn.mul %a, %b : (!x, !x) -> !x
  %s = nn.sum %y : (!x) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

!p = tensor<2x4xf64, #nn.axes<part, embed>>
!k = tensor<2x4xf64, #nn.axes<part, key>>
!x = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @v : !x {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// stack is undone by select, rename by the opposite rename.
// CHECK-LABEL: @micro
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[R:.+]] = nn.rename %{{.+}} from "key" to "embed"
// CHECK-DAG: %[[DV:.+]] = nn.select %[[R]] at "part"[0]
// CHECK-DAG: %[[DW:.+]] = nn.select %[[R]] at "part"[1]
// CHECK: nn.accumulate @w.grad.0, %[[DW]]
// CHECK: nn.accumulate @v.grad.0, %[[DV]]
func.func @micro() {
  %v = nn.read @v : !x
  %w = nn.read @w : !x
  %p = nn.stack %v, %w along "part" : (!x, !x) -> !p
  %k = nn.rename %p from "embed" to "key" : (!p) -> !k
  %e = nn.exp %k : (!k) -> !k
  %s = nn.sum %e : (!k) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

// The gradient of a maximum is shared evenly by the elements that are equal to it.

!x = tensor<3x4xf64, #nn.axes<part, embed>>
!m = tensor<3xf64, #nn.axes<part>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [3, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// CHECK-LABEL: func.func @micro
// CHECK: %[[X:.*]] = nn.read @w
// CHECK: %[[M:.*]] = nn.max %[[X]]
// CHECK: %[[DM:.*]] = nn.fill 1.0
// CHECK: %[[HIT:.*]] = nn.is_max %[[X]], %[[M]] :
// CHECK: %[[COUNT:.*]] = nn.sum %[[HIT]]
// CHECK: %[[SHARE:.*]] = nn.div %[[DM]], %[[COUNT]]
// CHECK: %[[DX:.*]] = nn.chain_mul %[[HIT]], %[[SHARE]]
// CHECK: nn.accumulate @w.grad.0, %[[DX]]
func.func @micro() {
  %w = nn.read @w : !x
  %m = nn.max %w : (!x) -> !m
  %s = nn.sum %m : (!m) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
