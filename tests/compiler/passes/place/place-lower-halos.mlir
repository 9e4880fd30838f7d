// Ranks send each other the entries that a dist.halo needs: one edge for each distance round the ring.
// RUN: npar-opt %s -split-input-file -allow-unregistered-dialect -place-lower-halos | FileCheck %s

// Four ranks of two rows each. With windows of three, a rank needs one row of each neighbour. The causes stay with what moves.
// CHECK-LABEL: func.func @neighbours
!x = tensor<2x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<4x3xf32, #dist.layout<row.near : 16 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 4>} {
  func.func @neighbours(%x: !x) -> !h {
    // CHECK-NEXT: %[[NEXT:.*]] = dist.edge %arg0 of "row" {at = #nn.at<F, "a", -1>, axes = ["sp"], first = -1 : i64, shift = 1 : i64, spread = 1 : i64, step = 2 : i64}
    // CHECK-SAME: -> tensor<1x3xf32, #dist.layout<row.edge : 4 {sp}, column : 3>>
    // CHECK-NEXT: %[[SENT:.*]] = dist.permute %[[NEXT]] {at = #nn.at<F, "a", -1>, axes = ["sp"], cause = #dist.cause<kind = passes_round>, shift = 1 : i64}
    // CHECK-NEXT: %[[BEFORE:.*]] = dist.edge %arg0 {{.*}} shift = 3 : i64
    // CHECK-NEXT: %[[BACK:.*]] = dist.permute %[[BEFORE]] {{.*}} shift = 3 : i64}
    // CHECK-NEXT: dist.halo %arg0 with %[[SENT]], %[[BACK]] : {{.*}} of "row" {at = #nn.at<F, "a", -1>, axes = ["sp"], entries = 8 : i64, fill
    %h = dist.halo %x of "row" {at = #nn.at<F, "a", -1>, axes = ["sp"], step = 2, first = -1, entries = 8, spread = 1, fill = 0.0,
        cause = #dist.cause<kind = passes_round>} : !x -> !h
    return %h : !h
  }
}

// -----
// Windows of seven reach two ranks further. Round a ring of four these are the same on both sides: each rank needs an entry or none of it.
// CHECK-LABEL: func.func @two_hops
!x = tensor<2x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<8x3xf32, #dist.layout<row.near : 32 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 4>} {
  func.func @two_hops(%x: !x) -> !h {
    // CHECK: dist.edge {{.*}} shift = 1 : i64{{.*}} -> tensor<2x3xf32,
    // CHECK: dist.edge {{.*}} shift = 2 : i64{{.*}} -> tensor<1x3xf32,
    // CHECK: dist.edge {{.*}} shift = 3 : i64{{.*}} -> tensor<2x3xf32,
    %h = dist.halo %x of "row" {axes = ["sp"], step = 2, first = -3, entries = 8, spread = 1, fill = 0.0} : !x -> !h
    return %h : !h
  }
}

// -----
// Ranks cut what they need out of a whole operand, and send nothing.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: dist.halo %arg0 of "row"
!x = tensor<8x3xf32, #dist.layout<row : 8, column : 3>>
!h = tensor<4x3xf32, #dist.layout<row.near : 16 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 4>} {
  func.func @whole(%x: !x) -> !h {
    %h = dist.halo %x of "row" {axes = ["sp"], step = 2, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
    return %h : !h
  }
}
