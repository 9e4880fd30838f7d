// Every attribute and op of the dist dialect prints as it is read.
// RUN: npar-opt -allow-unregistered-dialect %s | npar-opt -allow-unregistered-dialect | FileCheck %s

// CHECK: #[[LOC:.*]] = loc("gpt.npar":14:9)
// CHECK: dist.mesh = #dist.mesh<dp = 2, tp = 3>
// CHECK-SAME: #dist.rule<axis = "batch", mesh = ["dp"]>
// CHECK-SAME: #dist.rule<axis = "vocab", mesh = ["tp"], pad, op = "gather", layer = "h.*.attn", #[[LOC]]>
// CHECK-SAME: #dist.rule<axis = "seq", mesh = []>
// CHECK-SAME: #dist.rule<axis = "seq", mesh = ["tp"], layer = "h", by = "ring_zigzag">
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 3>,
                   dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"]>,
                                 #dist.rule<axis = "vocab", mesh = ["tp"], pad, op = "gather", layer = "h.*.attn", loc("gpt.npar":14:9)>,
                                 #dist.rule<axis = "seq", mesh = []>,
                                 #dist.rule<axis = "seq", mesh = ["tp"], by = "ring_zigzag", layer = "h">]} {
  // CHECK-LABEL: func.func @moves
  func.func @moves() {
    // CHECK: tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3, partial = {tp : sum}>>
    %x = "test.source"() : () -> tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3, partial = {tp : sum}>>
    // CHECK: dist.reshard
    %r = dist.reshard %x : tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3, partial = {tp : sum}>>
        -> tensor<4x3xf32, #dist.layout<batch : 4, seq : 3>>
    // CHECK: dist.all_reduce {{.*}} {axes = ["tp"], cause = #dist.cause<kind = sums_over_split, operation = "einsum", axes = ["hidden"], rules = ["hidden -> tp"]>, op = "sum"}
    %a = dist.all_reduce %x {axes = ["tp"], op = "sum", cause = #dist.cause<operation = "einsum", kind = sums_over_split, axes = ["hidden"], rules = ["hidden -> tp"]>} : tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3, partial = {tp : sum}>>
        -> tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3>>
    // CHECK: dist.reduce_scatter {{.*}} {axes = ["tp"], dim = "seq", op = "sum"}
    %s = dist.reduce_scatter %x {axes = ["tp"], dim = "seq", op = "sum"}
        : tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3, partial = {tp : sum}>> -> tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq : 3 {tp}>>
    // CHECK: dist.all_gather {{.*}} {axes = ["tp"], dim = "seq"}
    %g = dist.all_gather %s {axes = ["tp"], dim = "seq"} : tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq : 3 {tp}>>
        -> tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3>>
    // CHECK: dist.slice {{.*}} {axes = ["tp"], dim = "seq"}
    %l = dist.slice %g {axes = ["tp"], dim = "seq"} : tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3>>
        -> tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq : 3 {tp}>>
    // CHECK: dist.all_to_all {{.*}} {axes = ["dp"], concat = "batch", split = "seq"}
    %t = dist.all_to_all %g {axes = ["dp"], concat = "batch", split = "seq"} : tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3>>
        -> tensor<4x2xf32, #dist.layout<batch : 4, seq : 3 {dp}>>
    // Two ranks' rows of 3 places for 4 entries: the ends are laid out like the rows.
    // CHECK: dist.all_to_all %{{.+}} ends(%{{.+}}, %{{.+}} : tensor<2x4xi32, {{.*}}>, tensor<4x2xi32, {{.*}}>) {axes = ["dp"], concat = "batch", filled = 5.000000e-01 : f64, places = 3 : i64, split = "row"}
    %rows = "test.source"() : () -> tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>>
    %given = "test.source"() : () -> tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>
    %taken = "test.source"() : () -> tensor<4x2xi32, #dist.layout<batch : 4, expert : 4 {dp}>>
    %e = dist.all_to_all %rows ends(%given, %taken : tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>, tensor<4x2xi32, #dist.layout<batch : 4, expert : 4 {dp}>>)
        {axes = ["dp"], concat = "batch", split = "row", places = 3 : i64, filled = 0.5 : f64} : tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>>
        -> tensor<4x3xf32, #dist.layout<batch : 4, row : 6 {dp}>>
    // CHECK: dist.permute {{.*}} {axes = ["tp"], shift = 2 : i64}
    %n = dist.permute %s {axes = ["tp"], shift = 2 : i64} : tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq : 3 {tp}>>
        -> tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq : 3 {tp}>>
    // CHECK: dist.mask_padding {{.*}} {dims = ["seq"]}
    %m = dist.mask_padding %t {dims = ["seq"]} : tensor<4x2xf32, #dist.layout<batch : 4, seq : 3 {dp}>>
    // The row-major piece of 12 elements, dealt out in blocks of 1,024.
    // CHECK: dist.slice {{.*}} {axes = ["dp"], dim = "#flat"} : {{.*}} -> tensor<1024xf32, #dist.layout<batch : 4, seq : 3, flat = {dp}>>
    %w = "test.source"() : () -> tensor<4x3xf32, #dist.layout<batch : 4, seq : 3>>
    %f = dist.slice %w {axes = ["dp"], dim = "#flat"} : tensor<4x3xf32, #dist.layout<batch : 4, seq : 3>>
        -> tensor<1024xf32, #dist.layout<batch : 4, seq : 3, flat = {dp}>>
    // CHECK: dist.all_gather {{.*}} {axes = ["dp"], dim = "#flat"}
    %h = dist.all_gather %f {axes = ["dp"], dim = "#flat"} : tensor<1024xf32, #dist.layout<batch : 4, seq : 3, flat = {dp}>>
        -> tensor<4x3xf32, #dist.layout<batch : 4, seq : 3>>
    // CHECK: dist.reduce_scatter {{.*}} : {{.*}} -> tensor<1024xf32, #dist.layout<batch : 4 {dp}, seq : 3, flat = {tp}>>
    %d = dist.reduce_scatter %x {axes = ["tp"], dim = "#flat", op = "sum"} : tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq : 3, partial = {tp : sum}>>
        -> tensor<1024xf32, #dist.layout<batch : 4 {dp}, seq : 3, flat = {tp}>>
    // Rows of two ranks, and the row that the other one has next to them.
    // CHECK: %[[E:.*]] = dist.edge {{.*}} of "seq" {axes = ["tp"], first = -1 : i64, shift = 2 : i64, spread = 1 : i64, step = 1 : i64} : {{.*}} -> tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq.edge : 3 {tp}>>
    %o = dist.edge %s of "seq" {axes = ["tp"], step = 1, first = -1, spread = 1, shift = 2} : tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq : 3 {tp}>>
        -> tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq.edge : 3 {tp}>>
    // CHECK: dist.halo {{.*}} of "seq" {axes = ["tp"], entries = 3 : i64, fill = 0xFFF0000000000000 : f64, first = -1 : i64, spread = 1 : i64, step = 1 : i64}
    %p = dist.halo %s of "seq" {axes = ["tp"], step = 1, first = -1, entries = 3, spread = 1, fill = 0xFFF0000000000000 : f64} :
        tensor<2x1xf32, #dist.layout<batch : 4 {dp}, seq : 3 {tp}>> -> tensor<2x3xf32, #dist.layout<batch : 4 {dp}, seq.near : 9 {tp}>>
    return
  }
}
