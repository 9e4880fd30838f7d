// Plans that recompute what the model does not have are refused at their line.
// RUN: npar-opt %s -split-input-file -autodiff-recompute -verify-diagnostics

// expected-error @+1 {{nothing to recompute: the model repeats no block}}
module attributes {npar.recompute = {kind = "block"}} {
  func.func @micro() {
    return
  }
}

// -----

// expected-error @+1 {{recompute every 0: a segment has at least 1 block}}
module attributes {npar.recompute = {kind = "every", k = 0 : i64}, npar.blocks = 2 : i64} {
  func.func @micro() {
    return
  }
}

// -----

// expected-error @+1 {{nothing to recompute: the model has no operation 'attention'}}
module attributes {npar.recompute = {kind = "attention"}, npar.blocks = 2 : i64} {
  func.func @micro() {
    return
  }
}

// -----

// expected-error @+1 {{nothing to recompute: no layer of the model matches 'h.*.atn'}}
module attributes {npar.recompute = {kind = "layers", layers = ["h.*.attn.c_attn", "h.*.atn"]}, npar.blocks = 2 : i64} {
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "h.1.attn.c_attn", 1>} : tensor<f64, #nn.axes<>>
    return
  }
}

// -----

// expected-error @+1 {{'everything' is nothing that can be recomputed}}
module attributes {npar.recompute = {kind = "everything"}} {
  func.func @micro() {
    return
  }
}
