// Formulas of scores of which no kernel can be made.
// RUN: npar-opt %s -split-input-file -export-outline-kernels -verify-diagnostics

// A formula that is not there.
!q = tensor<8x8xf32, #nn.axes<seq, feature>>
!l = tensor<8xf32, #nn.axes<seq>>
module attributes {dist.mesh = #dist.mesh<>} {
  func.func @missing(%q: !q) -> !q {
    // expected-error @+1 {{has no formula @nowhere}}
    %o, %l = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5, blocked, scores = @nowhere}
        : (!q, !q, !q) -> (!q, !l)
    return %o : !q
  }
}

// -----
// Keys of another sequence stand where they lie.
!q = tensor<8x8xf32, #nn.axes<seq, feature>>
!k = tensor<8x8xf32, #nn.axes<src, feature>>
!l = tensor<8xf32, #nn.axes<seq>>
!x = tensor<1x1xf32, #nn.axes<score.query, score.key>>
!i = tensor<1xi32, #nn.axes<score.query>>
!j = tensor<1xi32, #nn.axes<score.key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.zigzag = {src = 2 : i64}} {
  nn.scores @formula {
  ^bb0(%x: !x, %i: !i, %j: !j):
    %y = nn.tanh %x : (!x) -> !x
    nn.scores_yield %y : !x
  }
  func.func @ordered(%q: !q, %k: !k) -> !q {
    // expected-error @+1 {{changes scores by positions of 'src', which is in zigzag order}}
    %o, %l = nn.attention %q, %k, %k {seq = "seq", key = "src.key", keys = "src", feature = "feature", causal = false, scale = 0.5, blocked,
        scores = @formula} : (!q, !k, !k) -> (!q, !l)
    return %o : !q
  }
}
