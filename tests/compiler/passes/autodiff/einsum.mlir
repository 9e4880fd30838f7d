// The gradients of nn.einsum, and that gradients which reach no parameter are not built.
// RUN: npar-opt %s -split-input-file -autodiff-backward -canonicalize | FileCheck %s

!x = tensor<2x8xf64, #nn.axes<batch, embed>>
!w = tensor<8x4xf64, #nn.axes<embed, hidden>>
!y = tensor<2x4xf64, #nn.axes<batch, hidden>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// CHECK-LABEL: @micro
// CHECK: %[[X:.+]] = nn.input "x"
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK-NEXT: %[[DY:.+]] = nn.fill 1.0
// CHECK-NEXT: %[[DW:.+]] = nn.einsum %[[DY]], %[[X]] : {{.*}} -> tensor<8x4xf64, #nn.axes<embed, hidden>>
// CHECK-NEXT: nn.accumulate @w.grad.0, %[[DW]]
// CHECK-NEXT: return
func.func @micro() {
  %x = nn.input "x" : !x
  %w = nn.read @w : !w
  %y = nn.einsum %x, %w : (!x, !w) -> !y
  %s = nn.sum %y : (!y) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

!x = tensor<2x8xf64, #nn.axes<batch, embed>>
!w = tensor<8x4xf64, #nn.axes<embed, hidden>>
!y = tensor<2xf64, #nn.axes<batch>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// `hidden` is summed alone: its gradient is repeated.
// CHECK-LABEL: @micro
// CHECK: %[[E:.+]] = nn.einsum %{{.+}}, %{{.+}} : {{.*}} -> tensor<8xf64, #nn.axes<embed>>
// CHECK-NEXT: %[[DW:.+]] = nn.broadcast %[[E]] : {{.*}} -> tensor<8x4xf64, #nn.axes<embed, hidden>>
// CHECK-NEXT: nn.accumulate @w.grad.0, %[[DW]]
func.func @micro() {
  %x = nn.input "x" : !x
  %w = nn.read @w : !w
  %y = nn.einsum %x, %w : (!x, !w) -> !y
  %s = nn.sum %y : (!y) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
