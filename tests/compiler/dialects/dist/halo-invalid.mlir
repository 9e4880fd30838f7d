// What the verifiers of dist.halo and dist.edge refuse (C1 to C3).
// RUN: npar-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{names axis "rows", which its operand lacks}}
  %y = dist.halo %x of "rows" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !x
}

// -----
!x = tensor<4x3xf32, #nn.axes<row, column>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{needs operand and result with a layout that is not flat}}
  %y = dist.halo %x of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !x
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{has the spread 0, the least is 1}}
  %y = dist.halo %x of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 0, fill = 0.0} : !x -> !x
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{runs over 'cp', which is no mesh axis}}
  %y = dist.halo %x of "row" {axes = ["cp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !x
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{names no mesh axis}}
  %y = dist.halo %x of "row" {axes = [], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !x
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<6x3xf32, #dist.layout<row.near : 12 {cp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2, cp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{has an operand whose axis "row" is not split over ["cp"]}}
  %y = dist.halo %x of "row" {axes = ["cp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
}

// -----
// A whole operand is cut; what is whole has no edge.
!x = tensor<8x3xf32, #dist.layout<row : 8, column : 3>>
!h = tensor<6x3xf32, #dist.layout<row.near : 12 {sp}, column : 3>>
!e = tensor<1x3xf32, #dist.layout<row.edge : 2 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  %h = dist.halo %x of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
  // expected-error @below {{has an operand whose axis "row" is not split over ["sp"]}}
  %e = dist.edge %x of "row" {axes = ["sp"], step = 4, first = -1, spread = 1, shift = 1} : !x -> !e
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<6x3xf32, #dist.layout<row : 12 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{has a result of type 'tensor<6x3xf32, #dist.layout<row : 12 {sp}, column : 3>>' for an operand of type 'tensor<4x3xf32,}}
  %y = dist.halo %x of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<6x3xf32, #dist.layout<row.near : 12 {sp}, column : 3>>
!e = tensor<1x3xf32, #dist.layout<row.edge : 2 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  %e = dist.edge %x of "row" {axes = ["sp"], step = 4, first = -1, spread = 1, shift = 1} : !x -> !e
  // expected-error @below {{has 2 edges where 1 ranks send one}}
  %y = dist.halo %x with %e, %e : !e, !e of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<8x3xf32, #dist.layout<row.near : 16 {sp}, column : 3>>
!e = tensor<1x3xf32, #dist.layout<row.edge : 2 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  %e = dist.edge %x of "row" {axes = ["sp"], step = 4, first = -2, spread = 1, shift = 1} : !x -> !e
  // expected-error-re @below {{has an edge of type {{.*}} for 2 entries}}
  %y = dist.halo %x with %e : !e of "row" {axes = ["sp"], step = 4, first = -2, entries = 8, spread = 1, fill = 0.0} : !x -> !h
}

// -----
!x = tensor<4x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<3xf32, #dist.layout<column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 2>} {
  %x = "test.source"() : () -> !x
  // expected-error @below {{has a result of type}}
  %y = dist.halo %x of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
}
