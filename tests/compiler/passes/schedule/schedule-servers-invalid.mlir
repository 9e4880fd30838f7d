// RUN: npar-opt %s -schedule-servers -split-input-file -verify-diagnostics

// Between parameters and gradients no rank needs what others compute.
#p = #dist.layout<partial = {dp : sum}>
#w = #dist.layout<>
!p = tensor<f64, #p>
!w = tensor<f64, #w>
module attributes {dist.mesh = #dist.mesh<dp = 2>, dist.servers = {axis = "dp"}} {
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  pipe.order stage(0) ["F0:0", "B0:0", "U0"]
  func.func @micro() {
    %x = nn.fill 1.0 {pipe.place = 0, at = #nn.at<F, "norm", -1>} : !p
    // expected-error@+2 {{the ranks along 'dp' compute their samples alone under 'central', but this operation needs those of all}}
    // expected-note@+1 {{help: remove `central`}}
    %y = dist.all_reduce %x {pipe.place = 0, at = #nn.at<F, "norm", -1>, axes = ["dp"], op = "sum"} : !p -> !w
    return
  }
  func.func @update() {
    return
  }
}

// -----

// The first rank adds up; it finds no maximum.
#p = #dist.layout<partial = {dp : max}>
#w = #dist.layout<>
!p = tensor<f64, #p>
!w = tensor<f64, #w>
module attributes {dist.mesh = #dist.mesh<dp = 2>, dist.servers = {axis = "dp"}} {
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  pipe.order stage(0) ["F0:0", "B0:0", "U0"]
  func.func @micro() {
    return
  }
  func.func @update() {
    %x = nn.fill 1.0 {at = #nn.at<U, "", -1>} : !p
    // expected-error@+2 {{under 'central' the first rank along 'dp' only adds up what the others send, but this operation needs more than a sum}}
    // expected-note@+1 {{help: remove `central`}}
    %y = dist.all_reduce %x {at = #nn.at<U, "", -1>, axes = ["dp"], op = "max"} : !p -> !w
    return
  }
}
