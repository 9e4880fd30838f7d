// A whole value cannot become partial (RULES.md#P4).
// RUN: npar-opt %s -allow-unregistered-dialect -split-input-file -place-lower-reshards -verify-diagnostics
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4>>
  // expected-error @below {{cannot make a whole value partial over 'tp'}}
  %0 = dist.reshard %x : tensor<4xf32, #dist.layout<a : 4>> -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
}

// -----
// Nor can a partial sum become a partial maximum.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  %x = "test.source"() : () -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>>
  // expected-error @below {{has no way from #dist.layout<a : 4, partial = {tp : sum}> to #dist.layout<a : 4, partial = {tp : max}>}}
  %0 = dist.reshard %x : tensor<4xf32, #dist.layout<a : 4, partial = {tp : sum}>> -> tensor<4xf32, #dist.layout<a : 4, partial = {tp : max}>>
}
