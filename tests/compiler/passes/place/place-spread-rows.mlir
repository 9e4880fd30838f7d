// Rows whose experts are split get a piece for each rank: ranges, places and sources count from its beginning, and what meets the rows follows.
// RUN: npar-opt %s -split-input-file -verify-diagnostics -place-spread-rows | FileCheck %s

!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x5xf32, #nn.axes<expert, embed, other>>
!bias = tensor<6x5xf32, #nn.axes<expert, other>>
!made = tensor<2x16x5xf32, #nn.axes<batch, row, other>>
!back = tensor<2x8x5xf32, #nn.axes<batch, seq, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

module attributes {dist.mesh = #dist.mesh<ep = 3>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"], by = "all_to_all">]} {
  // CHECK-LABEL: func.func @micro
  // CHECK: %[[SENT:.+]] = nn.dispatch {{.*}} to "expert.rows.row.local" {{.*}} -> tensor<2x48x4xf32, #nn.axes<batch, expert.rows.row.local, embed>>
  // CHECK: %[[ROWS:.+]] = nn.rename %[[SENT]] ends %[[LAST:.+]] from "expert.rows.row.local" to "expert.rows.row" {at = {{.*}}, filled = 0.33333333333333331 : f64, places = 16 : i64}
  // CHECK: %[[MADE:.+]] = nn.grouped %[[ROWS]], %{{.+}}, %[[FIRST:.+]], %[[LAST]] of "expert" along "expert.rows.row" {at = {{.*}}, pieces = 3 : i64}
  // CHECK: %[[BIAS:.+]] = nn.gather %{{.+}}, %{{.+}} over "expert" {{.*}} -> tensor<2x48x5xf32, #nn.axes<batch, expert.rows.row, other>>
  // CHECK: %[[SUM:.+]] = nn.add %[[MADE]], %[[BIAS]] {{.*}} -> tensor<2x48x5xf32
  // CHECK: %[[BACK:.+]] = nn.rename %[[SUM]] ends %[[LAST]] from "expert.rows.row" to "expert.rows.row.local"
  // CHECK: nn.collect %[[BACK]], {{.*}} of "expert.rows.row.local"
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %b = nn.input "b" {at = #nn.at<F, "m", 0>} : !bias
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %owner = nn.input "owner" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %first = nn.input "first" {at = #nn.at<F, "m", 0>} : !range
    %last = nn.input "last" {at = #nn.at<F, "m", 0>} : !range
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
    %made = nn.grouped %rows, %w, %first, %last of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    %each = nn.gather %b, %owner over "expert" {at = #nn.at<F, "m", 0>} : (!bias, !source) -> !made
    %sum = nn.add %made, %each {at = #nn.at<F, "m", 0>} : (!made, !made) -> !made
    %back = nn.collect %sum, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    return
  }
}

// -----
!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x5xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x16x5xf32, #nn.axes<batch, row, other>>
!back = tensor<2x8x5xf32, #nn.axes<batch, seq, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

// Ranks with the same samples send nothing: each has the rows of its own experts, and results are partial sums. An expert gets each position
// once if choices differ, so its piece has 8 rows. A rule on the products counts for their rows.
module attributes {dist.mesh = #dist.mesh<ep = 6>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"], op = "grouped">]} {
  // CHECK-LABEL: func.func @micro
  // CHECK: %[[ROWS:.+]] = nn.dispatch {{.*}} to "expert.rows.row" {{.*}} -> tensor<2x48x4xf32, #nn.axes<batch, expert.rows.row, embed>>
  // CHECK: %[[MADE:.+]] = nn.grouped %[[ROWS]], {{.*}} {at = {{.*}}, filled = 0.33333333333333331 : f64, pieces = 6 : i64}
  // CHECK: nn.collect %[[MADE]], {{.*}} of "expert.rows.row"
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %range = nn.input "range" {at = #nn.at<F, "m", 0>} : !range
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>, distinct = true} : (!x, !source, !place) -> !rows
    %made = nn.grouped %rows, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    %back = nn.collect %made, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    return
  }
}

// -----
!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x5xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x16x5xf32, #nn.axes<batch, row, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

// Rows have one set of pieces.
module attributes {dist.mesh = #dist.mesh<ep = 3>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"], layer = "m">]} {
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %range = nn.input "range" {at = #nn.at<F, "m", 0>} : !range
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
    %a = nn.grouped %rows, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    // expected-error @+1 {{rows whose experts are split over 3 ranks meet experts that are split over 1: give all products of these rows the same rule}}
    %b = nn.grouped %rows, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "other", 0>} : (!rows, !w, !range, !range) -> !made
    return
  }
}

// -----
!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x5xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x16x5xf32, #nn.axes<batch, row, other>>
!back = tensor<2x8x5xf32, #nn.axes<batch, seq, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

// A balanced load is 5.33 rows of a sample on each rank. A buffer for 1.5 times as many, 8, takes two rounds for up to 16 rows: first what the
// first 8 rows of each piece become, then the others. What is defined after the first round's place moves before it.
module attributes {dist.mesh = #dist.mesh<ep = 3>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"], by = "all_to_all">],
                   npar.experts = {buffer = 1.5}} {
  // CHECK-LABEL: func.func @micro
  // CHECK: %[[BIAS:.+]] = nn.input "b"
  // CHECK: %[[SENT:.+]] = nn.dispatch {{.*}} to "expert.rows.row.local" {{.*}}npar.round = array<i64: 0, 0>{{.*}} -> tensor<2x24x4xf32, #nn.axes<batch, expert.rows.row.local, embed>>
  // CHECK: %[[ROWS:.+]] = nn.rename %[[SENT]] ends %{{.+}} from "expert.rows.row.local" to "expert.rows.row"
  // CHECK: %[[MADE:.+]] = nn.grouped %[[ROWS]], %{{.+}}, %[[FIRST:.+]], %[[LAST:.+]] of "expert" along "expert.rows.row" {at = {{.*}}, filled = 0.66666666666666663 : f64, npar.round = array<i64: 0, 0>, offset = 0 : i64, pieces = 3 : i64}
  // CHECK: %[[SCALED:.+]] = nn.mul %[[MADE]], %[[BIAS]]
  // CHECK: %[[BACK:.+]] = nn.collect
  // CHECK: nn.grouped {{.*}}, %[[FIRST]], %[[LAST]] of {{.*}}filled = 0.000000e+00 : f64, npar.round = array<i64: 0, 1>, offset = 8 : i64
  // CHECK: nn.mul
  // CHECK: %[[LATER:.+]] = nn.collect
  // CHECK: %[[SUM:.+]] = nn.add %[[BACK]], %[[LATER]] {at = {{.*}}, npar.round = array<i64: 0, 1>}
  // CHECK-NOT: npar.round
  // CHECK: nn.relu %[[SUM]]
  // CHECK-NOT: nn.grouped
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %first = nn.input "first" {at = #nn.at<F, "m", 0>} : !range
    %last = nn.input "last" {at = #nn.at<F, "m", 0>} : !range
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
    %made = nn.grouped %rows, %w, %first, %last of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    %one = nn.collect %made, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    %b = nn.input "b" {at = #nn.at<F, "m", 0>} : tensor<5xf32, #nn.axes<other>>
    %scaled = nn.mul %made, %b {at = #nn.at<F, "m", 0>} : (!made, tensor<5xf32, #nn.axes<other>>) -> !made
    %back = nn.collect %scaled, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    %used = nn.relu %back {at = #nn.at<F, "m", 0>} : (!back) -> !back
    return
  }
}

// -----
!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x4xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x16x4xf32, #nn.axes<batch, row, other>>
!back = tensor<2x8x4xf32, #nn.axes<batch, seq, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

// Rows that meet what all rows of the same choice have become cannot come in rounds.
module attributes {dist.mesh = #dist.mesh<ep = 3>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"]>], npar.experts = {buffer = 1.0}} {
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %range = nn.input "range" {at = #nn.at<F, "m", 0>} : !range
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
    %made = nn.grouped %rows, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    // expected-note @+1 {{the other rows are combined here}}
    %back = nn.collect %made, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    // expected-note @+2 {{help: remove `experts buffer` from the plan}}
    // expected-error @+1 {{rows of experts depend here on what other rows of the same choice become: a buffer for some of the rows at a time needs all of these first}}
    %again = nn.dispatch %back, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!back, !source, !place) -> !made
    %sum = nn.add %made, %again {at = #nn.at<F, "m", 0>} : (!made, !made) -> !made
    %end = nn.collect %sum, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    return
  }
}

// -----
!x = tensor<2x128x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x256x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x256xi32, #nn.axes<batch, row>>
!place = tensor<2x128x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x4xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x256x4xf32, #nn.axes<batch, row, other>>
!back = tensor<2x128x4xf32, #nn.axes<batch, seq, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

// Each round has ops of its own, so there are not any number of them.
module attributes {dist.mesh = #dist.mesh<ep = 2>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"]>], npar.experts = {buffer = 0.01}} {
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %range = nn.input "range" {at = #nn.at<F, "m", 0>} : !range
    // expected-note @+2 {{help: reserve at least 0.0313 times}}
    // expected-error @+1 {{a buffer of 0.01 times the rows of a balanced load needs 200 rounds in layer 'm', at most 64 are possible}}
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
    %made = nn.grouped %rows, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    %back = nn.collect %made, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    return
  }
}

// -----
!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x4xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x16x4xf32, #nn.axes<batch, row, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

// Nor can rows that a loss adds up.
module attributes {dist.mesh = #dist.mesh<ep = 3>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"]>], npar.experts = {buffer = 1.0}} {
  nn.variable @"#out.loss.sum" : tensor<f32, #nn.axes<>> {kind = #nn.kind<accumulator>}
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %range = nn.input "range" {at = #nn.at<F, "m", 0>} : !range
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
    %made = nn.grouped %rows, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    // expected-note @+2 {{help: remove `experts buffer` from the plan}}
    // expected-error @+1 {{rows of experts that come in rounds can only be combined, and this uses them in another way}}
    %sum = nn.sum %made {at = #nn.at<F, "m", 0>} : (!made) -> tensor<f32, #nn.axes<>>
    nn.accumulate @"#out.loss.sum", %sum {at = #nn.at<F, "m", 0>} : tensor<f32, #nn.axes<>>
    return
  }
}

// -----
!x = tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
!rows = tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
!w = tensor<6x4x4xf32, #nn.axes<expert, embed, other>>
!made = tensor<2x16x4xf32, #nn.axes<batch, row, other>>
!back = tensor<2x8x4xf32, #nn.axes<batch, seq, other>>
!range = tensor<2x6xi32, #nn.axes<batch, expert>>

// Choices that may be equal need more rows than others: an axis of another size has another name.
module attributes {dist.mesh = #dist.mesh<ep = 6>, dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"]>]} {
  // CHECK-LABEL: func.func @micro
  // CHECK: nn.collect {{.*}} of "expert.rows.row" {{.*}}(tensor<2x48x4xf32
  // CHECK: nn.collect {{.*}} of "expert.rows.row.96" {{.*}}(tensor<2x96x4xf32
  func.func @micro() {
    %x = nn.input "x" {at = #nn.at<F, "m", 0>} : !x
    %w = nn.input "w" {at = #nn.at<F, "m", 0>} : !w
    %source = nn.input "source" {at = #nn.at<F, "m", 0>} : !source
    %other = nn.input "other" {at = #nn.at<F, "m", 0>} : !source
    %place = nn.input "place" {at = #nn.at<F, "m", 0>} : !place
    %range = nn.input "range" {at = #nn.at<F, "m", 0>} : !range
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" {at = #nn.at<F, "m", 0>, distinct = true} : (!x, !source, !place) -> !rows
    %made = nn.grouped %rows, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    %back = nn.collect %made, %source, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    %more = nn.dispatch %x, %other, %place along "seq" to "row" {at = #nn.at<F, "m", 0>} : (!x, !source, !place) -> !rows
    %large = nn.grouped %more, %w, %range, %range of "expert" along "row" {at = #nn.at<F, "m", 0>} : (!rows, !w, !range, !range) -> !made
    %end = nn.collect %large, %other, %place along "seq" of "row" {at = #nn.at<F, "m", 0>} : (!made, !source, !place) -> !back
    return
  }
}
