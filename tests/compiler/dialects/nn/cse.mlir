// Common subexpressions: pure ops merge, distinct dropout sites do not, reads do not merge over a write.
// RUN: npar-opt %s -cse | FileCheck %s

!x = tensor<2x8xf32, #nn.axes<batch, embed>>
nn.variable @w : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}

// CHECK-LABEL: @merge
func.func @merge(%x: !x) -> (!x, !x, !x, !x, !x, !x) {
  // CHECK-NEXT: nn.exp
  // CHECK-NEXT: nn.dropout {{.*}}site = "a"
  // CHECK-NEXT: nn.dropout {{.*}}site = "b"
  // CHECK-NEXT: nn.read
  // CHECK-NEXT: nn.write
  // CHECK-NEXT: nn.read
  // CHECK-NEXT: return
  %0 = nn.exp %x : (!x) -> !x
  %1 = nn.exp %x : (!x) -> !x
  %2 = nn.dropout %x {rate = 0.5, site = "a"} : (!x) -> !x
  %3 = nn.dropout %x {rate = 0.5, site = "b"} : (!x) -> !x
  %4 = nn.read @w : !x
  nn.write @w, %x : !x
  %5 = nn.read @w : !x
  return %0, %1, %2, %3, %4, %5 : !x, !x, !x, !x, !x, !x
}
