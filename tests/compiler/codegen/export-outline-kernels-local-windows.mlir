// Windows of a rank's positions over the entries that it needs (dist.halo) are read there: no window is copied.
// RUN: npar-opt %s -export-outline-kernels | FileCheck %s

!x = tensor<2x4x7x4xf32, #dist.layout<batch : 2, row : 8 {sp}, column : 7, channel : 4>>
!e = tensor<2x1x7x4xf32, #dist.layout<batch : 2, row.edge : 2 {sp}, column : 7, channel : 4>>
!h = tensor<2x6x7x4xf32, #dist.layout<batch : 2, row.near : 12 {sp}, column : 7, channel : 4>>
!p = tensor<2x3x4x7x4xf32, #dist.layout<batch : 2, kh : 3, y : 8 {sp}, column : 7, channel : 4>>
!w = tensor<5x3x4xf32, #dist.layout<out : 5, kh : 3, channel : 4>>
!y = tensor<2x4x7x5xf32, #dist.layout<batch : 2, y : 8 {sp}, column : 7, out : 5>>
!dw = tensor<5x3x4xf32, #dist.layout<out : 5, kh : 3, channel : 4, partial = {sp : sum}>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  // CHECK-LABEL: func.func @micro
  func.func @micro(%x: !x, %e: !e, %w: !w, %dy: !y) -> (!y, !dw) {
    // CHECK-NEXT: %[[H:.*]] = rank.launch @halo_0(%arg0, %arg1)
    %h = dist.halo %x with %e : !e of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
    %p = nn.windows %h of ["row.near"] to ["y"] by ["kh"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 0>,
      spread = array<i64: 1>, fill = 0.0, local} : (!h) -> !p
    // No window leaves the entries: rows of x are apart as positions are.
    // CHECK-NEXT: rank.matmul %[[H]], %arg2 {{.*}} k = 12 : i64, m = 56 : i64, n = 5 : i64
    // CHECK-SAME: windowed = #rank.windowed<m[2, 4, 7], n[5], k[3, 4], <[168, 28, 4, 28, 1]>
    %y = nn.einsum %p, %w : (!p, !w) -> !y
    // CHECK: rank.matmul %arg3, %[[H]]
    // CHECK-SAME: windowed
    %dw = nn.einsum %dy, %p : (!y, !p) -> !dw
    return %y, %dw : !y, !dw
  }
}
