// Folds of nn ops; an op that takes another's place keeps where it belongs.
// RUN: npar-opt %s -canonicalize | FileCheck %s

!x = tensor<2x8xf32, #nn.axes<batch, embed>>
!h = tensor<8xf32, #nn.axes<embed>>
!d = tensor<8xf64, #nn.axes<embed>>
!parts = tensor<2x2x8xf32, #nn.axes<part, batch, embed>>

// Only the sign goes into another factor: what is rounded twice stays so (RULES.md#N6).
// CHECK-LABEL: @signs_multiply
func.func @signs_multiply(%x: !x) -> !x {
  // CHECK-NEXT: nn.scale %{{.+}} by -2.000000e+00 {at = #nn.at<F, "b", 0>}
  // CHECK-NEXT: return
  %0 = nn.scale %x by 2.0 {at = #nn.at<F, "a", 0>} : (!x) -> !x
  %1 = nn.scale %0 by -1.0 {at = #nn.at<F, "b", 0>} : (!x) -> !x
  return %1 : !x
}

// CHECK-LABEL: @scales_stay
func.func @scales_stay(%x: !x) -> !x {
  // CHECK-NEXT: nn.scale %{{.+}} by 1.000000e+30
  // CHECK-NEXT: nn.scale %{{.+}} by 1.000000e-30
  %0 = nn.scale %x by 1.0e30 : (!x) -> !x
  %1 = nn.scale %0 by 1.0e-30 : (!x) -> !x
  return %1 : !x
}

// CHECK-LABEL: @shifts_stay
func.func @shifts_stay(%x: !x) -> !x {
  // CHECK-NEXT: nn.shift %{{.+}} by 1.000000e+08
  // CHECK-NEXT: nn.shift %{{.+}} by -1.000000e+08
  %0 = nn.shift %x by 1.0e8 : (!x) -> !x
  %1 = nn.shift %0 by -1.0e8 : (!x) -> !x
  return %1 : !x
}

// Nothing remains of ops that change nothing.
// CHECK-LABEL: @neutral
// CHECK-SAME: (%[[X:.+]]: tensor
func.func @neutral(%x: !x) -> !x {
  // CHECK-NEXT: return %[[X]]
  %0 = nn.scale %x by 1.0 : (!x) -> !x
  %1 = nn.shift %0 by 0.0 : (!x) -> !x
  %2 = nn.sum %1 : (!x) -> !x
  %3 = nn.broadcast %2 : (!x) -> !x
  %4 = nn.convert %3 : (!x) -> !x
  %5 = nn.dropout %4 {rate = 0.0, site = "s"} : (!x) -> !x
  %zero = nn.fill 0.0 : !x
  %6 = nn.add %5, %zero : (!x, !x) -> !x
  return %6 : !x
}

// CHECK-LABEL: @constants
func.func @constants() -> !x {
  // CHECK-NEXT: %[[F:.+]] = nn.fill 7.000000e+00 : tensor<2x8xf32
  // CHECK-NEXT: return %[[F]]
  %0 = nn.fill 3.0 : !d
  %1 = nn.convert %0 : (!d) -> !h
  %2 = nn.scale %1 by 2.0 : (!h) -> !h
  %3 = nn.shift %2 by 1.0 : (!h) -> !h
  %4 = nn.broadcast %3 : (!h) -> !x
  return %4 : !x
}

// CHECK-LABEL: @select_of_stack
// CHECK-SAME: (%[[A:.+]]: tensor<{{.*}}, %[[B:.+]]: tensor
func.func @select_of_stack(%a: !x, %b: !x) -> !x {
  // CHECK-NEXT: return %[[B]]
  %0 = nn.stack %a, %b along "part" : (!x, !x) -> !parts
  %1 = nn.select %0 at "part"[1] : (!parts) -> !x
  return %1 : !x
}

// CHECK-LABEL: @stack_of_selects
// CHECK-SAME: (%[[P:.+]]: tensor
func.func @stack_of_selects(%p: !parts) -> !parts {
  // CHECK-NEXT: return %[[P]]
  %0 = nn.select %p at "part"[0] : (!parts) -> !x
  %1 = nn.select %p at "part"[1] : (!parts) -> !x
  %2 = nn.stack %0, %1 along "part" : (!x, !x) -> !parts
  return %2 : !parts
}

// A pure op without a use goes; two reads of a parameter stay two: each has its own accumulator (RULES.md#N2).
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
// CHECK-LABEL: @reads
func.func @reads() -> (!x, !x) {
  // CHECK-NEXT: nn.read @w
  // CHECK-NEXT: nn.read @w
  // CHECK-NEXT: return
  %0 = nn.read @w : !x
  %1 = nn.read @w : !x
  %2 = nn.exp %0 : (!x) -> !x
  return %0, %1 : !x, !x
}

// Distinct sites of dropout are never merged, nor is a read moved over a write.
// CHECK-LABEL: @effects
func.func @effects(%x: !x) -> (!x, !x, !x, !x) {
  // CHECK: nn.dropout
  // CHECK: nn.dropout
  // CHECK: nn.read
  // CHECK: nn.write
  // CHECK: nn.read
  %0 = nn.dropout %x {rate = 0.5, site = "a"} : (!x) -> !x
  %1 = nn.dropout %x {rate = 0.5, site = "b"} : (!x) -> !x
  %2 = nn.read @w : !x
  nn.write @w, %x : !x
  %3 = nn.read @w : !x
  return %0, %1, %2, %3 : !x, !x, !x, !x
}

// A rounding is not undone by widening again.
// CHECK-LABEL: @rounding_stays
func.func @rounding_stays(%h: !h) -> !h {
  // CHECK: nn.convert {{.*}} -> tensor<8xbf16
  // CHECK: nn.convert {{.*}} -> tensor<8xf32
  %0 = nn.convert %h : (!h) -> tensor<8xbf16, #nn.axes<embed>>
  %1 = nn.convert %0 : (tensor<8xbf16, #nn.axes<embed>>) -> !h
  return %1 : !h
}
