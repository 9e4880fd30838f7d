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
