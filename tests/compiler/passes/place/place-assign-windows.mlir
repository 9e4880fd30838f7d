// Where a rule splits the positions of windows, ranks get the entries that their positions need, and the windows become local.
// RUN: npar-opt %s -split-input-file -place-assign | FileCheck %s

// Windows of three with padding: x stays split, and each rank needs a row before its own and one after.
// CHECK-LABEL: func.func @micro
!x = tensor<2x8x3xf32, #nn.axes<batch, row, column>>
!w = tensor<2x3x8x3xf32, #nn.axes<batch, kh, row1, column>>
module attributes {dist.mesh = #dist.mesh<sp = 2>,
                   dist.rules = [#dist.rule<axis = "row", mesh = ["sp"]>, #dist.rule<axis = "row1", mesh = ["sp"]>]} {
  func.func @micro() {
    %i = nn.input "x" : !x
    // CHECK: %[[X:.*]] = nn.tanh
    %x = nn.tanh %i : (!x) -> !x
    // CHECK-NOT: dist.reshard
    // CHECK: %[[H:.*]] = dist.halo %[[X]] of "row" {axes = ["sp"], cause = #dist.cause<kind = passes_round, operation = "windows", axes = ["row"], rules = ["row1 -> sp"]>
    // CHECK-SAME: entries = 8 : i64, fill = 0.000000e+00 : f64, first = -1 : i64, spread = 1 : i64, step = 4 : i64}
    // CHECK-SAME: -> tensor<2x6x3xf32, #dist.layout<batch : 2, row.near : 12 {sp}, column : 3>>
    // CHECK: nn.windows %[[H]] of ["row.near"] to ["row1"] by ["kh"] {before = array<i64: 0>, {{.*}} local,
    // CHECK-SAME: -> tensor<2x3x4x3xf32, #dist.layout<batch : 2, kh : 3, row1 : 8 {sp}, column : 3>>
    %w = nn.windows %x of ["row"] to ["row1"] by ["kh"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 1>,
        spread = array<i64: 1>, fill = 0.0} : (!x) -> !w
    %e = nn.exp %w : (!w) -> !w
    return
  }
}

// -----
// Windows of two with stride two need a rank's own entries alone: nothing moves or is copied.
// CHECK-LABEL: func.func @micro
!x = tensor<2x8x3xf32, #nn.axes<batch, row, column>>
!w = tensor<2x2x4x3xf32, #nn.axes<batch, kh, row1, column>>
module attributes {dist.mesh = #dist.mesh<sp = 2>,
                   dist.rules = [#dist.rule<axis = "row", mesh = ["sp"]>, #dist.rule<axis = "row1", mesh = ["sp"]>]} {
  func.func @micro() {
    %i = nn.input "x" : !x
    // CHECK: %[[X:.*]] = nn.tanh
    %x = nn.tanh %i : (!x) -> !x
    // CHECK-NEXT: nn.windows %[[X]] of ["row"] to ["row1"] by ["kh"] {before = array<i64: 0>, {{.*}} local,
    %w = nn.windows %x of ["row"] to ["row1"] by ["kh"] {stride = array<i64: 2>, dilation = array<i64: 1>, before = array<i64: 0>,
        spread = array<i64: 1>, fill = 0.0} : (!x) -> !w
    %e = nn.exp %w : (!w) -> !w
    return
  }
}

// -----
// The gradient of a stride of two: two rows of a rank begin at entries of dy, so that windows stay spread. With three rows they do not, and
// the rank gets dy with its gaps.
// CHECK-LABEL: func.func @micro
!dy = tensor<2x4x3xf32, #nn.axes<batch, row1, column>>
!even = tensor<2x3x8x3xf32, #nn.axes<batch, kh, row, column>>
!odd = tensor<2x3x6x3xf32, #nn.axes<batch, kh, line, column>>
module attributes {dist.mesh = #dist.mesh<sp = 2>,
                   dist.rules = [#dist.rule<axis = "row", mesh = ["sp"]>, #dist.rule<axis = "line", mesh = ["sp"]>,
                                 #dist.rule<axis = "row1", mesh = ["sp"]>]} {
  func.func @micro() {
    %i = nn.input "x" : !dy
    %dy = nn.tanh %i : (!dy) -> !dy
    // CHECK: dist.halo {{.*}} entries = 4 : i64, {{.*}} first = 0 : i64, spread = 1 : i64, step = 2 : i64} : {{.*}} -> tensor<2x3x3xf32,
    // CHECK: nn.windows {{.*}} {before = array<i64: -1>, {{.*}} spread = array<i64: 2>
    %a = nn.windows %dy of ["row1"] to ["row"] by ["kh"] {stride = array<i64: 1>, dilation = array<i64: -1>, before = array<i64: -1>,
        spread = array<i64: 2>, fill = 0.0} : (!dy) -> !even
    // CHECK: dist.halo {{.*}} first = -1 : i64, spread = 2 : i64, step = 3 : i64} : {{.*}} -> tensor<2x5x3xf32,
    // CHECK: nn.windows {{.*}} {before = array<i64: -2>, {{.*}} spread = array<i64: 1>
    %b = nn.windows %dy of ["row1"] to ["line"] by ["kh"] {stride = array<i64: 1>, dilation = array<i64: -1>, before = array<i64: -1>,
        spread = array<i64: 2>, fill = 0.0} : (!dy) -> !odd
    %e = nn.exp %a : (!even) -> !even
    %f = nn.exp %b : (!odd) -> !odd
    return
  }
}

// -----
// Windows that reach all entries are gathered, and cut from the whole. So are those of data, which are never sent.
// CHECK-LABEL: func.func @micro
!x = tensor<2x4x3xf32, #nn.axes<batch, row, column>>
!w = tensor<2x7x4x3xf32, #nn.axes<batch, kh, row1, column>>
module attributes {dist.mesh = #dist.mesh<sp = 2>,
                   dist.rules = [#dist.rule<axis = "row", mesh = ["sp"]>, #dist.rule<axis = "row1", mesh = ["sp"]>]} {
  func.func @micro() {
    %i = nn.input "x" : !x
    %x = nn.tanh %i : (!x) -> !x
    // CHECK: %[[ALL:.*]] = dist.reshard %{{.*}} {cause = #dist.cause<kind = wants_whole, operation = "windows", axes = ["row", "row1"], rules = ["row1 -> sp", ""], mesh_axis = "sp">
    // CHECK: dist.halo %[[ALL]] of "row"
    %w = nn.windows %x of ["row"] to ["row1"] by ["kh"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 3>,
        spread = array<i64: 1>, fill = 0.0} : (!x) -> !w
    %e = nn.exp %w : (!w) -> !w
    // CHECK: %[[DATA:.*]] = nn.input "y" : tensor<2x4x3xf32, #dist.layout<batch : 2, row : 4, column : 3>>
    // CHECK-NEXT: dist.halo %[[DATA]] of "row"
    %y = nn.input "y" : !x
    %v = nn.windows %y of ["row"] to ["row1"] by ["kh"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 3>,
        spread = array<i64: 1>, fill = 0.0} : (!x) -> !w
    %f = nn.exp %v : (!w) -> !w
    return
  }
}
