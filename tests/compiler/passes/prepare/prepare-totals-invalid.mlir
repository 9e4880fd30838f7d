// RUN: npar-opt %s -prepare-totals -verify-diagnostics

!b = tensor<2x4xf32, #nn.axes<batch, expert>>
module attributes {npar.micro_count = 2 : i64} {
func.func @micro() {
  %x = nn.input "x" : !b
  %t = nn.total %x {at = #nn.at<F, "h", 1>} : !b
  // expected-error @below {{a sum over all samples of a step needs another one, which is known after the last forward pass}}
  // expected-note @below {{help: make 'micro' large enough for a single micro-batch}}
  %u = nn.total %t {at = #nn.at<F, "h", 1>} : !b
  return
}
}
