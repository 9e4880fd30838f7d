// Rules that cannot be kept, reported at the rule.
// RUN: not npar-opt %s -split-input-file -place-assign 2>&1 | FileCheck %s

// An axis that an operation needs whole.
// CHECK: plan.npar:3:9: error: axis 'seq' cannot be split: operation 'attention' needs it whole
// CHECK: note: operation 'attention' is here
// CHECK: note: help: choose how its keys are exchanged: 'seq -> tp by ring' or 'by gather'; or put a rule before it that takes 'tp' in 'attention' for another axis (its heads: Ulysses)
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "seq", mesh = ["tp"], loc("plan.npar":3:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64}
        : (tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>, tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>,
           tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>)
        -> (tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>, tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>)
    return
  }
}

// -----
// An axis that does not divide and may not be padded; a rule that nothing uses; an unknown axis and mesh axis; the pipeline's axis.
// CHECK: plan.npar:7:1: error: no tensor of the model has the axis 'heads'
// CHECK: plan.npar:7:1: note: help: remove it from the rule: the tensors that have it do not affect the result
// CHECK: plan.npar:8:1: error: the mesh has no axis 'xp'
// CHECK: plan.npar:8:1: note: help: rules may use 'tp'
// CHECK: plan.npar:9:1: error: mesh axis 'pp' is taken by the pipeline
// CHECK: plan.npar:9:1: note: help: rules may use 'tp'
// CHECK: plan.npar:5:1: error: axis 'embed' of size 10 is not divisible by mesh axis 'tp' of size 4
// CHECK: note: split by operation 'exp' here
// CHECK: note: help: 2, 5 or 10 divide it; or pad it: 'embed pad -> ...'
// CHECK: plan.npar:6:1: error: no operation uses the rule 'batch -> tp in op tanh'
// CHECK: note: help: no operation with the axis 'batch' matches; remove the rule or widen its 'in'
module attributes {dist.mesh = #dist.mesh<tp = 4, pp = 2>, pipe.axis = "pp",
                   dist.rules = [#dist.rule<axis = "embed", mesh = ["tp"], loc("plan.npar":5:1)>,
                                 #dist.rule<axis = "batch", mesh = ["tp"], op = "tanh", loc("plan.npar":6:1)>,
                                 #dist.rule<axis = "heads", mesh = ["tp"], loc("plan.npar":7:1)>,
                                 #dist.rule<axis = "batch", mesh = ["xp"], loc("plan.npar":8:1)>,
                                 #dist.rule<axis = "batch", mesh = ["pp"], loc("plan.npar":9:1)>]} {
  func.func @micro() {
    %x = nn.input "x" : tensor<8x10xf32, #nn.axes<batch, embed>>
    %e = nn.exp %x : (tensor<8x10xf32, #nn.axes<batch, embed>>) -> tensor<8x10xf32, #nn.axes<batch, embed>>
    return
  }
}

// -----
// A rule that an earlier one always pre-empts.
// CHECK: plan.npar:2:1: error: no operation uses the rule 'embed -> tp'
// CHECK: note: help: earlier rules use the mesh axis everywhere it could apply; move it up or remove it
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = ["tp"], loc("plan.npar":1:1)>,
                                                                 #dist.rule<axis = "embed", mesh = ["tp"], loc("plan.npar":2:1)>]} {
  func.func @micro() {
    %x = nn.input "x" : tensor<8x10xf32, #nn.axes<batch, embed>>
    %e = nn.exp %x : (tensor<8x10xf32, #nn.axes<batch, embed>>) -> tensor<8x10xf32, #nn.axes<batch, embed>>
    return
  }
}

// -----
// A prime size.
// CHECK: plan.npar:4:1: error: axis 'embed' of size 67 is not divisible by mesh axis 'tp' of size 2
// CHECK: plan.npar:1:6: note: mesh declared here
// CHECK: note: help: 67 divides it; or pad it: 'embed pad -> ...'
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.mesh_lines = [loc("plan.npar":1:6)],
                   dist.rules = [#dist.rule<axis = "embed", mesh = ["tp"], loc("plan.npar":4:1)>]} {
  func.func @micro() {
    %x = nn.input "x" : tensor<67xf32, #nn.axes<embed>>
    %y = nn.exp %x : (tensor<67xf32, #nn.axes<embed>>) -> tensor<67xf32, #nn.axes<embed>>
    return
  }
}

// -----
// A way of attention that no attention goes: an earlier rule has the mesh axis there.
// CHECK: plan.npar:8:9: error: the rule 'seq -> cp by gather' splits neither the keys of attention nor rows of experts
// CHECK: note: help: an earlier rule uses the mesh axis there, or none remains: remove 'by'
!h = tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.rules = [#dist.rule<axis = "head", mesh = ["cp"], op = "attention">,
                                                                 #dist.rule<axis = "seq", mesh = ["cp"], by = "gather", loc("plan.npar":8:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    %e = nn.exp %o : (!h) -> !h
    return
  }
}

// -----
// What autodiff made of attention decides.
// CHECK: error: 'nn.attention' op goes round a ring by the rules but is not marked: run 'place-mark-attention' before autodiff
!h = tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>, dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring">]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// Nothing is stored over a mesh axis that splits every parameter; the others that can are named. An unknown mesh axis.
// CHECK: plan.npar:9:9: error: the optimizer state cannot be stored over 'tp', which splits every parameter already, such as axis 'embed' of 'w'
// CHECK: plan.npar:5:1: note: by rule 'embed -> tp'
// CHECK: plan.npar:9:9: note: help: mesh axes that hold equal copies of every parameter: 'dp', 'cp'
module attributes {dist.mesh = #dist.mesh<dp = 2, cp = 2, tp = 2, pp = 2>, pipe.axis = "pp",
                   dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"], loc("plan.npar":4:1)>,
                                 #dist.rule<axis = "embed", mesh = ["tp"], loc("plan.npar":5:1)>],
                   dist.stores = [{what = "optimizer", mesh = ["tp"], loc = loc("plan.npar":9:9)}]} {
  nn.variable @w : tensor<8xf32, #nn.axes<embed>> {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [8]}
  func.func @micro() {
    %x = nn.input "x" : tensor<8x8xf32, #nn.axes<batch, embed>>
    %w = nn.read @w : tensor<8xf32, #nn.axes<embed>>
    %y = nn.mul %x, %w : (tensor<8x8xf32, #nn.axes<batch, embed>>, tensor<8xf32, #nn.axes<embed>>) -> tensor<8x8xf32, #nn.axes<batch, embed>>
    return
  }
}

// -----
// Each store rule is refused once, at its line.
// CHECK: plan.npar:9:9: error: the parameters cannot be stored over 'tp', which splits every parameter already, such as axis 'embed' of 'w'
// CHECK: plan.npar:9:9: note: help: remove it: no mesh axis holds equal copies of every parameter
// CHECK-NOT: the parameters cannot be stored
// CHECK: plan.npar:10:9: error: the optimizer state cannot be stored over 'tp', which splits every parameter already, such as axis 'embed' of 'w'
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "embed", mesh = ["tp"], loc("plan.npar":5:1)>],
                   dist.stores = [{what = "parameters", mesh = ["tp"], loc = loc("plan.npar":9:9)},
                                  {what = "optimizer", mesh = ["tp"], loc = loc("plan.npar":10:9)}]} {
  nn.variable @w : tensor<8xf32, #nn.axes<embed>> {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [8]}
  nn.variable @v : tensor<8xf32, #nn.axes<embed>> {index = 1 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [8]}
  func.func @micro() {
    %w = nn.read @w : tensor<8xf32, #nn.axes<embed>>
    %v = nn.read @v : tensor<8xf32, #nn.axes<embed>>
    %z = nn.exp %v : (tensor<8xf32, #nn.axes<embed>>) -> tensor<8xf32, #nn.axes<embed>>
    %y = nn.exp %w : (tensor<8xf32, #nn.axes<embed>>) -> tensor<8xf32, #nn.axes<embed>>
    return
  }
}

// -----
// A mesh axis that there is not, and a mesh without any that a rule may use.
// CHECK: plan.npar:9:9: error: the mesh has no axis 'xp'
// CHECK: plan.npar:9:9: note: help: rules may use no axis of this mesh
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp",
                   dist.stores = [{what = "gradients", mesh = ["xp"], loc = loc("plan.npar":9:9)}]} {
  func.func @micro() {
    return
  }
}

// -----
// No way exists to split this one.
// CHECK: plan.npar:9:9: error: axis 'feature' cannot be split: operation 'attention' needs it whole
// CHECK: note: operation 'attention' is here
// CHECK: note: help: precede it with a rule that uses 'tp' in 'attention' for another axis, or an exemption: 'feature -> none in op attention'
!h = tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "feature", mesh = ["tp"], loc("plan.npar":9:9)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// A rule after an exemption: the line that exempts is named, and no 'in' is widened that is not there.
// CHECK: plan.npar:3:1: error: no operation uses the rule 'batch -> dp'
// CHECK: plan.npar:2:1: note: exempted here by 'batch -> none'
// CHECK: plan.npar:3:1: note: help: remove one of the two, or narrow the exemption with 'in'
module attributes {dist.mesh = #dist.mesh<dp = 2>, dist.rules = [#dist.rule<axis = "batch", mesh = [], loc("plan.npar":2:1)>,
                                                                 #dist.rule<axis = "batch", mesh = ["dp"], loc("plan.npar":3:1)>]} {
  func.func @micro() {
    %x = nn.input "x" : tensor<8xf32, #nn.axes<batch>>
    %e = nn.exp %x : (tensor<8xf32, #nn.axes<batch>>) -> tensor<8xf32, #nn.axes<batch>>
    return
  }
}

// -----
// An exemption that takes attention out of a rule that says how attention sees its keys.
// CHECK: plan.npar:3:1: error: the rule 'seq -> cp by gather' splits neither the keys of attention nor rows of experts
// CHECK: plan.npar:2:1: note: exempted here by 'seq -> none in op attention'
// CHECK: plan.npar:3:1: note: help: remove 'by', or narrow the exemption so that it leaves attention out
!h = tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2>,
                   dist.rules = [#dist.rule<axis = "seq", mesh = [], op = "attention", loc("plan.npar":2:1)>,
                                 #dist.rule<axis = "seq", mesh = ["cp"], by = "gather", loc("plan.npar":3:1)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    %e = nn.exp %o : (!h) -> !h
    return
  }
}

// -----
// The rows of a micro-batch are the plan's to choose: nothing is padded.
// CHECK: plan.npar:2:1: error: axis 'batch' of size 6 is not divisible by mesh axis 'dp' of size 4
// CHECK: note: split by operation 'exp' here
// CHECK: plan.npar:2:1: note: help: these are the rows of a micro-batch: make 'micro' 2 times as large, or remove the rule's 'in'
module attributes {dist.mesh = #dist.mesh<dp = 4>, dist.rules = [#dist.rule<axis = "batch", mesh = ["dp"], op = "exp", loc("plan.npar":2:1)>]} {
  func.func @micro() {
    %x = nn.input "x" : tensor<6xf32, #nn.axes<batch>>
    %e = nn.exp %x : (tensor<6xf32, #nn.axes<batch>>) -> tensor<6xf32, #nn.axes<batch>>
    return
  }
}

// -----
// Of several mesh axes the one that is refused is named: 'cp' is taken by the heads.
// CHECK: plan.npar:3:1: error: axis 'seq' cannot be split: operation 'attention' needs it whole
// CHECK: note: help: choose how its keys are exchanged: 'seq -> tp by ring' or 'by gather'; or put a rule before it that takes 'tp' in 'attention'
// CHECK: plan.npar:4:1: error: axis 'feature' cannot be split: operation 'attention' needs it whole
// CHECK: note: help: precede it with a rule that uses 'tp' in 'attention' for another axis
!h = tensor<2x4x2x8xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>
module attributes {dist.mesh = #dist.mesh<cp = 2, tp = 2>,
                   dist.rules = [#dist.rule<axis = "head", mesh = ["cp"], op = "attention", loc("plan.npar":2:1)>,
                                 #dist.rule<axis = "seq", mesh = ["cp", "tp"], loc("plan.npar":3:1)>,
                                 #dist.rule<axis = "feature", mesh = ["cp", "tp"], op = "attention", loc("plan.npar":4:1)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %o, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, !p)
    return
  }
}

// -----
// All operations that need an axis whole, in the language's words, at once: a gradient belongs to its operation.
// CHECK: plan.npar:2:1: error: axis 'row' cannot be split: operations 'select', 'stack' and 'attention' need it whole
// CHECK: note: operation 'select' is here
// CHECK: note: operation 'stack' is here
// CHECK: note: operation 'attention' is here
// CHECK: note: help: precede it with a rule that uses 'tp' in 'select' for another axis, or an exemption: 'row -> none in op select'
// CHECK: note: help: precede it with a rule that uses 'tp' in 'stack' for another axis, or an exemption: 'row -> none in op stack'
// CHECK: note: help: precede it with a rule that uses 'tp' in 'attention' for another axis, or an exemption: 'row -> none in op attention'
// CHECK-NOT: error
!h = tensor<2x4x2x2xf32, #nn.axes<batch, seq, head, row>>
!s = tensor<2x4x2xf32, #nn.axes<batch, seq, head>>
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "row", mesh = ["tp"], loc("plan.npar":2:1)>]} {
  func.func @micro() {
    %q = nn.input "q" : !h
    %a = nn.select %q at "row"[0] : (!h) -> !s
    %b = nn.stack %a, %a along "row" : (!s, !s) -> !h
    %o, %p = nn.attention %b, %b, %b {seq = "seq", key = "key", feature = "row", causal = true, scale = 0.5 : f64} : (!h, !h, !h) -> (!h, tensor<2x2x4x4xf32, #nn.axes<batch, head, seq, key>>)
    %g = nn.stack %a, %a along "row" {gradient_of = "select"} : (!s, !s) -> !h
    return
  }
}

// -----
// An exemption stands before the rules that it is for.
// CHECK: plan.npar:3:1: error: the rule 'row -> none in op exp' follows a broader rule and exempts nothing
// CHECK: plan.npar:2:1: note: 'row -> tp' has split the axis there
// CHECK: plan.npar:3:1: note: help: move it up
module attributes {dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "row", mesh = ["tp"], loc("plan.npar":2:1)>,
                                                                #dist.rule<axis = "row", mesh = [], op = "exp", loc("plan.npar":3:1)>]} {
  func.func @micro() {
    %x = nn.input "x" : tensor<6xf32, #nn.axes<row>>
    %e = nn.exp %x : (tensor<6xf32, #nn.axes<row>>) -> tensor<6xf32, #nn.axes<row>>
    return
  }
}
