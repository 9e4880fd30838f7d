// Products of windows that are read where x is stored: convolutions and their gradients.
// RUN: npar-opt %s -split-input-file -export-outline-kernels | FileCheck %s

!x = tensor<2x8x7x4xf32, #nn.axes<batch, row, column, channel>>
!p = tensor<2x3x4x3x4x4xf32, #nn.axes<batch, kh, y, kw, z, channel>>
!w = tensor<5x4x3x3xf32, #nn.axes<out, channel, kh, kw>>
!y = tensor<2x4x4x5xf32, #nn.axes<batch, y, z, out>>
!back = tensor<2x3x8x3x7x5xf32, #nn.axes<batch, kh, row, kw, column, out>>
nn.variable @grad : !w {kind = #nn.kind<accumulator>}

// A convolution with stride 2 and a border of one entry. The weight is copied to [out, kh, kw, channel]; nothing else is.
// CHECK-LABEL: @forward
// CHECK-NEXT: %[[W:.+]] = rank.launch @broadcast_0(%arg1) : {{.*}} -> tensor<5x3x3x4xf32, #nn.axes<out, kh, kw, channel>>
// CHECK-NEXT: rank.matmul %arg0, %[[W]] {a = array<i64: 0, 0>, b = array<i64: 0, 0>, batch = array<i64>, c = array<i64: 5, 1>, k = 36 : i64, m = 32 : i64, n = 5 : i64
// CHECK-SAME: windowed = #rank.windowed<m[2, 4, 4], n[5], k[3, 3, 4],
// CHECK-SAME: <[224, 0, 0, 0, 0, 1], <8 by 28, before 1, spread 1, steps[0, 2, 0, 1, 0, 0]>, <7 by 4, before 1, spread 1, steps[0, 0, 2, 0, 1, 0]>>,
// CHECK-SAME: <[12, 4, 1, 36]>>
// CHECK-NEXT: return
func.func @forward(%x: !x, %w: !w) -> !y {
  %p = nn.windows %x of ["row", "column"] to ["y", "z"] by ["kh", "kw"] {stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>,
    before = array<i64: 1, 1>, spread = array<i64: 1, 1>, fill = 0.0} : (!x) -> !p
  %y = nn.einsum %p, %w : (!p, !w) -> !y
  return %y : !y
}

// The gradient of the input walks that of the result, spread out by the stride.
// CHECK-LABEL: @image_gradient
// CHECK: rank.matmul %arg0, %{{.+}} {{.*}}c = array<i64: 4, 1>, k = 45 : i64, m = 112 : i64, n = 4 : i64
// CHECK-SAME: windowed = #rank.windowed<m[2, 8, 7], n[4], k[3, 3, 5],
// CHECK-SAME: <[80, 0, 0, 0, 0, 1], <4 by 20, before -1, spread 2, steps[0, 1, 0, -1, 0, 0]>, <4 by 5, before -1, spread 2, steps[0, 0, 1, 0, -1, 0]>>,
// CHECK-SAME: <[12, 4, 36, 1]>>
// CHECK-NEXT: return
func.func @image_gradient(%dy: !y, %w: !w) -> !x {
  %p = nn.windows %dy of ["y", "z"] to ["row", "column"] by ["kh", "kw"] {stride = array<i64: 1, 1>, dilation = array<i64: -1, -1>,
    before = array<i64: -1, -1>, spread = array<i64: 2, 2>, fill = 0.0} : (!y) -> !back
  %dx = nn.einsum %p, %w : (!back, !w) -> !x
  return %dx : !x
}

// The gradient of the weight walks the image as second operand. It comes as [out, kh, kw, channel]; the kernel that adds it to the sum over
// micro-batches reads it in the weight's order.
// CHECK-LABEL: @weight_gradient
// CHECK: %[[G:.+]] = rank.matmul %arg1, %arg0 {{.*}}c = array<i64: 36, 1>, k = 32 : i64, m = 5 : i64, n = 36 : i64
// CHECK-SAME: windowed = #rank.windowed<m[5], n[3, 3, 4], k[2, 4, 4], <[1, 80, 20, 5]>,
// CHECK-SAME: <[224, 0, 0, 0, 0, 1], <8 by 28, before 1, spread 1, steps[0, 2, 0, 1, 0, 0]>, <7 by 4, before 1, spread 1, steps[0, 0, 2, 0, 1, 0]>>>
// CHECK-SAME: -> tensor<5x3x3x4xf32, #nn.axes<out, kh, kw, channel>>
// CHECK: rank.launch @{{.*}}(%[[G]]
// CHECK-NEXT: nn.write @grad
func.func @weight_gradient(%x: !x, %dy: !y) {
  %p = nn.windows %x of ["row", "column"] to ["y", "z"] by ["kh", "kw"] {stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>,
    before = array<i64: 1, 1>, spread = array<i64: 1, 1>, fill = 0.0} : (!x) -> !p
  %dw = nn.einsum %p, %dy : (!p, !y) -> !w
  nn.accumulate @grad, %dw : !w
  return
}

// -----

!x = tensor<2x8x3x4xf64, #nn.axes<batch, row, group, channel>>
!p = tensor<2x3x6x3x4xf64, #nn.axes<batch, tap, y, group, channel>>
!w = tensor<3x5x3x4xf64, #nn.axes<group, out, tap, channel>>
!y = tensor<2x6x3x5xf64, #nn.axes<batch, y, group, out>>

// In float64 too. Groups are a batch loop, whose results are next to each other. Windows that never leave x are strides.
// CHECK-LABEL: @groups
// CHECK-NEXT: rank.matmul %arg0, %arg1 {a = array<i64: 4, 0, 0>, b = array<i64: 60, 0, 0>, batch = array<i64: 3>, c = array<i64: 5, 15, 1>
// CHECK-SAME: windowed = #rank.windowed<m[2, 6], n[5], k[3, 4], <[96, 12, 12, 1]>, <[4, 1, 12]>>
// CHECK-NEXT: return
func.func @groups(%x: !x, %w: !w) -> !y {
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 0>,
    spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %y = nn.einsum %p, %w : (!p, !w) -> !y
  return %y : !y
}

// -----

!x = tensor<2x3x8xf32, #nn.axes<batch, channel, row>>
!p = tensor<2x3x3x8xf32, #nn.axes<batch, channel, tap, y>>
!w = tensor<3x5x3xf32, #nn.axes<channel, out, tap>>
!y = tensor<2x8x5xf32, #nn.axes<batch, y, out>>

// An image with channels first is copied, its windows are not.
// CHECK-LABEL: @channels_first
// CHECK: %[[X:.+]] = rank.launch @{{.+}}(%arg0) : {{.*}} -> tensor<2x8x3xf32, #nn.axes<batch, row, channel>>
// CHECK: rank.matmul %[[X]], {{.*}}windowed = #rank.windowed<m[2, 8], n[5], k[3, 3], <[24, 0, 0, 1], <8 by 3, before 1, spread 1, steps[0, 1, 1, 0]>>, <[
// CHECK-NEXT: return
func.func @channels_first(%x: !x, %w: !w) -> !y {
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 1>,
    spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %y = nn.einsum %p, %w : (!p, !w) -> !y
  return %y : !y
}

// -----

!x = tensor<2x8x4xf32, #nn.axes<batch, row, channel>>
!p = tensor<2x1x8x4xf32, #nn.axes<batch, tap, y, channel>>
!w = tensor<5x4x1xf32, #nn.axes<out, channel, tap>>
!y = tensor<2x8x5xf32, #nn.axes<batch, y, out>>

// Windows of one entry are x itself.
// CHECK-LABEL: @of_one
// CHECK-NEXT: rank.matmul %arg0, %arg1 {a = array<i64: 4, 1>, b = array<i64: 1, 4>, batch = array<i64>, c = array<i64: 5, 1>, k = 4 : i64, m = 16 : i64, n = 5 : i64} :
func.func @of_one(%x: !x, %w: !w) -> !y {
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 0>,
    spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %y = nn.einsum %p, %w : (!p, !w) -> !y
  return %y : !y
}

// -----

!x = tensor<2x8x4xf32, #nn.axes<batch, row, channel>>
!p = tensor<2x3x8x4xf32, #nn.axes<batch, tap, y, channel>>
!w = tensor<4x3xf32, #nn.axes<channel, tap>>

// A product of one column per channel is a kernel that reads windows where they are stored.
// CHECK-LABEL: @depthwise
// CHECK-NEXT: rank.launch @windows_sum_0(%arg0, %arg1)
// CHECK: rank.kernel @windows_sum_0
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x8x4xf32, {{.*}}>, %[[W:.*]]: tensor<4x3xf32, {{.*}}>):
// CHECK-NEXT: %[[P:.*]] = nn.windows %[[X]]
// CHECK-NEXT: %[[T:.*]] = nn.mul %[[P]], %[[W]] : {{.*}} -> tensor<2x3x8x4xf32, #nn.axes<batch, tap, y, channel>>
// CHECK-NEXT: nn.sum %[[T]] : {{.*}} -> tensor<2x8x4xf32, #nn.axes<batch, y, channel>>
func.func @depthwise(%x: !x, %w: !w) -> !x {
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 1>,
    spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %y = nn.einsum %p, %w : (!p, !w) -> tensor<2x8x4xf32, #nn.axes<batch, y, channel>>
  %r = nn.rename %y from "y" to "row" : (tensor<2x8x4xf32, #nn.axes<batch, y, channel>>) -> !x
  return %r : !x
}

// -----

!x = tensor<2x8x4xbf16, #nn.axes<batch, row, channel>>
!p = tensor<2x3x8x4xbf16, #nn.axes<batch, tap, y, channel>>
!w = tensor<4x1x3xbf16, #nn.axes<channel, out, tap>>
!y = tensor<2x8x1x4xbf16, #nn.axes<batch, y, out, channel>>

// The sum of one feature per channel is rounded once.
// CHECK-LABEL: @one_feature
// CHECK-NOT: rank.matmul
// CHECK: nn.mul {{.*}} -> tensor<2x3x8x4x1xf32, #nn.axes<batch, tap, y, channel, out>>
// CHECK-NEXT: nn.sum {{.*}} -> tensor<2x8x1x4xf32, #nn.axes<batch, y, out, channel>>
// CHECK-NEXT: nn.convert {{.*}} -> tensor<2x8x1x4xbf16, #nn.axes<batch, y, out, channel>>
func.func @one_feature(%x: !x, %w: !w) -> !y {
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 1>,
    spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %y = nn.einsum %p, %w : (!p, !w) -> !y
  return %y : !y
}

// -----

!x = tensor<2x8x4xf32, #dist.layout<batch : 2, row : 8, channel : 4>>
!p = tensor<2x3x4x4xf32, #dist.layout<batch : 2, tap : 3, y : 8 {sp}, channel : 4>>
!w = tensor<5x3x4xf32, #dist.layout<out : 5, tap : 3, channel : 4>>
!y = tensor<2x4x5xf32, #dist.layout<batch : 2, y : 8 {sp}, out : 5>>

// A rank's part of the positions begins at its coordinate, which only kernels know.
// CHECK-LABEL: @positions_of_a_rank
// CHECK: rank.launch @windows
// CHECK-NOT: windowed
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  func.func @positions_of_a_rank(%x: !x, %w: !w) -> !y {
    %p = nn.windows %x of ["row"] to ["y"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 1>,
      spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
    %y = nn.einsum %p, %w : (!p, !w) -> !y
    return %y : !y
  }
}

// -----

!x = tensor<2x8x4xf32, #nn.axes<batch, row, channel>>
!p = tensor<2x3x8x4xf32, #nn.axes<batch, tap, y, channel>>
!y = tensor<2x8x4xf32, #nn.axes<batch, y, channel>>

// nn.mul rounds nothing to TF32: this stays a product, of a copy of the windows.
// CHECK-LABEL: func.func @depthwise_in_tf32
// CHECK: rank.launch @windows_{{[0-9]+}}(%arg0)
// CHECK: rank.matmul {{.*}}tf32
func.func @depthwise_in_tf32(%x: !x, %w: tensor<4x3xf32, #nn.axes<channel, tap>>) -> !y {
  %p = nn.windows %x of ["row"] to ["y"] by ["tap"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 1>,
    spread = array<i64: 1>, fill = 0.0} : (!x) -> !p
  %y = nn.einsum %p, %w {tf32} : (!p, tensor<4x3xf32, #nn.axes<channel, tap>>) -> !y
  return %y : !y
}
