// The gradient of nn.windows: windows back along the walked axis.
// RUN: npar-opt %s -split-input-file -autodiff-backward -canonicalize | FileCheck %s

!x = tensor<2x8x4xf64, #nn.axes<batch, row, channel>>
!w = tensor<3x4x5xf64, #nn.axes<tap, channel, out>>
!p = tensor<2x3x4x4xf64, #nn.axes<batch, tap, y, channel>>
!y = tensor<2x4x5xf64, #nn.axes<batch, y, out>>
!s = tensor<f64, #nn.axes<>>
module attributes {npar.micro_count = 2 : i64} {
nn.variable @x : tensor<8x4xf64, #nn.axes<row, channel>> {kind = #nn.kind<parameter>, stored = [8, 4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [3, 4, 5], init = #nn.init<zeros>, index = 1 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// A convolution with stride 2 and a border of one entry. The gradient of its input is one product with windows of the gradient of the result, which
// is spread out by the stride; that of the weight takes the windows of x once more.
// Each of the three products has 960 FLOP: zeros that the spread puts in do not count. There are two micro-batches.
// CHECK: npar.flops = 5.760000e+03 : f64
// CHECK-LABEL: @micro
// CHECK: %[[P:.+]] = nn.windows %{{.+}} of ["row"] to ["y"] by ["tap"] {
// CHECK-SAME: before = array<i64: 1>, dilation = array<i64: 1>, fill = 0.000000e+00 : f64, spread = array<i64: 1>, stride = array<i64: 2>
// CHECK: %[[W:.+]] = nn.read @w
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK: %[[DY:.+]] = nn.add
// CHECK-NEXT: nn.einsum %[[DY]], %[[P]] : {{.*}} -> tensor<3x4x5xf64
// CHECK-NEXT: nn.accumulate @w.grad.0
// CHECK-NEXT: %[[BACK:.+]] = nn.windows %[[DY]] of ["y"] to ["row"] by ["tap"] {
// CHECK-SAME: before = array<i64: -1>, dilation = array<i64: -1>, fill = 0.000000e+00 : f64, spread = array<i64: 2>, stride = array<i64: 1>
// CHECK-SAME: -> tensor<2x3x8x5xf64, #nn.axes<batch, tap, row, out>>
// CHECK-NEXT: nn.einsum %[[BACK]], %[[W]] : {{.*}} -> tensor<2x8x4xf64
func.func @micro() {
  %v = nn.read @x : tensor<8x4xf64, #nn.axes<row, channel>>
  %x = nn.broadcast %v : (tensor<8x4xf64, #nn.axes<row, channel>>) -> !x
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"]
    {stride = array<i64: 2>, dilation = array<i64: 1>, before = array<i64: 1>, spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %w = nn.read @w : !w
  %y = nn.einsum %p, %w : (!p, !w) -> !y
  %z = nn.mul %y, %y : (!y, !y) -> !y
  %s = nn.sum %z : (!y) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
}

// -----

!x = tensor<2x8xf64, #nn.axes<batch, row>>
!p = tensor<2x3x4xf64, #nn.axes<batch, tap, y>>
!y = tensor<2x4xf64, #nn.axes<batch, y>>
!s = tensor<f64, #nn.axes<>>
nn.variable @x : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// Max pooling: the gradient goes to the first of the largest entries of a window. Each entry of x looks at the windows that it is in, so that nothing
// has the size of all windows.
// CHECK-LABEL: @micro
// CHECK: %[[P:.+]] = nn.windows
// CHECK: %[[MAX:.+]] = nn.max_first %[[P]] over ["tap"]
// CHECK: %[[AT:.+]] = nn.first_max %[[P]], %[[MAX]] over ["tap"] : {{.*}} -> tensor<2x4xi32, #nn.axes<batch, y>>
// CHECK: %[[DY:.+]] = nn.windows %{{.+}} of ["y"] to ["row"] by ["tap"] {{.*}} : (tensor<2x4xf64, #nn.axes<batch, y>>) -> tensor<2x3x8xf64, #nn.axes<batch, tap, row>>
// CHECK: %[[PLACE:.+]] = nn.windows %[[AT]] of ["y"] to ["row"] by ["tap"] {{.*}} -> tensor<2x3x8xi32, #nn.axes<batch, tap, row>>
// CHECK: %[[DP:.+]] = nn.at_position %[[DY]], %[[PLACE]] over ["tap"] : {{.*}} -> tensor<2x3x8xf64, #nn.axes<batch, tap, row>>
// CHECK: nn.sum %[[DP]] : {{.*}} -> tensor<2x8xf64
func.func @micro() {
  %x = nn.read @x : !x
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"]
    {stride = array<i64: 2>, dilation = array<i64: 1>, before = array<i64: 1>, spread = array<i64: 1>, fill = 0xFFF0000000000000 : f64} : (!x) -> !p
  %y = nn.max_first %p over ["tap"] : (!p) -> !y
  %s = nn.sum %y : (!y) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}

// -----

!x = tensor<2x8xf64, #nn.axes<batch, row>>
!p = tensor<2x3x4xf64, #nn.axes<batch, tap, y>>
!y = tensor<2x4xf64, #nn.axes<batch, y>>
!s = tensor<f64, #nn.axes<>>
nn.variable @x : !x {kind = #nn.kind<parameter>, stored = [2, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}

// Average pooling: each entry of x adds the gradients of the windows that it is in.
// CHECK-LABEL: @micro
// CHECK: nn.accumulate @"#out.loss.sum"
// CHECK-NOT: nn.broadcast {{.*}} -> tensor<2x3x4xf64
// CHECK: %[[DY:.+]] = nn.windows %{{.+}} of ["y"] to ["row"] by ["tap"] {{.*}} : (tensor<2x4xf64, #nn.axes<batch, y>>) -> tensor<2x3x8xf64, #nn.axes<batch, tap, row>>
// CHECK-NEXT: nn.sum %[[DY]] : {{.*}} -> tensor<2x8xf64
func.func @micro() {
  %x = nn.read @x : !x
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"]
    {stride = array<i64: 2>, dilation = array<i64: 1>, before = array<i64: 1>, spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %y = nn.sum %p : (!p) -> !y
  %z = nn.mul %y, %y : (!y, !y) -> !y
  %s = nn.sum %z : (!y) -> !s
  nn.accumulate @"#out.loss.sum", %s : !s
  return
}
