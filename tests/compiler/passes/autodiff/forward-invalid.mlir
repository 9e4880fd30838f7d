// What cannot go forward only: a kind that trains, a program without a loss; samples, or positions and later ones, that depend on each other.
// RUN: npar-opt %s '-autodiff-forward=kind=generation' -split-input-file -verify-diagnostics

// expected-error@below {{internal error: nothing goes forward only: there is no '@micro', or the kind 'generation' is another}}
module {
}

// -----

// expected-error@below {{internal error: '@micro' sums up no loss}}
module {
func.func @micro() {
  return
}
}

// -----

!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!w = tensor<8xf32, #nn.axes<code>>
!b = tensor<2x4xf32, #nn.axes<batch, seq>>
!s = tensor<f32, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %x = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %w = nn.read @w {at = #nn.at<F, "", 0>} : !w
  %g = nn.gather %w, %x over "code" {at = #nn.at<F, "", 0>} : (!w, !t) -> !b
  %s = nn.sum %g {at = #nn.at<F, "", 0>} : (!b) -> !s
  // expected-error@below {{nothing can be generated: the model's loss is no cross_entropy, which compares logits with the next tokens}}
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 0>} : !s
  return
}

// -----

// The mean over the sequence knows what comes later; other sums do not. Which it is shows in a test, at run time.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!w = tensor<8x8xf32, #nn.axes<code, vocab>>
!x = tensor<2x4x8xf32, #nn.axes<batch, seq, vocab>>
!m = tensor<2x8xf32, #nn.axes<batch, vocab>>
!b = tensor<2x4xf32, #nn.axes<batch, seq>>
!s = tensor<f32, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %x = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %t = nn.input "targets" {at = #nn.at<F, "", 0>} : !t
  %w = nn.read @w {at = #nn.at<F, "", 0>} : !w
  %g = nn.gather %w, %x over "code" {at = #nn.at<F, "", 0>} : (!w, !t) -> !x
  // expected-warning@below {{positions of 'seq' are mixed here, and not by causal attention: each generated token recomputes the whole sequence, and npar tests with the first token that no position depends on later ones}}
  %m = nn.sum %g {at = #nn.at<F, "", 0>} : (!x) -> !m
  %l = nn.add %g, %m {at = #nn.at<F, "", 0>} : (!x, !m) -> !x
  %loss, %lse = nn.cross_entropy %l, %t over "vocab" {at = #nn.at<F, "", 0>} : (!x, !t) -> (!b, !b)
  %s = nn.sum %loss {at = #nn.at<F, "", 0>} : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 0>} : !s
  return
}

// -----

// A mean over the samples: those that fill up a batch would change the others.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!w = tensor<8x8xf32, #nn.axes<code, vocab>>
!x = tensor<2x4x8xf32, #nn.axes<batch, seq, vocab>>
!m = tensor<4x8xf32, #nn.axes<seq, vocab>>
!b = tensor<2x4xf32, #nn.axes<batch, seq>>
!s = tensor<f32, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %x = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %t = nn.input "targets" {at = #nn.at<F, "", 0>} : !t
  %w = nn.read @w {at = #nn.at<F, "", 0>} : !w
  %g = nn.gather %w, %x over "code" {at = #nn.at<F, "", 0>} : (!w, !t) -> !x
  // expected-error@below {{'sum' mixes the samples of a batch: a program without training must compute each sample separately}}
  %m = nn.sum %g {at = #nn.at<F, "", 0>} : (!x) -> !m
  %l = nn.add %g, %m {at = #nn.at<F, "", 0>} : (!x, !m) -> !x
  %loss, %lse = nn.cross_entropy %l, %t over "vocab" {at = #nn.at<F, "", 0>} : (!x, !t) -> (!b, !b)
  %s = nn.sum %loss {at = #nn.at<F, "", 0>} : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 0>} : !s
  return
}

// -----

// Attention that is not causal.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!w = tensor<8x2x4xf32, #nn.axes<code, head, feature>>
!x = tensor<2x4x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>
!m = tensor<2x4x4xf32, #nn.axes<batch, seq, feature>>
!b = tensor<2x4xf32, #nn.axes<batch, seq>>
!s = tensor<f32, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %x = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %t = nn.input "targets" {at = #nn.at<F, "", 0>} : !t
  %w = nn.read @w {at = #nn.at<F, "", 0>} : !w
  %g = nn.gather %w, %x over "code" {at = #nn.at<F, "", 0>} : (!w, !t) -> !x
  // expected-note@below {{help: give it 'causal'}}
  // expected-error@below {{attention over 'seq' uses later positions, which are not known during generation}}
  %o, %p = nn.attention %g, %g, %g {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5 : f64, at = #nn.at<F, "", 0>}
      : (!x, !x, !x) -> (!x, !p)
  %m = nn.sum %o {at = #nn.at<F, "", 0>} : (!x) -> !m
  %loss, %lse = nn.cross_entropy %m, %t over "feature" {at = #nn.at<F, "", 0>} : (!m, !t) -> (!b, !b)
  %s = nn.sum %loss {at = #nn.at<F, "", 0>} : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 0>} : !s
  return
}

// -----

// A queue in which choices of later positions come first.
!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!f = tensor<2x4xi32, #nn.axes<batch, flat>>
!w = tensor<8x8xf32, #nn.axes<code, vocab>>
!x = tensor<2x4x8xf32, #nn.axes<batch, seq, vocab>>
!b = tensor<2x4xf32, #nn.axes<batch, seq>>
!s = tensor<f32, #nn.axes<>>
nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [8, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
func.func @micro() {
  %x = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %t = nn.input "targets" {at = #nn.at<F, "", 0>} : !t
  %w = nn.read @w {at = #nn.at<F, "", 0>} : !w
  %o = nn.rename %x from "seq" to "flat" {at = #nn.at<F, "", 0>} : (!t) -> !f
  // expected-error@below {{a queue in the order "choice" uses the choices of later positions, which are not known during generation}}
  // expected-note@below {{help: train with the order "position"}}
  %q = nn.queue %x, %o along "seq" and "flat" {entries = 8 : i64, sorted = false, looks_ahead = true, at = #nn.at<F, "", 0>} : (!t, !f) -> !t
  %g = nn.gather %w, %q over "code" {at = #nn.at<F, "", 0>} : (!w, !t) -> !x
  %loss, %lse = nn.cross_entropy %g, %t over "vocab" {at = #nn.at<F, "", 0>} : (!x, !t) -> (!b, !b)
  %s = nn.sum %loss {at = #nn.at<F, "", 0>} : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 0>} : !s
  return
}
