// Each reshard becomes the collectives between its two layouts.
// RUN: npar-opt %s -allow-unregistered-dialect -split-input-file -place-lower-reshards | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>} {
  // CHECK-LABEL: func.func @single
  func.func @single() {
    %p = "test.source"() : () -> tensor<4x6xf32, #dist.layout<a : 4, b : 6, partial = {dp : sum, tp : sum}>>
    // One reduction over both axes.
    // CHECK: dist.all_reduce {{.*}} {axes = ["dp", "tp"], cause = #dist.cause<kind = wants_order, operation = "add">, op = "sum"}
    %0 = dist.reshard %p {cause = #dist.cause<kind = wants_order, operation = "add">} : tensor<4x6xf32, #dist.layout<a : 4, b : 6, partial = {dp : sum, tp : sum}>> -> tensor<4x6xf32, #dist.layout<a : 4, b : 6>>
    // The place goes along.
    // CHECK: dist.reduce_scatter {{.*}} {at = #nn.at<F, "h", 1>, axes = ["tp"], dim = "b", op = "sum"} : {{.*}} -> tensor<4x3xf32, #dist.layout<a : 4, b : 6 {tp}, partial = {dp : sum}>>
    // CHECK-NEXT: dist.all_reduce {{.*}} {at = #nn.at<F, "h", 1>, axes = ["dp"], op = "sum"}
    %1 = dist.reshard %p {at = #nn.at<F, "h", 1>} : tensor<4x6xf32, #dist.layout<a : 4, b : 6, partial = {dp : sum, tp : sum}>> -> tensor<4x3xf32, #dist.layout<a : 4, b : 6 {tp}>>
    // CHECK: dist.slice {{.*}} {axes = ["dp", "tp"], dim = "a"}
    %2 = dist.reshard %0 : tensor<4x6xf32, #dist.layout<a : 4, b : 6>> -> tensor<1x6xf32, #dist.layout<a : 4 {dp, tp}, b : 6>>
    // CHECK: dist.all_gather {{.*}} {axes = ["tp"], dim = "a"}
    %3 = dist.reshard %2 : tensor<1x6xf32, #dist.layout<a : 4 {dp, tp}, b : 6>> -> tensor<2x6xf32, #dist.layout<a : 4 {dp}, b : 6>>
    // CHECK: dist.all_to_all {{.*}} {axes = ["tp"], concat = "a", split = "b"}
    %4 = dist.reshard %2 : tensor<1x6xf32, #dist.layout<a : 4 {dp, tp}, b : 6>> -> tensor<2x3xf32, #dist.layout<a : 4 {dp}, b : 6 {tp}>>
    // Of routed rows only the existing ones move; the ends of both sides come along.
    // CHECK: dist.all_to_all %{{.+}} ends(%{{.+}}, %{{.+}} : {{.*}}) {axes = ["tp"], concat = "batch", filled = 2.500000e-01 : f64, places = 3 : i64, split = "row"}
    %rows = "test.source"() : () -> tensor<1x6xf32, #dist.layout<batch : 2 {tp}, row : 6>>
    %given = "test.source"() : () -> tensor<1x4xi32, #dist.layout<batch : 2 {tp}, expert : 4>>
    %taken = "test.source"() : () -> tensor<2x2xi32, #dist.layout<batch : 2, expert : 4 {tp}>>
    %5 = dist.reshard %rows ends(%given, %taken : tensor<1x4xi32, #dist.layout<batch : 2 {tp}, expert : 4>>, tensor<2x2xi32, #dist.layout<batch : 2, expert : 4 {tp}>>)
        {places = 3 : i64, filled = 0.25 : f64} : tensor<1x6xf32, #dist.layout<batch : 2 {tp}, row : 6>> -> tensor<2x3xf32, #dist.layout<batch : 2, row : 6 {tp}>>
    // CHECK-NOT: dist.reshard
    return
  }
  // One of two moves: the ends go the same way before it. Entries that do not divide would be cut elsewhere than their rows: all rows move.
  // CHECK-LABEL: func.func @rows_in_two_moves
  func.func @rows_in_two_moves() {
    %rows = "test.source"() : () -> tensor<1x12xf32, #dist.layout<batch : 2 {tp}, row : 12>>
    %given = "test.source"() : () -> tensor<1x8xi32, #dist.layout<batch : 2 {tp}, expert : 8>>
    %taken = "test.source"() : () -> tensor<2x2xi32, #dist.layout<batch : 2, expert : 8 {tp, dp}>>
    // CHECK: %[[ENDS:.+]] = dist.all_to_all %[[GIVEN:.+]] {axes = ["tp"], concat = "batch", split = "expert"} : {{.*}} -> tensor<2x4xi32
    // CHECK-NEXT: dist.all_to_all %{{.+}} ends(%[[GIVEN]], %[[ENDS]] : {{.*}}) {axes = ["tp"], concat = "batch", filled = 2.500000e-01 : f64, places = 3 : i64, split = "row"}
    // CHECK-NEXT: dist.slice {{.*}} {axes = ["dp"], dim = "row"}
    %0 = dist.reshard %rows ends(%given, %taken : tensor<1x8xi32, #dist.layout<batch : 2 {tp}, expert : 8>>, tensor<2x2xi32, #dist.layout<batch : 2, expert : 8 {tp, dp}>>)
        {places = 3 : i64, filled = 0.25 : f64} : tensor<1x12xf32, #dist.layout<batch : 2 {tp}, row : 12>> -> tensor<2x3xf32, #dist.layout<batch : 2, row : 12 {tp, dp}>>
    %few = "test.source"() : () -> tensor<1x6xi32, #dist.layout<batch : 2 {tp}, expert : 6>>
    %own = "test.source"() : () -> tensor<2x2xi32, #dist.layout<batch : 2, expert : 6 {tp, dp}>>
    // CHECK: dist.all_to_all %{{[^ ]+}} {axes = ["tp"], concat = "batch", split = "row"}
    %1 = dist.reshard %rows ends(%few, %own : tensor<1x6xi32, #dist.layout<batch : 2 {tp}, expert : 6>>, tensor<2x2xi32, #dist.layout<batch : 2, expert : 6 {tp, dp}>>)
        {places = 3 : i64, filled = 0.25 : f64} : tensor<1x12xf32, #dist.layout<batch : 2 {tp}, row : 12>> -> tensor<2x3xf32, #dist.layout<batch : 2, row : 12 {tp, dp}>>
    // CHECK-NOT: dist.reshard
    return
  }
  // Another order of splits: gather, then slice. Padded shards do not nest: everything is gathered.
  // CHECK-LABEL: func.func @composed
  func.func @composed() {
    %x = "test.source"() : () -> tensor<1xf32, #dist.layout<a : 4 {dp, tp}>>
    // CHECK: dist.all_gather {{.*}} {axes = ["dp", "tp"], dim = "a"}
    // CHECK-NEXT: dist.slice {{.*}} {axes = ["tp", "dp"], dim = "a"}
    %0 = dist.reshard %x : tensor<1xf32, #dist.layout<a : 4 {dp, tp}>> -> tensor<1xf32, #dist.layout<a : 4 {tp, dp}>>
    %y = "test.source"() : () -> tensor<2xf32, #dist.layout<a : 5 {dp, tp}>>
    // CHECK: dist.all_gather {{.*}} {axes = ["dp", "tp"], dim = "a"} : {{.*}} -> tensor<5xf32, #dist.layout<a : 5>>
    // CHECK-NEXT: dist.slice {{.*}} {axes = ["dp"], dim = "a"} : {{.*}} -> tensor<3xf32, #dist.layout<a : 5 {dp}>>
    %1 = dist.reshard %y : tensor<2xf32, #dist.layout<a : 5 {dp, tp}>> -> tensor<3xf32, #dist.layout<a : 5 {dp}>>
    %p = "test.source"() : () -> tensor<5xf32, #dist.layout<a : 5, partial = {dp : sum}>>
    // CHECK: dist.all_reduce
    // CHECK-NEXT: dist.slice
    %2 = dist.reshard %p : tensor<5xf32, #dist.layout<a : 5, partial = {dp : sum}>> -> tensor<3xf32, #dist.layout<a : 5 {dp}>>
    return
  }
}

// -----
// Flat pieces (RULES.md#P7): 3,000 elements are 3 blocks, of which each of two ranks gets 2. Slices and gathers of the row-major piece; a sum over
// the flat axes is scattered, over others it is reduced afterwards, on the smaller piece.
module attributes {dist.mesh = #dist.mesh<node = 2, dp = 2, tp = 2>} {
  // CHECK-LABEL: func.func @flat
  func.func @flat() {
    %w = "test.source"() : () -> tensor<30x100xf32, #dist.layout<a : 30, b : 100>>
    // CHECK: %[[P:.*]] = dist.slice {{.*}} {axes = ["dp"], dim = "#flat"} : {{.*}} -> tensor<2048xf32, #dist.layout<a : 30, b : 100, flat = {dp}>>
    %0 = dist.reshard %w : tensor<30x100xf32, #dist.layout<a : 30, b : 100>> -> tensor<2048xf32, #dist.layout<a : 30, b : 100, flat = {dp}>>
    // CHECK: dist.all_gather %[[P]] {axes = ["dp"], dim = "#flat"} : {{.*}} -> tensor<30x100xf32, #dist.layout<a : 30, b : 100>>
    %1 = dist.reshard %0 : tensor<2048xf32, #dist.layout<a : 30, b : 100, flat = {dp}>> -> tensor<30x100xf32, #dist.layout<a : 30, b : 100>>
    %p = "test.source"() : () -> tensor<30x50xf32, #dist.layout<a : 30, b : 100 {tp}, partial = {node : sum, dp : sum}>>
    // CHECK: dist.reduce_scatter {{.*}} {axes = ["dp"], dim = "#flat", op = "sum"} : {{.*}} -> tensor<1024xf32, #dist.layout<a : 30, b : 100 {tp}, flat = {dp}, partial = {node : sum}>>
    // CHECK-NEXT: dist.all_reduce {{.*}} {axes = ["node"], op = "sum"} : tensor<1024xf32
    %2 = dist.reshard %p : tensor<30x50xf32, #dist.layout<a : 30, b : 100 {tp}, partial = {node : sum, dp : sum}>>
        -> tensor<1024xf32, #dist.layout<a : 30, b : 100 {tp}, flat = {dp}>>
    // CHECK: dist.reduce_scatter {{.*}} {axes = ["node", "dp"], dim = "#flat", op = "sum"}
    // CHECK-NOT: dist.all_reduce
    %3 = dist.reshard %p : tensor<30x50xf32, #dist.layout<a : 30, b : 100 {tp}, partial = {node : sum, dp : sum}>>
        -> tensor<1024xf32, #dist.layout<a : 30, b : 100 {tp}, flat = {node, dp}>>
    return
  }
  // Another split of the piece below, or other flat axes: everything is put together first.
  // CHECK-LABEL: func.func @other
  func.func @other() {
    %x = "test.source"() : () -> tensor<2048xf32, #dist.layout<a : 30, b : 100, flat = {dp}>>
    // CHECK: dist.all_gather {{.*}} {axes = ["dp"], dim = "#flat"}
    // CHECK-NEXT: dist.slice {{.*}} {axes = ["tp"], dim = "b"}
    // CHECK-NEXT: dist.slice {{.*}} {axes = ["dp"], dim = "#flat"} : {{.*}} -> tensor<1024xf32
    %0 = dist.reshard %x : tensor<2048xf32, #dist.layout<a : 30, b : 100, flat = {dp}>> -> tensor<1024xf32, #dist.layout<a : 30, b : 100 {tp}, flat = {dp}>>
    // Partial over one of two flat axes: reduced whole, then cut.
    %p = "test.source"() : () -> tensor<30x100xf32, #dist.layout<a : 30, b : 100, partial = {dp : sum}>>
    // CHECK: dist.all_reduce {{.*}} {axes = ["dp"], op = "sum"}
    // CHECK-NEXT: dist.slice {{.*}} {axes = ["node", "dp"], dim = "#flat"} : {{.*}} -> tensor<1024xf32
    %1 = dist.reshard %p : tensor<30x100xf32, #dist.layout<a : 30, b : 100, partial = {dp : sum}>> -> tensor<1024xf32, #dist.layout<a : 30, b : 100, flat = {node, dp}>>
    return
  }
}

// -----

// A hierarchical reduction: over the last mesh axis in shares, over the other one what is left of them; what is small in one piece.
#w = #dist.layout<a : 4096>
#p = #dist.layout<a : 4096, partial = {node : sum, dp : sum}>
#small = #dist.layout<a : 2047>
#q = #dist.layout<a : 2047, partial = {node : sum, dp : sum}>
module attributes {dist.mesh = #dist.mesh<node = 2, dp = 2>, dist.hierarchical} {
  nn.variable @w : tensor<4096xf32, #w> {kind = #nn.kind<parameter>, stored = [4096], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @g : tensor<4096xf32, #p> {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  nn.variable @v : tensor<2047xf32, #small> {kind = #nn.kind<parameter>, stored = [2047], init = #nn.init<zeros>, index = 1 : i64}
  nn.variable @h : tensor<2047xf32, #q> {kind = #nn.kind<accumulator>, of = @v, use = 0 : i64}
  // CHECK-LABEL: func.func @hierarchical
  func.func @hierarchical() {
    // CHECK: %[[P:.*]] = nn.read @g
    // CHECK-NEXT: %[[S:.*]] = dist.reduce_scatter %[[P]] {axes = ["dp"], dim = "#flat", op = "sum"} {{.*}} -> tensor<2048xf32, #dist.layout<a : 4096, flat = {dp}, partial = {node : sum}>>
    // CHECK-NEXT: %[[A:.*]] = dist.all_reduce %[[S]] {axes = ["node"], op = "sum"}
    // CHECK-NEXT: dist.all_gather %[[A]] {axes = ["dp"], dim = "#flat"} {{.*}} -> tensor<4096xf32, #dist.layout<a : 4096>>
    %p = nn.read @g : tensor<4096xf32, #p>
    %0 = dist.reshard %p : tensor<4096xf32, #p> -> tensor<4096xf32, #w>
    // CHECK: nn.read @h
    // CHECK-NEXT: dist.all_reduce {{.*}} {axes = ["node", "dp"], op = "sum"}
    %q = nn.read @h : tensor<2047xf32, #q>
    %1 = dist.reshard %q : tensor<2047xf32, #q> -> tensor<2047xf32, #small>
    return
  }
}
