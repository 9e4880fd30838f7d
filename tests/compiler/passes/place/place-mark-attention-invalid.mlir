// Rings that cannot be, reported at the rule with what can.
// RUN: not npar-opt %s -split-input-file -place-mark-attention 2>&1 | FileCheck %s

// Only what the ring would really pad: here 8 rows among 3 ranks.
// CHECK: plan.npar:3:9: error: a ring of 3 ranks over axis 'seq' of size 8 cannot be padded: its pieces replace each other
// CHECK: note: help: use 'by gather', or a size that 3 divides
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 3>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], pad, by = "ring", loc("plan.npar":3:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// CHECK: plan.npar:4:9: error: zigzag order balances causal attention, but operation 'attention' has no causal mask
// CHECK: note: operation 'attention' is here
// CHECK: note: help: without a mask the ring is balanced in any order: use 'by ring'
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", loc("plan.npar":4:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = false, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// CHECK: plan.npar:5:9: error: axis 'seq' of size 6 is not divisible by 4: zigzag order gives each of 2 ranks two chunks
// CHECK: note: help: use 'by ring', or a size that 4 divides
!h = tensor<2x6x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x6x6xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", loc("plan.npar":5:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// CHECK: plan.npar:7:9: error: axis 'seq' of operation 'attention' is split by two rules
// CHECK: plan.npar:6:9: note: the other one is here
// CHECK: plan.npar:7:9: note: help: give one rule both mesh axes: 'seq -> cp, tp by ...'
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2, tp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring", loc("plan.npar":6:9)>,
                                 #dist.rule<axis = "seq", mesh = ["tp"], by = "gather", loc("plan.npar":7:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// CHECK: plan.npar:9:9: error: axis 'seq' would be in zigzag order of 4 and of 2 ranks
// CHECK: plan.npar:8:9: note: the other rule is here
// CHECK: plan.npar:9:9: note: help: use 'by ring' in one of them
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2, xp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", layer = "a", loc("plan.npar":8:9)>,
                                 #dist.rule<axis = "seq", mesh = ["cp", "xp"], by = "ring_zigzag", layer = "b", loc("plan.npar":9:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %a, %pa = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "a", 0>}
        : (!h, !h, !h) -> (!h, !p)
    %b, %pb = nn.attention %a, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "b", 0>}
        : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// The order is that of the axis, so a parameter along it would be stored in it, and a place of it would be another one.
// CHECK: plan.npar:10:9: error: axis 'seq' cannot be in zigzag order: parameter 'bias' has it
// CHECK: note: it is here
// CHECK: plan.npar:10:9: note: help: use 'by ring', or give it an axis of its own
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", loc("plan.npar":10:9)>]} {
  nn.variable @bias : tensor<8xf32, #nn.axes<seq>> {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// CHECK: plan.npar:11:9: error: axis 'seq' cannot be in zigzag order: operation 'select' counts its positions
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", loc("plan.npar":11:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    %s = nn.select %o at "seq" [0] : (!h) -> tensor<2x2x4xf32, #nn.axes<batch, head, feature>>
    return
  }
}

// -----
// Windows walk an axis in its logical order, and their gradient walks that of the positions.
// CHECK: plan.npar:12:9: error: axis 'seq' cannot be in zigzag order: operation 'windows' counts its positions
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", loc("plan.npar":12:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    %w = nn.windows %o of ["seq"] to ["pair"] by ["k"] {stride = array<i64: 2>, dilation = array<i64: 1>, before = array<i64: 0>,
        spread = array<i64: 1>, fill = 0.0} : (!h) -> tensor<2x2x4x2x4xf32, #nn.axes<batch, k, pair, head, feature>>
    return
  }
}

// -----
// CHECK: plan.npar:13:9: error: axis 'seq' cannot be in zigzag order: operation 'windows' counts its positions
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x8x8xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag", loc("plan.npar":13:9)>]} {
  func.func @micro() {
    %x = nn.input "x" : tensor<2x8x2x4xf32, #nn.axes<batch, raw, head, feature>>
    %w = nn.windows %x of ["raw"] to ["seq"] by ["k"] {stride = array<i64: 1>, dilation = array<i64: 1>, before = array<i64: 1>,
        spread = array<i64: 1>, fill = 0.0} :
        (tensor<2x8x2x4xf32, #nn.axes<batch, raw, head, feature>>) -> tensor<2x2x8x2x4xf32, #nn.axes<batch, k, seq, head, feature>>
    %q = nn.sum %w : (tensor<2x2x8x2x4xf32, #nn.axes<batch, k, seq, head, feature>>) -> !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// Nor are keys of another sequence padded.
// CHECK: plan.npar:6:9: error: a ring of 2 ranks cannot share the 7 keys over 'src'
// CHECK: note: operation 'attention' is here
// CHECK: note: help: use 'by gather', or a size that 2 divides
!h = tensor<2x8x2x4xf32, #nn.axes<batch, seq, head, feature>>
!k = tensor<2x7x2x4xf32, #nn.axes<batch, src, head, feature>>
!p = tensor<2x2x8x7xf32, #nn.axes<batch, head, seq, src.key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring", loc("plan.npar":6:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %k = nn.input "k" : !k
    %o, %p = nn.attention %q, %k, %k {seq = "seq", key = "src.key", keys = "src", key_count = 7 : i64, feature = "feature", causal = false,
        scale = 0.5 : f64} : (!h, !k, !k) -> (!h, !p)
    return
  }
}
