// Of several losses each is divided by its own count, or was when it was imported; gradients begin with the weights, and the loss is the
// weighted sum.
// RUN: npar-opt %s -autodiff | FileCheck %s --check-prefix=TRAIN
// RUN: npar-opt %s -autodiff-forward | FileCheck %s --check-prefix=FORWARD

!t = tensor<2xi32, #nn.axes<batch>>
!x = tensor<2x4xf64, #nn.axes<batch, vocab>>
!v = tensor<4xf64, #nn.axes<vocab>>
!b = tensor<2xf64, #nn.axes<batch>>
!s = tensor<f64, #nn.axes<>>
#rate = {schedule = "constant", peak = 0.01, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#sgd = {name = "Sgd", rate = #rate, weight = "w", gradient = "g", step_states = [], states = [],
    step = {definitions = [], results = ["lr"]}, element = {definitions = [], results = ["sub(w, mul($0, g))"]}}
module attributes {nn.optimizers = [#sgd],
                   nn.losses = [{name = "words", weight = 1.0}, {name = "small", weight = 0.25}]} {
nn.variable @bias : !v {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.words.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.loss.small.sum" : !s {kind = #nn.kind<accumulator>}
nn.variable @"#out.loss" : !s {kind = #nn.kind<output>, output = "loss"}
nn.variable @"#out.loss.words" : !s {kind = #nn.kind<output>, output = "loss.words"}
nn.variable @"#out.counted.words" : !s {kind = #nn.kind<output>, output = "counted.words"}
nn.variable @"#out.loss.small" : !s {kind = #nn.kind<output>, output = "loss.small"}
// TRAIN-LABEL: @micro
func.func @micro() {
  %x = nn.input "x" : !x
  %t = nn.input "targets" : !t
  %w = nn.read @bias {at = #nn.at<F, "head", 2>} : !v
  %l = nn.add %x, %w {at = #nn.at<F, "head", 2>} : (!x, !v) -> !x
  // FORWARD: %[[LOSS:.+]], %{{.+}} = nn.cross_entropy
  %loss, %lse = nn.cross_entropy %l, %t over "vocab" ignore -100 {at = #nn.at<F, "", 2>} : (!x, !t) -> (!b, !b)
  %s = nn.sum %loss {at = #nn.at<F, "", 2>} : (!b) -> !s
  // FORWARD: nn.result "loss.words", %[[LOSS]]
  nn.accumulate @"#out.loss.words.sum", %s {at = #nn.at<F, "", 2>} : !s
  // FORWARD: %[[SMALL:.+]] = nn.sum
  %q = nn.sum %l {at = #nn.at<F, "early", 1>} : (!x) -> !b
  %m = nn.sum %q {at = #nn.at<F, "early", 1>} : (!b) -> !s
  // FORWARD: nn.result "loss.small", %[[SMALL]]
  // TRAIN: nn.accumulate @"#out.loss.small.sum"
  nn.accumulate @"#out.loss.small.sum", %m {at = #nn.at<F, "early", 1>} : !s
  // TRAIN: nn.fill 2.500000e-01 {at = #nn.at<B, "early", 1>} : tensor<2x4xf64
  // TRAIN: %[[ONE:.+]] = nn.fill 1.000000e+00
  // TRAIN: %[[N:.+]] = nn.read @"#out.counted.words" {at = #nn.at<B, "", 2>}
  // TRAIN: %[[M:.+]] = nn.max2 %[[N]], %{{.+}}
  // TRAIN: nn.div %[[ONE]], %[[M]]
  return
}
// TRAIN-LABEL: @update
// TRAIN: %[[SUM:.+]] = nn.read @"#out.loss.words.sum" {at = #nn.at<U, "", 2>}
// TRAIN: %[[N:.+]] = nn.read @"#out.counted.words"
// TRAIN: %[[M:.+]] = nn.max2 %[[N]], %{{.+}}
// TRAIN: %[[WORDS:.+]] = nn.div %[[SUM]], %[[M]]
// TRAIN: nn.write @"#out.loss.words", %[[WORDS]]
// TRAIN: %[[SMALL:.+]] = nn.read @"#out.loss.small.sum" {at = #nn.at<U, "early", 1>}
// TRAIN: %[[WEIGHED:.+]] = nn.scale %[[SMALL]] by 2.500000e-01
// TRAIN: %[[LOSS:.+]] = nn.add %[[WORDS]], %[[WEIGHED]]
// TRAIN: nn.write @"#out.loss.small", %[[SMALL]]
// TRAIN: nn.write @"#out.loss", %[[LOSS]]
}
