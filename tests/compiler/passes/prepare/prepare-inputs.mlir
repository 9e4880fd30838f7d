// The values that an input may have: entries of the shortest axis that is looked up with them; none where nothing looks anything up.
// RUN: npar-opt %s -split-input-file -prepare-inputs | FileCheck %s

!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!x = tensor<2x4x3xf32, #nn.axes<batch, seq, embed>>
!l = tensor<2x4xf32, #nn.axes<batch, seq>>
// CHECK: #[[PLACE:.+]] = loc("m.npar":3:12)
// CHECK: npar.inputs = [{axis = "words", classes = 5 : i64, name = "tokens", source = #[[PLACE]]},
// CHECK-SAME: {axis = "labels", classes = 7 : i64, name = "targets"}]
// CHECK-NOT: nn.axis_lines
module attributes {nn.axis_lines = {words = loc("m.npar":3:12), many = loc("m.npar":4:1)}} {
func.func @micro(%many: tensor<9x3xf32, #nn.axes<many, embed>>, %words: tensor<5x3xf32, #nn.axes<words, embed>>,
                 %logits: tensor<2x4x7xf32, #nn.axes<batch, seq, labels>>) {
  %tokens = nn.input "tokens" : !t
  %targets = nn.input "targets" : !t
  %a = nn.gather %many, %tokens over "many" : (tensor<9x3xf32, #nn.axes<many, embed>>, !t) -> !x
  %b = nn.gather %words, %tokens over "words" : (tensor<5x3xf32, #nn.axes<words, embed>>, !t) -> !x
  %loss, %lse = nn.cross_entropy %logits, %targets over "labels" : (tensor<2x4x7xf32, #nn.axes<batch, seq, labels>>, !t) -> (!l, !l)
  return
}
}

// -----

!t = tensor<2x4xi32, #nn.axes<batch, seq>>
// CHECK: npar.inputs = [{axis = "", classes = 0 : i64, name = "tokens"}]
module {
func.func @micro() {
  %positions = nn.input "tokens" : !t
  %y = nn.sinusoid %positions along "half" base 10000.0 wave "cos" : (!t) -> tensor<2x4x3xf32, #nn.axes<batch, seq, half>>
  return
}
}
