// Without training: the losses of each position are a result, or the logits; dropout, the prologue and all state of the training go.
// RUN: npar-opt %s -autodiff-forward -canonicalize | FileCheck %s --check-prefix=LOSSES
// RUN: npar-opt %s '-autodiff-forward=kind=generation' -canonicalize | FileCheck %s --check-prefix=LOGITS

!t = tensor<2x4xi32, #nn.axes<batch, seq>>
!l = tensor<2x4x8xf64, #nn.axes<batch, seq, vocab>>
!e = tensor<8x8xf64, #nn.axes<code, vocab>>
!b = tensor<2x4xf64, #nn.axes<batch, seq>>
!s = tensor<f64, #nn.axes<>>
// The inputs that are described are those that are left.
// LOSSES: npar.inputs = [{name = "tokens"}, {name = "targets"}], npar.kind = "evaluation"}
// LOGITS: npar.inputs = [{name = "tokens"}], npar.kind = "generation"}
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#sgd = {name = "Sgd", rate = #rate, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
module attributes {nn.optimizers = [#sgd], nn.clip = 1.0 : f64,
                   npar.inputs = [{name = "tokens"}, {name = "targets"}]} {
// LOSSES-NEXT: nn.variable @table
// LOSSES-NEXT: func.func @micro()
// LOGITS-NEXT: nn.variable @table
// LOGITS-NEXT: func.func @micro()
nn.variable @table : !e {kind = #nn.kind<parameter>, stored = [8, 8], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.loss" : !s {kind = #nn.kind<output>, output = "loss"}
nn.variable @"#out.valid_tokens.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.valid_tokens" : !s {kind = #nn.kind<output>, output = "valid_tokens"}
func.func @count() {
  %t = nn.input "targets" {at = #nn.at<C, "", 2>} : !t
  return
}
func.func @start() {
  %n = nn.read @"#out.valid_tokens.sum" {at = #nn.at<P, "", 2>} : !s
  nn.write @"#out.valid_tokens", %n {at = #nn.at<P, "", 2>} : !s
  return
}
func.func @micro() {
  %x = nn.input "tokens" {at = #nn.at<F, "", -1>} : !t
  %t = nn.input "targets" {at = #nn.at<F, "", 2>} : !t
  %w = nn.read @table {at = #nn.at<F, "head", 2>} : !e
  %g = nn.gather %w, %x over "code" {at = #nn.at<F, "head", 2>} : (!e, !t) -> !l
  %l = nn.dropout %g {rate = 0.1 : f64, site = "a", at = #nn.at<F, "head", 2>} : (!l) -> !l
  // LOSSES: %[[G:.+]] = nn.gather
  // LOSSES: %[[LOSS:.+]], %{{.+}} = nn.cross_entropy %[[G]], %{{.+}} over "vocab" ignore -100
  // LOSSES: nn.result "losses", %[[LOSS]] {at = #nn.at<F, "", 2>}
  // LOSSES-NEXT: return
  // LOGITS-NOT: nn.input "targets"
  // LOGITS: %[[G:.+]] = nn.gather
  // LOGITS-NEXT: nn.result "logits", %[[G]] {at = #nn.at<F, "", 2>}
  // LOGITS-NEXT: return
  %loss, %lse = nn.cross_entropy %l, %t over "vocab" ignore -100 {at = #nn.at<F, "", 2>} : (!l, !t) -> (!b, !b)
  %s = nn.sum %loss {at = #nn.at<F, "", 2>} : (!b) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", 2>} : !s
  return
}
// LOSSES-NOT: func.func
// LOGITS-NOT: func.func
}
