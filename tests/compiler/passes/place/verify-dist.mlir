// What may not be left in a placed program (RULES.md#D1 to D4).
// RUN: npar-opt %s -split-input-file -verify-dist -verify-diagnostics

module {
  func.func @micro() {
    // expected-error @below {{has a value of type 'tensor<4xf32, #nn.axes<a>>', which has no layout}}
    %x = nn.input "x" : tensor<4xf32, #nn.axes<a>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @micro() {
    // expected-error @below {{has a value of type 'tensor<4xf32, #dist.layout<a : 4 {tp}>>', whose shape does not follow from its layout}}
    %x = nn.input "x" : tensor<4xf32, #dist.layout<a : 4 {tp}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @micro() {
    %x = nn.input "x" : tensor<4xf32, #dist.layout<a : 4>>
    // expected-error @below {{is left after placing}}
    %y = dist.reshard %x : tensor<4xf32, #dist.layout<a : 4>> -> tensor<2xf32, #dist.layout<a : 4 {tp}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @micro() {
    %x = nn.input "x" : tensor<2x4xf32, #dist.layout<a : 4 {tp}, b : 4>>
    %y = nn.sum %x : (tensor<2x4xf32, #dist.layout<a : 4 {tp}, b : 4>>) -> tensor<4xf32, #dist.layout<b : 4, partial = {tp : sum}>>
    // expected-error @below {{is not linear but has a partial operand}}
    %z = nn.exp %y : (tensor<4xf32, #dist.layout<b : 4, partial = {tp : sum}>>) -> tensor<4xf32, #dist.layout<b : 4, partial = {tp : sum}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @micro() {
    %x = nn.input "x" : tensor<2x4xf32, #dist.layout<a : 4 {tp}, b : 4>>
    %w = nn.input "w" : tensor<4xf32, #dist.layout<b : 4>>
    %y = nn.sum %x : (tensor<2x4xf32, #dist.layout<a : 4 {tp}, b : 4>>) -> tensor<4xf32, #dist.layout<b : 4, partial = {tp : sum}>>
    // expected-error @below {{has operands that are partial over different mesh axes}}
    %z = nn.add %y, %w : (tensor<4xf32, #dist.layout<b : 4, partial = {tp : sum}>>, tensor<4xf32, #dist.layout<b : 4>>)
        -> tensor<4xf32, #dist.layout<b : 4, partial = {tp : sum}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2, dp = 2>} {
  func.func @micro() {
    %x = nn.input "x" : tensor<2xf32, #dist.layout<a : 4 {tp}>>
    %y = nn.input "y" : tensor<2xf32, #dist.layout<a : 4 {dp}>>
    // expected-error @below {{splits axis 'a' over ["tp"] and over ["dp"]}}
    %z = nn.add %x, %y : (tensor<2xf32, #dist.layout<a : 4 {tp}>>, tensor<2xf32, #dist.layout<a : 4 {dp}>>) -> tensor<2xf32, #dist.layout<a : 4 {tp}>>
    return
  }
}

// A renamed axis is one loop under two names.
// -----
module attributes {dist.mesh = #dist.mesh<tp = 2, dp = 2>} {
  func.func @micro() {
    %x = nn.input "x" : tensor<2xf32, #dist.layout<a : 4 {tp}>>
    // expected-error @below {{splits axis 'b' over ["tp"] and over ["dp"]}}
    %y = nn.rename %x from "a" to "b" : (tensor<2xf32, #dist.layout<a : 4 {tp}>>) -> tensor<2xf32, #dist.layout<b : 4 {dp}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @micro() {
    // expected-error @below {{is partial over 'dp', which is no mesh axis}}
    %x = nn.input "x" : tensor<4xf32, #dist.layout<a : 4, partial = {dp : sum}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @micro() {
    // expected-error @below {{splits over 'dp', which is no mesh axis}}
    %x = nn.input "x" : tensor<2xf32, #dist.layout<a : 4 {dp}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>} {
  func.func @update() {
    %x = nn.fill 0.0 : tensor<1024xf32, #dist.layout<a : 4, flat = {dp}>>
    %y = nn.fill 0.0 : tensor<1024xf32, #dist.layout<a : 4, flat = {tp}>>
    // expected-error @below {{has operands that are flat over different mesh axes}}
    %z = nn.combine %x, %y : (tensor<1024xf32, #dist.layout<a : 4, flat = {dp}>>, tensor<1024xf32, #dist.layout<a : 4, flat = {tp}>>) -> tensor<1024xf32, #dist.layout<a : 4, flat = {dp}>>
    return
  }
}

// -----
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  func.func @update() {
    // expected-error @below {{is flat over 'dp', which is no mesh axis}}
    %x = nn.fill 0.0 : tensor<1024xf32, #dist.layout<a : 4, flat = {dp}>>
    return
  }
}

// -----
// Of composite operations attention alone may be left, where it is blocked.
!q = tensor<2x4x8xf32, #dist.layout<seq : 2, head : 4, feature : 8>>
!l = tensor<4x2xf32, #dist.layout<head : 4, seq : 2>>
!p = tensor<4x2x2xf32, #dist.layout<head : 4, seq : 2, key : 2>>
module attributes {dist.mesh = #dist.mesh<>} {
  func.func @micro() {
    %q = nn.input "q" : !q
    %o, %l = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5, blocked} : (!q, !q, !q) -> (!q, !l)
    // expected-error @below {{is left after placing}}
    %r, %p = nn.attention %q, %q, %q {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5} : (!q, !q, !q) -> (!q, !p)
    return
  }
}

// -----
!x = tensor<2x3xf32, #dist.layout<row : 8 {sp}, column : 3>>
!h = tensor<4x3xf32, #dist.layout<row.near : 16 {sp}, column : 3>>
module attributes {dist.mesh = #dist.mesh<sp = 4>} {
  func.func @micro() {
    %x = nn.input "x" : !x
    // expected-error @below {{has no edges of other ranks}}
    %h = dist.halo %x of "row" {axes = ["sp"], step = 2, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
    return
  }
}
