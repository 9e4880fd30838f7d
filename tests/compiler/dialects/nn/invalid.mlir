// What the types, attributes and verifiers of the dialect refuse, with the reason.
// RUN: npar-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{axis 'batch' appears twice in one tensor}}
func.func private @f(tensor<2x2xf32, #nn.axes<batch, batch>>)

// -----

// expected-error @+1 {{tensor of rank 2 has 1 axis names}}
func.func private @f(tensor<2x2xf32, #nn.axes<batch>>)

// -----

// expected-error @+1 {{axis 'seq' must have a positive static size}}
func.func private @f(tensor<2x?xf32, #nn.axes<batch, seq>>)

// -----

// expected-error @+1 {{'glorot' is none of zeros, ones, normal, constant, uniform}}
#i = #nn.init<glorot, 1.0>

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{must be floating-point tensor with named axes}}
  %0 = nn.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x, %y: tensor<5xf32, #nn.axes<embed>>) {
  // expected-error @+1 {{axis 'embed' has size 4 in operand 0 but 5 in operand 1}}
  %0 = nn.add %x, %y : (!x, tensor<5xf32, #nn.axes<embed>>) -> !x
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x) {
  // expected-error @+1 {{axis 'embed' has size 4 in operand 0 but 2 in result 0}}
  %0 = nn.exp %x : (!x) -> tensor<2x2xf32, #nn.axes<batch, embed>>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x) {
  // expected-error @+1 {{the axes of the result and the operand must have the same order}}
  %0 = nn.exp %x : (!x) -> tensor<4x2xf32, #nn.axes<embed, batch>>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x, %y: tensor<3xf32, #nn.axes<seq>>) {
  // expected-error @+1 {{axis 'seq' of operand 1 is missing in the result}}
  %0 = nn.mul %x, %y : (!x, tensor<3xf32, #nn.axes<seq>>) -> !x
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x, %y: tensor<2x4xf64, #nn.axes<batch, embed>>) {
  // expected-error @+1 {{element type 'f64' of tensor 1 differs from 'f32' of the first}}
  %0 = nn.mul %x, %y : (!x, tensor<2x4xf64, #nn.axes<batch, embed>>) -> !x
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x) {
  // expected-error @+1 {{axis 'hidden' of the result appears in no operand}}
  %0 = nn.einsum %x, %x : (!x, !x) -> tensor<2x8xf32, #nn.axes<batch, hidden>>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x) {
  // expected-error @+1 {{axis 'seq' of the result is missing in the operand}}
  %0 = nn.sum %x : (!x) -> tensor<3xf32, #nn.axes<seq>>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x) {
  // expected-error @+1 {{axis 'batch' of the operand is missing in the result}}
  %0 = nn.broadcast %x : (!x) -> tensor<4x3xf32, #nn.axes<embed, seq>>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x) {
  // expected-error @+1 {{approximate must be "none" or "tanh", not "fast"}}
  %0 = nn.gelu %x {approximate = "fast"} : (!x) -> !x
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x) {
  // expected-error @+1 {{rate 1.000000e+00 is outside [0, 1)}}
  %0 = nn.dropout %x {rate = 1.0, site = "s"} : (!x) -> !x
  return
}

// -----

!w = tensor<30x4xf32, #nn.axes<vocab, embed>>
func.func @f(%dy: tensor<4xf32, #nn.axes<embed>>, %i: tensor<4xi32, #nn.axes<embed>>) {
  // expected-error @+1 {{axis 'embed' is in both the table and the index}}
  %0 = nn.scatter_add %i, %dy over "vocab" : (tensor<4xi32, #nn.axes<embed>>, tensor<4xf32, #nn.axes<embed>>) -> !w
  return
}

// -----

!w = tensor<30x4xf32, #nn.axes<vocab, embed>>
func.func @f(%w: !w, %i: tensor<8xi32, #nn.axes<seq>>) {
  // expected-error @+1 {{the table has no axis 'position'}}
  %0 = nn.gather %w, %i over "position" : (!w, tensor<8xi32, #nn.axes<seq>>) -> tensor<8x4xf32, #nn.axes<seq, embed>>
  return
}

// -----

!p = tensor<3x4xf32, #nn.axes<part, embed>>
func.func @f(%p: !p) {
  // expected-error @+1 {{index 3 is outside axis 'part' of size 3}}
  %0 = nn.select %p at "part"[3] : (!p) -> tensor<4xf32, #nn.axes<embed>>
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
func.func @f(%e: !e) {
  // expected-error @+1 {{has 2 operands but axis 'part' has size 3}}
  %0 = nn.stack %e, %e along "part" : (!e, !e) -> tensor<3x4xf32, #nn.axes<part, embed>>
  return
}

// -----

!e = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%e: !e) {
  // expected-error @+1 {{axis 'batch' became 'seq'}}
  %0 = nn.rename %e from "embed" to "key" : (!e) -> tensor<2x4xf32, #nn.axes<seq, key>>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs a result of exactly 1 axis, not 2}}
  %0 = nn.index : tensor<2x4xi32, #nn.axes<batch, seq>>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
!b = tensor<2xf32, #nn.axes<batch>>
func.func @f(%x: !x, %b: !b) {
  // expected-error @+1 {{gamma and beta must have exactly the axis 'embed'}}
  %y, %m, %r = nn.layer_norm %x, %b, %b over "embed" epsilon 1.0e-5 : (!x, !b, !b) -> (!x, !b, !b)
  return
}

// -----

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!k = tensor<2x7x4x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x7xf32, #nn.axes<batch, head, seq, key>>
func.func @f(%h: !h, %k: !k) {
  // expected-error @+1 {{axis 'seq' has size 8 but its alias 'key' has 7}}
  %o, %p = nn.attention %h, %k, %k {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!h, !k, !k) -> (!h, !p)
  return
}

// -----

!l = tensor<2x30xf32, #nn.axes<batch, vocab>>
!t = tensor<2x30xi32, #nn.axes<batch, vocab>>
!b = tensor<2xf32, #nn.axes<batch>>
func.func @f(%l: !l, %t: !t) {
  // expected-error @+1 {{targets, loss and lse must not have axis 'vocab'}}
  %loss, %lse = nn.cross_entropy %l, %t over "vocab" : (!l, !t) -> (!b, !b)
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{unknown variable 'w'}}
  %0 = nn.read @w : tensor<4xf32, #nn.axes<embed>>
  return
}

// -----

// expected-note @+1 {{declared here}}
nn.variable @w : tensor<4xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
func.func @f() {
  // expected-error @+1 {{has type 'tensor<5xf32, #nn.axes<embed>>' but variable 'w' has 'tensor<4xf32, #nn.axes<embed>>'}}
  %0 = nn.read @w : tensor<5xf32, #nn.axes<embed>>
  return
}

// -----

nn.variable @w : tensor<4xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
func.func @f(%g: tensor<4xf32, #nn.axes<embed>>) {
  // expected-error @+1 {{variable 'w' is no accumulator}}
  nn.accumulate @w, %g : tensor<4xf32, #nn.axes<embed>>
  return
}

// -----

// expected-error @+1 {{of kind parameter needs the attribute 'stored'}}
nn.variable @w : tensor<4xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, init = #nn.init<zeros>, index = 0 : i64}

// -----

// expected-error @+1 {{of kind output must be an f64 or a list of them}}
nn.variable @w : tensor<4xf32, #nn.axes<embed>> {kind = #nn.kind<output>, output = "loss"}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %h: tensor<4xf32, #nn.axes<hidden>>, %s: !s) {
  // expected-error @+1 {{axis 'hidden' of each operand is missing in the result}}
  %0 = nn.renew %e, %h, %s : (!e, tensor<4xf32, #nn.axes<hidden>>, !s) -> !e
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
func.func @f(%g: !e) {
  // expected-error @+1 {{has 1 operands but 2 parameters}}
  %0 = nn.square_sums %g parameters [0, 1] : (!e) -> tensor<56xf64, #nn.axes<bin>>
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
func.func @f(%g: !e) {
  // expected-error @+1 {{parameter 0 appears twice}}
  %0 = nn.square_sums %g, %g parameters [0, 0] : (!e, !e) -> tensor<56xf64, #nn.axes<bin>>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{schedule must be one of constant, linear, cosine, step, exponential, not "polynomial"}}
  %0 = nn.learning_rate "polynomial" {final = 0.0, peak = 0.001, steps = 100, warmup = 10} : tensor<f64, #nn.axes<>>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{changes the rate every 0 steps, it must be at least 1}}
  %0 = nn.learning_rate "step" {final = 0.0, peak = 0.001, steps = 0, warmup = 10, factor = 0.5, every = 0} : tensor<f64, #nn.axes<>>
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{formula: 'm' is no number and no name that is known}}
  %0 = nn.optimize %e, %e, %s, %s {names = ["w", "g", "lr"], definitions = [], formulas = ["sub(w, mul(lr, m))"]} : (!e, !e, !s, !s) -> !e
  return
}

// -----

// An axis name is never empty.
// expected-error @+1 {{axis 1 has an empty name}}
func.func private @f(tensor<2x2xf32, #nn.axes<batch, "">>)

// -----

// The rows of a gather have no axes of their own.
!w = tensor<30x4xf32, #nn.axes<vocab, embed>>
func.func @f(%w: !w, %i: tensor<8xi32, #nn.axes<seq>>) {
  // expected-error @+1 {{axis 'batch' of the rows is in neither the table nor the index}}
  %0 = nn.gather %w, %i over "vocab" : (!w, tensor<8xi32, #nn.axes<seq>>) -> tensor<2x8x4xf32, #nn.axes<batch, seq, embed>>
  return
}

// -----

// Nothing to combine is no gradient.
func.func @f() {
  // expected-error @+1 {{needs at least 1 operand}}
  %0 = "nn.combine"() : () -> tensor<4xf32, #nn.axes<embed>>
  return
}

// -----

// The sums of squares are in bins.
!e = tensor<4xf32, #nn.axes<embed>>
func.func @f(%g: !e) {
  // expected-error @+1 {{the result must be 56 f64 values}}
  %0 = nn.square_sums %g parameters [0] : (!e) -> tensor<3xf64, #nn.axes<bin>>
  return
}

// -----

// They are summed in f64.
!e = tensor<4xf32, #nn.axes<embed>>
func.func @f(%g: !e) {
  // expected-error @+1 {{the result must be 56 f64 values}}
  %0 = nn.square_sums %g parameters [0] : (!e) -> tensor<56xf32, #nn.axes<bin>>
  return
}

// -----

// The norm takes the sums as they were summed.
func.func @f(%s: tensor<56xf32, #nn.axes<bin>>) {
  // expected-error @+1 {{needs a vector of f64 values}}
  %0 = nn.grad_norm %s : (tensor<56xf32, #nn.axes<bin>>) -> tensor<f64, #nn.axes<>>
  return
}

// -----

// A state that is written is also read.
!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{has 2 results but 2 formulas and 0 operands of its own}}
  %0, %1 = nn.optimize %e, %e, %s {names = ["w", "g"], definitions = [], formulas = ["sub(w, g)", "g"]} : (!e, !e, !s) -> (!e, !e)
  return
}

// -----

// A rename keeps the number of axes.
!e = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%e: !e) {
  // expected-error @+1 {{the operand has 2 axes but the result 1}}
  %0 = nn.rename %e from "embed" to "key" : (!e) -> tensor<4xf32, #nn.axes<key>>
  return
}

// -----

// A rename keeps the sizes.
!e = tensor<2x4xf32, #nn.axes<batch, embed>>
func.func @f(%e: !e) {
  // expected-error @+1 {{axis 'key' has size 4 in operand 0 but 5 in result 0}}
  %0 = nn.rename %e from "embed" to "key" : (!e) -> tensor<2x5xf32, #nn.axes<batch, key>>
  return
}

// -----

// A table's gradient does not add up in 16 bits.
!i = tensor<2xi32, #nn.axes<batch>>
!dy = tensor<2x4xbf16, #nn.axes<batch, embed>>
func.func @f(%i: !i, %dy: !dy) {
  // expected-error @+1 {{sums in f32 or wider, not in 'bf16'}}
  %0 = nn.scatter_add %i, %dy over "vocab" : (!i, !dy) -> tensor<3x4xbf16, #nn.axes<vocab, embed>>
  return
}

// -----

func.func @f(%i: tensor<8xi32, #nn.axes<seq>>) {
  // expected-error @+1 {{wave must be "cos" or "sin", not "tan"}}
  %0 = nn.sinusoid %i along "half" base 10.0 wave "tan" : (tensor<8xi32, #nn.axes<seq>>) -> tensor<8x4xf32, #nn.axes<seq, half>>
  return
}

// -----

func.func @f(%i: tensor<8xi32, #nn.axes<seq>>) {
  // expected-error @+1 {{needs a base or frequencies, and not both}}
  %0 = nn.sinusoid %i along "half" wave "cos" : (tensor<8xi32, #nn.axes<seq>>) -> tensor<8x4xf32, #nn.axes<seq, half>>
  return
}

// -----

func.func @f(%i: tensor<8xi32, #nn.axes<seq>>) {
  // expected-error @+1 {{needs 1 frequency for each of the 4 entries of "half", not 2}}
  %0 = nn.sinusoid %i along "half" frequencies [1.0, 0.5] wave "cos" : (tensor<8xi32, #nn.axes<seq>>) -> tensor<8x4xf32, #nn.axes<seq, half>>
  return
}

// -----

func.func @f(%i: tensor<8xi32, #nn.axes<seq>>) {
  // expected-error @+1 {{base 0.000000e+00 is not above 0}}
  %0 = nn.sinusoid %i along "half" base 0.0 wave "cos" : (tensor<8xi32, #nn.axes<seq>>) -> tensor<8x4xf32, #nn.axes<seq, half>>
  return
}

// -----

!x = tensor<2x4xf32, #nn.axes<batch, embed>>
!b = tensor<2xf32, #nn.axes<batch>>
func.func @f(%x: !x, %b: !b) {
  // expected-error @+1 {{gamma must have exactly the axis 'embed'}}
  %y, %r = nn.rms_norm %x, %b over "embed" epsilon 1.0e-5 : (!x, !b) -> (!x, !b)
  return
}

// -----

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
func.func @f(%h: !h) {
  // expected-error @+1 {{the operand has 256 elements but the result 128}}
  %y = nn.reshape %h : (!h) -> tensor<2x2x2x4x4xf32, #nn.axes<batch, half, row, head, feature>>
  return
}

// -----

// Nor does an optimizer move a parameter of 16 bits.
!e = tensor<4xbf16, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{updates a parameter of type 'bf16': needs its f32 master}}
  %0 = nn.optimize %e, %e, %s, %s {names = ["w", "g", "lr"], definitions = [], formulas = ["sub(w, mul(lr, g))"]} : (!e, !e, !s, !s) -> !e
  return
}

// -----

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
func.func @f(%h: !h, %lse: !lse) {
  // expected-error @+1 {{with 'ring' needs 'out'}}
  %q, %k, %v = nn.attention_grad %h, %h, %h, %lse, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, ring}
      : (!h, !h, !h, !lse, !h) -> (!h, !h, !h)
  return
}

// -----
// Nor do blocks make them: the gradient has to have the output.

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
func.func @f(%h: !h, %lse: !lse) {
  // expected-error @+1 {{with 'blocked' needs 'out'}}
  %q, %k, %v = nn.attention_grad %h, %h, %h, %lse, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked}
      : (!h, !h, !h, !lse, !h) -> (!h, !h, !h)
  return
}

// -----
// One rank has all keys, or none has.

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
func.func @f(%h: !h) {
  // expected-error @+1 {{is both 'ring' and 'blocked'}}
  %o, %l = nn.attention %h, %h, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, ring, blocked}
      : (!h, !h, !h) -> (!h, !lse)
  return
}

// -----
// Keys of another sequence have no order with the queries.
!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!k = tensor<2x6x4x4xf32, #nn.axes<batch, src, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
func.func @f(%h: !h, %k: !k) {
  // expected-error @+1 {{is causal over the keys of another sequence: it must be 'blocked', with the positions of the queries as its last datum}}
  %o, %l = nn.attention %h, %k, %k {seq = "seq", key = "src.key", keys = "src", feature = "feature", causal = true, scale = 0.5, blocked}
      : (!h, !k, !k) -> (!h, !lse)
  return
}

// -----
// Data are a formula's, or what an attribute says.
!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
!b = tensor<4xf32, #nn.axes<head>>
func.func @f(%h: !h, %b: !b) {
  // expected-error @+1 {{has 1 data and no 'scores'}}
  %o, %l = nn.attention %h, %h, %h, %b {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked}
      : (!h, !h, !h, !b) -> (!h, !lse)
  return
}

// -----
!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
!b = tensor<4xf32, #nn.axes<head>>
func.func @f(%h: !h, %b: !b) {
  // expected-error @+1 {{has a slope for number 1 of 1 data}}
  %o, %l = nn.attention %h, %h, %h, %b {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked, scores = @f,
      sloped = array<i64: 1>} : (!h, !h, !h, !b) -> (!h, !lse)
  return
}

// -----
// A gradient makes what is sloped, and makes scores again from lse alone.
!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
!b = tensor<4xf32, #nn.axes<head>>
func.func @f(%h: !h, %l: !lse, %b: !b) {
  // expected-error @+1 {{makes 0 slopes, must make 1}}
  %0, %1, %2 = nn.attention_grad %h, %h, %h, %l, %h, %h, %b {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5,
      blocked, scores = @f, sloped = array<i64: 0>} : (!h, !h, !h, !lse, !h, !h, !b) -> (!h, !h, !h)
  return
}

// -----
!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
func.func @f(%h: !h, %p: !p) {
  // expected-error @+1 {{with 'scores' needs 'ring' or 'blocked'}}
  %0, %1, %2 = nn.attention_grad %h, %h, %h, %p, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, scores = @f}
      : (!h, !h, !h, !p, !h) -> (!h, !h, !h)
  return
}

// -----
// A formula has scores and positions, and makes scores.
!x = tensor<1x1xf32, #nn.axes<score.query, score.key>>
// expected-error @+1 {{has 1 arguments, must have scores and the positions of queries and keys}}
nn.scores @short {
^bb0(%x: !x):
  nn.scores_yield %x : !x
}

// -----
!x = tensor<1x1xf32, #nn.axes<score.query, score.key>>
!i = tensor<1xi32, #nn.axes<score.query>>
!j = tensor<1xi32, #nn.axes<score.key>>
// expected-error @+1 {{must yield scores, and factors of probabilities where some are dropped}}
nn.scores @nothing {
^bb0(%x: !x, %i: !i, %j: !j):
  nn.scores_yield
}

// -----
!x = tensor<1x1xf32, #nn.axes<score.query, score.key>>
!i = tensor<1xi32, #nn.axes<score.query>>
!j = tensor<1xi32, #nn.axes<score.key>>
// expected-error @+1 {{yields 'tensor<1xi32, #nn.axes<score.query>>', must yield 'tensor<1x1xf32, #nn.axes<score.query, score.key>>'}}
nn.scores @positions {
^bb0(%x: !x, %i: !i, %j: !j):
  nn.scores_yield %i : !i
}

// -----
// A step of a ring knows what its data call the keys.
!h = tensor<2x4x8xf32, #nn.axes<batch, seq, feature>>
!l = tensor<2x4xf32, #nn.axes<batch, seq>>
!b = tensor<2xf32, #nn.axes<batch>>
func.func @data(%h: !h, %b: !b) {
  // expected-error @+1 {{has 1 data and no 'scores' with 'key'}}
  %o, %l = nn.ring_attention %h, %h, %h, %b {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 0}
      : (!h, !h, !h, !b) -> (!h, !l)
  return
}

// -----
// A step of a ring makes a state of the values and two numbers more, or out and lse.
!h = tensor<2x4x8xf32, #nn.axes<batch, seq, feature>>
!s = tensor<2x4x8xf32, #nn.axes<batch, seq, state>>
func.func @state(%h: !h) {
  // expected-error @+1 {{the state must have the axes of lse and one of size 10}}
  %s = nn.ring_attention %h, %h, %h {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 0} : (!h, !h, !h) -> !s
  return
}

// -----
!h = tensor<2x4x8xf32, #nn.axes<batch, seq, feature>>
!l = tensor<2x4xf32, #nn.axes<batch, seq>>
func.func @step(%h: !h) {
  // expected-error @+1 {{goes round 0 mesh axes, at step 1}}
  %o, %l = nn.ring_attention %h, %h, %h {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = [], step = 1} : (!h, !h, !h) -> (!h, !l)
  return
}

// -----
!h = tensor<2x4x8xf32, #nn.axes<batch, seq, feature>>
!s = tensor<2x4x10xf32, #nn.axes<batch, seq, state>>
func.func @results(%h: !h) {
  // expected-error @+1 {{makes 3 values, must make the state of the softmax, or out and lse}}
  %a, %b, %c = nn.ring_attention %h, %h, %h {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 0} : (!h, !h, !h) -> (!s, !s, !s)
  return
}

// -----
!h = tensor<2x4x8xf32, #nn.axes<batch, seq, feature>>
func.func @features(%h: !h) {
  // expected-error @+1 {{q and k have no axis to be multiplied over: lse has all axes of q}}
  %o, %l = nn.ring_attention %h, %h, %h {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 1} : (!h, !h, !h) -> (!h, !h)
  return
}

// -----
// Parts of sums are wide.
!h = tensor<2x4x8xbf16, #nn.axes<batch, seq, feature>>
!l = tensor<2x4xf32, #nn.axes<batch, seq>>
func.func @narrow(%h: !h, %l: !l) {
  // expected-error @+1 {{dq is of 'bf16', must be of 'f32'}}
  %q, %k, %v = nn.ring_attention_grad %h, %h, %h, %h, %h, %l {seq = "seq", feature = "feature", causal = true, scale = 0.5, ring = ["cp"], step = 1}
      : (!h, !h, !h, !h, !h, !l) -> (!h, !h, !h)
  return
}

// -----
// Blocked attention has as many keys as queries.

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!k = tensor<2x7x4x4xf32, #nn.axes<batch, seq, head, feature>>
!lse = tensor<2x4x8xf32, #nn.axes<batch, head, seq>>
func.func @f(%h: !h, %k: !k) {
  // expected-error @+1 {{axis 'seq' has size 8 but its alias 'key' has 7}}
  %o, %l = nn.attention %h, %k, %k {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked}
      : (!h, !k, !k) -> (!h, !lse)
  return
}

// -----
// On a ring nobody has the probabilities.

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
func.func @f(%h: !h) {
  // expected-error @+1 {{axis 'key' of lse is missing in q}}
  %o, %p = nn.attention %h, %h, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, ring} : (!h, !h, !h) -> (!h, !p)
  return
}

// -----

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!k = tensor<2x8x3x4xf32, #nn.axes<batch, seq, group, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
func.func @f(%h: !h, %k: !k) {
  // expected-error @+1 {{axis 'group' of k is missing in q}}
  %o, %p = nn.attention %h, %k, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!h, !k, !h) -> (!h, !p)
  return
}

// -----

!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!k = tensor<2x8x4xf32, #nn.axes<batch, seq, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
func.func @f(%h: !h, %k: !k) {
  // expected-error @+1 {{axis 'head' of v is missing in k}}
  %o, %p = nn.attention %h, %k, %h {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!h, !k, !h) -> (!h, !p)
  return
}

// -----

!h = tensor<2x8x4xf32, #nn.axes<batch, seq, head>>
!v = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
func.func @f(%h: !h, %v: !v) {
  // expected-error @+1 {{q and k have no axis to be multiplied over: probs has all axes of q}}
  %o, %p = nn.attention %h, %h, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!h, !h, !v) -> (!v, !p)
  return
}

// -----

// expected-error @+1 {{has element type 'f8E5M2', and programs hold f32, f64, i32, u8, bf16, f16}}
nn.variable @w : tensor<4xf8E5M2, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}

// -----

// expected-error @+1 {{C1: an op cannot be of phase W, which only fragments have}}
#a = #nn.at<W, "h.0", 0>

// -----

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
!x = tensor<2x8xf32, #nn.axes<batch, seq>>
func.func @f(%t: !t, %x: !x) {
  // expected-error @+1 {{compares floats with integers}}
  %0 = nn.compare "less" %t, %x : (!t, !x) -> !t
  return
}

// -----

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
func.func @f(%t: !t) {
  // expected-error @+1 {{the relation must be equal, not_equal, less, less_equal, not "greater"}}
  %0 = nn.compare "greater" %t, %t : (!t, !t) -> !t
  return
}

// -----

!t = tensor<2x8xi32, #nn.axes<batch, seq>>
func.func @f(%t: !t) {
  // expected-error @+1 {{axis 'key' of the result appears in no operand}}
  %0 = nn.integer "add" %t, %t : (!t, !t) -> tensor<2x8x8xi32, #nn.axes<batch, seq, key>>
  return
}

// -----

!x = tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>
func.func @f(%x: !x, %source: !source, %place: !place) {
  // expected-error @+1 {{needs rows with the axes of the positions, 'row' in the place of 'seq'}}
  %0 = nn.dispatch %x, %source, %place along "seq" to "row" : (!x, !source, !place) -> tensor<2x16x16xf32, #nn.axes<batch, embed, row>>
  return
}

// -----

!x = tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>
!source = tensor<2x16xi32, #nn.axes<batch, row>>
!place = tensor<2x8x2x3xi32, #nn.axes<batch, seq, slot, other>>
func.func @f(%x: !x, %source: !source, %place: !place) {
  // expected-error @+1 {{has a place with more than one axis of choices}}
  %0 = nn.dispatch %x, %source, %place along "seq" to "row" : (!x, !source, !place) -> tensor<2x16x16xf32, #nn.axes<batch, row, embed>>
  return
}

// -----

!rows = tensor<2x16x16xf32, #nn.axes<batch, row, embed>>
!w = tensor<4x16x32xf32, #nn.axes<expert, embed, hidden>>
!range = tensor<2x4xi32, #nn.axes<batch, expert>>
func.func @f(%rows: !rows, %w: !w, %first: !range, %last: !range) {
  // expected-error @+1 {{axis 'embed' of the rows must be one of the samples, or contracted with the weights}}
  %0 = nn.grouped %rows, %w, %first, %last of "expert" along "row" : (!rows, !w, !range, !range) -> tensor<2x16x16x32xf32, #nn.axes<batch, row, embed, hidden>>
  return
}

// -----

!rows = tensor<2x16x16xf32, #nn.axes<batch, row, embed>>
!range = tensor<2x4xi32, #nn.axes<batch, expert>>
func.func @f(%rows: !rows, %first: !range, %last: !range) {
  // expected-error @+1 {{axis 'embed' must be one of the samples and summed, or of one operand and the result}}
  %0 = nn.grouped_weights %rows, %rows, %first, %last of "expert" along "row" : (!rows, !rows, !range, !range) -> tensor<4x16xf32, #nn.axes<expert, embed>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, seq>>
func.func @f(%x: !x) {
  // expected-error @+1 {{the result has no axis 'all'}}
  %0 = nn.cumsum %x of "seq" to "all" : (!x) -> !x
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, seq>>
func.func @f(%x: !x) {
  // expected-error @+1 {{the result has no axis 'first'}}
  %0 = nn.part %x of "seq" to "first" from 0 : (!x) -> tensor<2x4xf32, #nn.axes<batch, last>>
  return
}

// -----

!k = tensor<2x8x4xf32, #nn.axes<batch, key, feature>>
!r = tensor<2x1x4xf32, #nn.axes<batch, seq, feature>>
!i = tensor<1xi32, #nn.axes<seq>>
func.func @f(%k: !k, %r: !r, %i: !i) {
  %0 = nn.append %k, %r at %i along "seq" to "key" : (!k, !r, !i) -> !k
  // expected-error @+1 {{makes 'tensor<2x8x4xf64, #nn.axes<batch, key, feature>>' of 'tensor<2x8x4xf32, #nn.axes<batch, key, feature>>'}}
  %1 = nn.append %k, %r at %i along "seq" to "key" : (!k, !r, !i) -> tensor<2x8x4xf64, #nn.axes<batch, key, feature>>
  return
}

// -----

!k = tensor<2x8x4xf32, #nn.axes<batch, key, feature>>
func.func @f(%k: !k, %r: tensor<1x2x4xf32, #nn.axes<seq, batch, feature>>, %i: tensor<1xi32, #nn.axes<seq>>) {
  // expected-error @+1 {{needs rows with the axes of what is kept, 'seq' in the place of 'key'}}
  %0 = nn.append %k, %r at %i along "seq" to "key" : (!k, tensor<1x2x4xf32, #nn.axes<seq, batch, feature>>, tensor<1xi32, #nn.axes<seq>>) -> !k
  return
}

// -----

!k = tensor<2x8x4xf32, #nn.axes<batch, key, feature>>
!r = tensor<2x1x4xf32, #nn.axes<batch, seq, feature>>
func.func @f(%k: !k, %r: !r, %i: tensor<2x1xi32, #nn.axes<batch, seq>>, %other: tensor<4x1xi32, #nn.axes<feature, seq>>) {
  %0 = nn.append %k, %r at %i along "seq" to "key" : (!k, !r, tensor<2x1xi32, #nn.axes<batch, seq>>) -> !k
  // expected-error @+1 {{needs positions over first axes of what is kept and 'seq'}}
  %1 = nn.append %k, %r at %other along "seq" to "key" : (!k, !r, tensor<4x1xi32, #nn.axes<feature, seq>>) -> !k
  return
}

// -----

!x = tensor<2x4xbf16, #nn.axes<batch, embed>>
!w = tensor<4x8xbf16, #nn.axes<embed, hidden>>
func.func @f(%x: !x, %w: !w) {
  // expected-error @+1 {{rounds operands of 'bf16' to tf32, which are to be of 'f32'}}
  %0 = nn.einsum %x, %w {tf32} : (!x, !w) -> tensor<2x8xbf16, #nn.axes<batch, hidden>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, flat>>
func.func @f(%x: !x) {
  // expected-error @+1 {{axis 'flat' has size 8, 'side' by 'half' 6}}
  %0 = nn.fold %x of "flat" and "side" by "half" : (!x) -> tensor<2x2x3xf32, #nn.axes<batch, side, half>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, flat>>
func.func @f(%x: !x) {
  // expected-error @+1 {{the result has no axis 'half'}}
  %0 = nn.fold %x of "flat" and "side" by "half" : (!x) -> tensor<2x2x4xf32, #nn.axes<batch, side, rest>>
  return
}

// -----

!x = tensor<2x3x8xf32, #nn.axes<batch, seq, flat>>
func.func @f(%x: !x) {
  // expected-error @+1 {{the other axes of x and the result must be the same in the same order}}
  %0 = nn.fold %x of "flat" and "side" by "half" : (!x) -> tensor<3x2x2x4xf32, #nn.axes<seq, batch, side, half>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, embed>>
func.func @f(%x: !x, %y: tensor<3xf32, #nn.axes<seq>>) {
  // expected-error @+1 {{axis 'seq' of an operand is missing in the result}}
  %0 = nn.div_grad %x, %x, %y : (!x, !x, tensor<3xf32, #nn.axes<seq>>) -> !x
  return
}

// -----

// The written name has no mark; only the generic form shows it.
// expected-error @+1 {{has the symbol 'w', which must begin with '$'}}
"nn.variable"() <{sym_name = "w", type = tensor<f32, #nn.axes<>>, kind = #nn.kind<output>, output = "w"}> : () -> ()

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{formula: unknown function 'cos'}}
  %0 = nn.optimize %e, %e, %s {names = ["w", "g"], definitions = [], formulas = ["cos(w)"]} : (!e, !e, !s) -> !e
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{formula: 'sub' needs 2 operands}}
  %0 = nn.optimize %e, %e, %s {names = ["w", "g"], definitions = [], formulas = ["sub(w)"]} : (!e, !e, !s) -> !e
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{formula: ', g' follows a term}}
  %0 = nn.optimize %e, %e, %s {names = ["w", "g"], definitions = [], formulas = ["w, g"]} : (!e, !e, !s) -> !e
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{has 2 operands besides the factor but 3 names}}
  %0 = nn.optimize %e, %e, %s {names = ["w", "g", "m"], definitions = [], formulas = ["w"]} : (!e, !e, !s) -> !e
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{has 1 operands but 2 names}}
  %0 = nn.step_values %s {names = ["lr", "t"], definitions = [], formulas = ["lr"]} : (!s) -> !s
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{has 1 results but 2 formulas and 0 step states}}
  %0 = nn.step_values %s {names = ["lr"], definitions = [], formulas = ["lr", "t"]} : (!s) -> !s
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{has step states but no '#factor'}}
  %0 = nn.step_values %s, %s {names = ["lr", "count"], definitions = [], formulas = ["count"]} : (!s, !s) -> !s
  return
}

// -----

!e = tensor<4xf32, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%e: !e, %s: !s) {
  // expected-error @+1 {{formula: it is too large}}
  %0 = nn.optimize %e, %e, %s {names = ["w", "g"], definitions = [], formulas = ["neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(w))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"]} : (!e, !e, !s) -> !e
  return
}

// -----

// Counts of what is not the same choice again, or not over the same samples.
!c = tensor<2x16xi32, #nn.axes<batch, choice>>
!o = tensor<3x16xi32, #nn.axes<sample, other>>
func.func @queue(%choice: !c, %others: !o) {
  // expected-error @+1 {{the others has no axis 'batch'}}
  %0 = nn.queue %choice, %others along "choice" and "other" {entries = 4 : i64, sorted = false} : (!c, !o) -> !c
  return
}

// -----

!c = tensor<2x16xi32, #nn.axes<batch, choice>>
func.func @count_below(%choice: !c) {
  // expected-error @+1 {{the result has no axis 'batch'}}
  %0 = nn.count_below %choice over "choice" to "expert" {entries = 4 : i64, inclusive = true} : (!c) -> tensor<4xi32, #nn.axes<expert>>
  return
}

// -----

!c = tensor<2x16xi32, #nn.axes<batch, choice>>
func.func @locate(%choice: !c) {
  // expected-error @+1 {{x has no axis 'row'}}
  %0 = nn.locate %choice over "row" along "choice" : (!c) -> tensor<2x16xi32, #nn.axes<batch, row>>
  return
}

// -----
func.func @ends_without_entries(%x: tensor<2x8xf32, #nn.axes<batch, row>>, %ends: tensor<2xi32, #nn.axes<batch>>) {
  // expected-error @below {{has ends without an axis of entries}}
  %0 = nn.rename %x ends %ends from "row" to "other" {places = 4 : i64} : (tensor<2x8xf32, #nn.axes<batch, row>>, tensor<2xi32, #nn.axes<batch>>) -> tensor<2x8xf32, #nn.axes<batch, other>>
  return
}

// -----
func.func @ends_of_other_samples(%x: tensor<2x8xf32, #nn.axes<batch, row>>, %ends: tensor<3x4xi32, #nn.axes<seq, expert>>) {
  // expected-error @below {{axis 'expert'}}
  %0 = nn.rename %x ends %ends from "row" to "other" {places = 4 : i64} : (tensor<2x8xf32, #nn.axes<batch, row>>, tensor<3x4xi32, #nn.axes<seq, expert>>) -> tensor<2x8xf32, #nn.axes<batch, other>>
  return
}

// -----
func.func @sample_of_rows() {
  // expected-error @below {{needs a result over `batch` alone}}
  %0 = nn.sample : tensor<4xi32, #nn.axes<row>>
  return
}

// -----
func.func @groups_that_do_not_divide(%x: tensor<4x2xf32, #nn.axes<batch, channel>>) {
  // expected-error @below {{has groups of 3 samples, which do not divide the 4 of a micro-batch}}
  %0 = nn.group_total %x by 3 : tensor<4x2xf32, #nn.axes<batch, channel>>
  return
}

// -----
!x = tensor<2x8xf32, #nn.axes<batch, row>>
func.func @f(%x: !x) {
  // expected-error @+1 {{walks no axis}}
  %0 = nn.windows %x of [] to [] by [] {stride = array<i64>, dilation = array<i64>, before = array<i64>, spread = array<i64>, fill = 0.0} : (!x) -> !x
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, row>>
func.func @f(%x: !x) {
  // expected-error @+1 {{needs 1 of each attribute, one for each axis of `over`}}
  %0 = nn.windows %x of ["row"] to ["y"] by ["k"] {stride = array<i64: 1, 1>, dilation = array<i64: 1>, before = array<i64: 0>, spread = array<i64: 1>, fill = 0.0} : (!x) -> tensor<2x3x6xf32, #nn.axes<batch, k, y>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, row>>
func.func @f(%x: !x) {
  // expected-error @+1 {{has the stride 0 and the spread 1, the least is 1}}
  %0 = nn.windows %x of ["row"] to ["y"] by ["k"] {stride = array<i64: 0>, dilation = array<i64: 1>, before = array<i64: 0>, spread = array<i64: 1>, fill = 0.0} : (!x) -> tensor<2x3x6xf32, #nn.axes<batch, k, y>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, row>>
func.func @f(%x: !x) {
  // expected-error @+1 {{has the dilation 0}}
  %0 = nn.windows %x of ["row"] to ["y"] by ["k"] {stride = array<i64: 1>, dilation = array<i64: 0>, before = array<i64: 0>, spread = array<i64: 1>, fill = 0.0} : (!x) -> tensor<2x3x6xf32, #nn.axes<batch, k, y>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, row>>
func.func @f(%x: !x) {
  // expected-error @+1 {{the result has 2 axes, x with its windows 3}}
  %0 = nn.windows %x of ["row"] to ["y"] by ["k"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 0>, spread = array<i64: 1>, fill = 0.0} : (!x) -> tensor<2x6xf32, #nn.axes<batch, y>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, row>>
func.func @f(%x: !x) {
  // expected-error @+1 {{the result has no axis 'y'}}
  %0 = nn.windows %x of ["row"] to ["y"] by ["k"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 0>, spread = array<i64: 1>, fill = 0.0} : (!x) -> tensor<2x3x6xf32, #nn.axes<batch, k, z>>
  return
}

// -----

!x = tensor<2x8xf32, #nn.axes<batch, row>>
func.func @f(%x: !x) {
  // expected-error @+1 {{names no axis}}
  %0 = nn.max_first %x over [] : (!x) -> !x
  return
}
