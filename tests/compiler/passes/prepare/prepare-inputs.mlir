// What the engine has to know of inputs: their values are entries of the shortest axis that is looked up with them, any where nothing looks
// anything up; what a stream of tokens gives them; types and shapes of a batch.
// RUN: npar-opt %s -split-input-file -prepare-inputs -verify-diagnostics | FileCheck %s

!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!x = tensor<2x4x3xf32, #nn.axes<batch, seq, embed>>
!l = tensor<2x4xf32, #nn.axes<batch, seq>>
// CHECK: #[[PLACE:.+]] = loc("m.npar":3:12)
// CHECK: npar.inputs = [{axis = "words", classes = 5 : i64, name = "a", role = "stream", source = #[[PLACE]], type = tensor<2x4xi32, #nn.axes<batch, seq>>},
// CHECK-SAME: {axis = "labels", classes = 7 : i64, ignore = -100 : i64, name = "b", role = "shifted", type = tensor<2x4xi32, #nn.axes<batch, seq>>}]
// CHECK-NOT: nn.axis_lines
module attributes {nn.axis_lines = {words = loc("m.npar":3:12), many = loc("m.npar":4:1)}} {
func.func @micro(%many: tensor<9x3xf32, #nn.axes<many, embed>>, %words: tensor<5x3xf32, #nn.axes<words, embed>>,
                 %logits: tensor<2x4x7xf32, #nn.axes<batch, seq, labels>>) {
  %tokens = nn.input "a" : !t
  %targets = nn.input "b" : !t
  %a = nn.gather %many, %tokens over "many" : (tensor<9x3xf32, #nn.axes<many, embed>>, !t) -> !x
  %b = nn.gather %words, %tokens over "words" : (tensor<5x3xf32, #nn.axes<words, embed>>, !t) -> !x
  %loss, %lse = nn.cross_entropy %logits, %targets over "labels" ignore -100 : (tensor<2x4x7xf32, #nn.axes<batch, seq, labels>>, !t) -> (!l, !l)
  return
}
}

// -----

// The only input is the stream, also where it is compared with.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
// CHECK: npar.inputs = [{axis = "", classes = 0 : i64, name = "tokens", role = "stream", type = tensor<2x4xi32, #nn.axes<batch, seq>>}]
module {
func.func @micro() {
  %positions = nn.input "tokens" : !t
  %y = nn.sinusoid %positions along "half" base 10000.0 wave "cos" : (!t) -> tensor<2x4x3xf32, #nn.axes<batch, seq, half>>
  return
}
}

// -----

// Two that may be the stream: neither is. The types are those of a batch.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!x = tensor<2x4x3xf64, #nn.axes<batch, seq, embed>>
!w = tensor<5x3xf64, #nn.axes<words, embed>>
// CHECK: npar.inputs = [{axis = "words", classes = 5 : i64, name = "tokens", type = tensor<2x4xi32, #nn.axes<batch, seq>>},
// CHECK-SAME: {axis = "words", classes = 5 : i64, name = "segments", type = tensor<2x4xi8, #nn.axes<batch, seq>>},
// CHECK-SAME: {axis = "", classes = 0 : i64, name = "x", type = tensor<2x4x3xf32, #nn.axes<batch, seq, embed>>}]
module {
func.func @micro(%words: !w) {
  %tokens = nn.input "tokens" : !t
  %segments = nn.input "segments" of i8 : !t
  %x = nn.input "x" of f32 : !x
  %a = nn.gather %words, %tokens over "words" : (!w, !t) -> !x
  %b = nn.gather %words, %segments over "words" : (!w, !t) -> !x
  %c = nn.add %a, %x : (!x, !x) -> !x
  return
}
}

// -----

// A loss that compares with 0 and 1 says so itself, at its place; a shorter axis counts before it, and what has no bound says nothing.
!t = tensor<2xi32, #nn.axes<batch>>
!f = tensor<2xf32, #nn.axes<batch>>
// CHECK: #[[LOSS:.+]] = loc("m.npar":7:9)
// CHECK: npar.inputs = [{axis = "", classes = 2 : i64, name = "truth", source = #[[LOSS]], type = tensor<2xi32, #nn.axes<batch>>},
// CHECK-SAME: {axis = "one", classes = 1 : i64, name = "both", type = tensor<2xi32, #nn.axes<batch>>},
// CHECK-SAME: {axis = "", classes = 0 : i64, name = "free", type = tensor<2xi32, #nn.axes<batch>>}]
module {
func.func @micro(%one: tensor<1xf32, #nn.axes<one>>) {
  %truth = nn.input "truth" : !t
  %both = nn.input "both" : !t
  %free = nn.input "free" : !t
  %a = nn.to_float %truth {below = 2 : i64} : (!t) -> !f loc("m.npar":7:9)
  %b = nn.to_float %both {below = 2 : i64} : (!t) -> !f
  %c = nn.gather %one, %both over "one" : (tensor<1xf32, #nn.axes<one>>, !t) -> !f
  %d = nn.to_float %free : (!t) -> !f
  return
}
}

// -----

// What the loss ignores would be looked up in the table.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!x = tensor<2x4x3xf32, #nn.axes<batch, seq, embed>>
!l = tensor<2x4xf32, #nn.axes<batch, seq>>
func.func @micro(%words: tensor<5x3xf32, #nn.axes<words, embed>>, %logits: tensor<2x4x7xf32, #nn.axes<batch, seq, labels>>) {
  // expected-note @+1 {{help: use a separate input for the loss's targets, or ignore one of 0 to 4}}
  %t = nn.input "tokens" : !t
  // expected-error @+1 {{input 'tokens' is looked up here on axis 'words' of size 5, but can have the value 6, which the loss ignores}}
  %x = nn.gather %words, %t over "words" : (tensor<5x3xf32, #nn.axes<words, embed>>, !t) -> !x
  %loss, %lse = nn.cross_entropy %logits, %t over "labels" ignore 6 : (tensor<2x4x7xf32, #nn.axes<batch, seq, labels>>, !t) -> (!l, !l)
  return
}
