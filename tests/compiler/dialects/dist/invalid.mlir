// What the verifiers of the dist dialect refuse; one case per condition.
// RUN: npar-opt %s -allow-unregistered-dialect -split-input-file -verify-diagnostics

// expected-error @below {{mesh axis 'tp' is declared twice}}
module attributes {dist.mesh = #dist.mesh<tp = 2, tp = 3>} {}

// -----
// expected-error @below {{mesh axis 'tp' has size 0, not at least 1}}
module attributes {dist.mesh = #dist.mesh<tp = 0>} {}

// -----
// expected-error @below {{axis 'a' appears twice in a layout}}
module attributes {x = #dist.layout<a : 2, a : 2>} {}

// -----
// expected-error @below {{mesh axis 'tp' is used twice in a layout}}
module attributes {x = #dist.layout<a : 2 {tp}, partial = {tp : sum}>} {}

// -----
// expected-error @below {{partial kinds are all 'sum' or all 'max', not 'min'}}
module attributes {x = #dist.layout<a : 2, partial = {tp : min}>} {}

// -----
// expected-error @below {{a rule needs an axis}}
module attributes {x = #dist.rule<mesh = ["tp"]>} {}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
  // expected-error @below {{failed to satisfy constraint: 'sum' or 'max'}}
  %y = dist.all_reduce %x {axes = ["tp"], op = "min"} : tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>> -> tensor<4xf32, #dist.layout<a : 4>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
  // expected-error @below {{reduces with 'max' what is partial with the other kind}}
  %y = dist.all_reduce %x {axes = ["tp"], op = "max"} : tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>> -> tensor<4xf32, #dist.layout<a : 4>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4>>
  // expected-error @below {{reduces over 'tp', along which its operand is not partial}}
  %y = dist.all_reduce %x {axes = ["tp"], op = "sum"} : tensor<4xf32, #dist.layout<a : 4>> -> tensor<4xf32, #dist.layout<a : 4>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
  // expected-error @below {{runs over 'dp', which is no mesh axis}}
  %y = dist.all_reduce %x {axes = ["dp"], op = "sum"} : tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>> -> tensor<4xf32, #dist.layout<a : 4>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
  // expected-error @below {{has a result with layout #dist.layout<a : 4> where #dist.layout<a : 4 {tp}> follows from its operand}}
  %y = dist.reduce_scatter %x {axes = ["tp"], dim = "a", op = "sum"}
      : tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>> -> tensor<4xf32, #dist.layout<a : 4>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<2xf32, #dist.layout<a : 4 {tp}>>
  // expected-error @below {{has local size 3 of axis 'a' where its layout needs 4}}
  %y = dist.all_gather %x {axes = ["tp"], dim = "a"} : tensor<2xf32, #dist.layout<a : 4 {tp}>> -> tensor<3xf32, #dist.layout<a : 4>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2, dp = 2>} {
  %x = "test.source"() : () -> tensor<1xf32, #dist.layout<a : 4 {tp, dp}>>
  // expected-error @below {{gathers over mesh axes that are not the last splits of axis 'a'}}
  %y = dist.all_gather %x {axes = ["tp"], dim = "a"} : tensor<1xf32, #dist.layout<a : 4 {tp, dp}>> -> tensor<2xf32, #dist.layout<a : 4 {dp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
  // expected-error @below {{slices over 'tp', along which its operand is not replicated}}
  %y = dist.slice %x {axes = ["tp"], dim = "a"} : tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>> -> tensor<2xf32, #dist.layout<a : 4 {tp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4>>
  // expected-error @below {{names axis 'b', which its operand lacks}}
  %y = dist.slice %x {axes = ["tp"], dim = "b"} : tensor<4xf32, #dist.layout<a : 4>> -> tensor<2xf32, #dist.layout<a : 4 {tp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4>>
  // expected-error @below {{changes the logical axes of its operand}}
  %y = dist.reshard %x : tensor<4xf32, #dist.layout<a : 4>> -> tensor<4xf32, #dist.layout<b : 4>>
}

// -----
// A move is between layouts.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32>
  // expected-error @below {{needs operand and result with a layout}}
  %y = dist.slice %x {axes = ["tp"], dim = "a"} : tensor<4xf32> -> tensor<2xf32, #dist.layout<a : 4 {tp}>>
}

// -----
// A move converts nothing.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4>>
  // expected-error @below {{changes the element type from 'f32' to 'f64'}}
  %y = dist.slice %x {axes = ["tp"], dim = "a"} : tensor<4xf32, #dist.layout<a : 4>> -> tensor<2xf64, #dist.layout<a : 4 {tp}>>
}

// -----
// A collective runs over at least one mesh axis.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
  // expected-error @below {{names no mesh axis}}
  %y = dist.all_reduce %x {axes = [], op = "sum"}
      : tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>> -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
}

// -----
// A layout names axes of the mesh.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4>>
  // expected-error @below {{splits axis 'a' over 'dp', which is no mesh axis}}
  %y = dist.reshard %x : tensor<4xf32, #dist.layout<a : 4>> -> tensor<2xf32, #dist.layout<a : 4 {dp}>>
}

// -----
// A ring has an end.
module attributes {dist.mesh = #dist.mesh<cp = 2>} {
  %x = "test.source"() : () -> tensor<2xf32, #dist.layout<a : 4 {cp}>>
  // expected-error @below {{shifts by 2 places on a ring of 2}}
  %y = dist.permute %x {axes = ["cp"], shift = 2 : i64} : tensor<2xf32, #dist.layout<a : 4 {cp}>> -> tensor<2xf32, #dist.layout<a : 4 {cp}>>
}

// -----
// What moves on keeps its layout.
module attributes {dist.mesh = #dist.mesh<cp = 2>} {
  %x = "test.source"() : () -> tensor<2xf32, #dist.layout<a : 4 {cp}>>
  // expected-error @below {{has a result with layout}}
  %y = dist.permute %x {axes = ["cp"], shift = 1 : i64} : tensor<2xf32, #dist.layout<a : 4 {cp}>> -> tensor<4xf32, #dist.layout<a : 4>>
}

// -----
// expected-error @below {{mesh axis 'tp' is used twice in a layout}}
module attributes {x = #dist.layout<a : 2 {tp}, flat = {tp}>} {}

// -----
// Whole blocks, equally many on each rank.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<3000xf32, #dist.layout<a : 3000>>
  // expected-error @below {{has local size 1500 of axis '#flat' where its layout needs 2048}}
  %0 = dist.slice %x {axes = ["tp"], dim = "#flat"} : tensor<3000xf32, #dist.layout<a : 3000>> -> tensor<1500xf32, #dist.layout<a : 3000, flat = {tp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4>>
  // expected-error @below {{is flat over 'dp', which is no mesh axis}}
  %0 = dist.reshard %x : tensor<4xf32, #dist.layout<a : 4>> -> tensor<1024xf32, #dist.layout<a : 4, flat = {dp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>} {
  %x = "test.source"() : () -> tensor<1024xf32, #dist.layout<a : 4, flat = {tp}>>
  // expected-error @below {{moves axis 'a' of a flat operand}}
  %0 = dist.slice %x {axes = ["dp"], dim = "a"} : tensor<1024xf32, #dist.layout<a : 4, flat = {tp}>> -> tensor<1024xf32, #dist.layout<a : 4 {dp}, flat = {tp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>} {
  %x = "test.source"() : () -> tensor<1024xf32, #dist.layout<a : 4, flat = {dp, tp}>>
  // expected-error @below {{gathers over mesh axes that are not those over which its operand is flat}}
  %0 = dist.all_gather %x {axes = ["tp"], dim = "#flat"} : tensor<1024xf32, #dist.layout<a : 4, flat = {dp, tp}>> -> tensor<1024xf32, #dist.layout<a : 4, flat = {dp}>>
}

// -----
// Existing rows need ends for both sides, whole pieces, and ends that are laid out like the rows.
module attributes {dist.mesh = #dist.mesh<dp = 2>} {
  %rows = "test.source"() : () -> tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>>
  %given = "test.source"() : () -> tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>
  // expected-error @below {{has 1 tensors of ends and pieces of 3 places for 3 rows}}
  %0 = dist.all_to_all %rows ends(%given : tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>) {axes = ["dp"], concat = "batch", split = "row", places = 3 : i64}
      : tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>> -> tensor<4x3xf32, #dist.layout<batch : 4, row : 6 {dp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<dp = 2>} {
  %rows = "test.source"() : () -> tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>>
  %given = "test.source"() : () -> tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>
  %taken = "test.source"() : () -> tensor<4x2xi32, #dist.layout<batch : 4, expert : 4 {dp}>>
  // expected-error @below {{has 2 tensors of ends and pieces of 2 places for 3 rows}}
  %0 = dist.all_to_all %rows ends(%given, %taken : tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>, tensor<4x2xi32, #dist.layout<batch : 4, expert : 4 {dp}>>) {axes = ["dp"], concat = "batch", split = "row", places = 2 : i64}
      : tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>> -> tensor<4x3xf32, #dist.layout<batch : 4, row : 6 {dp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<dp = 2>} {
  %rows = "test.source"() : () -> tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>>
  %given = "test.source"() : () -> tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>
  // expected-error @below {{has ends of layout #dist.layout<batch : 4 {dp}, expert : 4> for rows of layout #dist.layout<batch : 4, row : 6 {dp}>}}
  %0 = dist.all_to_all %rows ends(%given, %given : tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>, tensor<2x4xi32, #dist.layout<batch : 4 {dp}, expert : 4>>) {axes = ["dp"], concat = "batch", split = "row", places = 3 : i64}
      : tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>> -> tensor<4x3xf32, #dist.layout<batch : 4, row : 6 {dp}>>
}

// -----
module attributes {dist.mesh = #dist.mesh<dp = 2>} {
  %rows = "test.source"() : () -> tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>>
  %ends = "test.source"() : () -> tensor<4xi32, #dist.layout<expert : 4>>
  // expected-error @below {{has ends of type 'tensor<4xi32, #dist.layout<expert : 4>>' for rows along dimension 1}}
  %0 = dist.all_to_all %rows ends(%ends, %ends : tensor<4xi32, #dist.layout<expert : 4>>, tensor<4xi32, #dist.layout<expert : 4>>) {axes = ["dp"], concat = "batch", split = "row", places = 3 : i64}
      : tensor<2x6xf32, #dist.layout<batch : 4 {dp}, row : 6>> -> tensor<4x3xf32, #dist.layout<batch : 4, row : 6 {dp}>>
}

// -----
// expected-error @below {{C1: a cause has 1 axes and 0 rules}}
module attributes {x = #dist.cause<kind = sums_over_split, axes = ["a"]>} {}

// -----
// expected-error @below {{C1: axes and rules of a cause are texts, not 1}}
module attributes {x = #dist.cause<kind = sums_over_split, axes = [1], rules = ["r"]>} {}

// -----
// expected-error @+2 {{'bored' is none of none, sums_over_split}}
// expected-error @+1 {{failed to parse Dist_CauseAttr parameter 'kind'}}
module attributes {x = #dist.cause<kind = bored>} {}
