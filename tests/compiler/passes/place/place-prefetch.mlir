// A block's stored parameters are gathered where the block before begins, in the forward and in the backward; those of the first block, and
// the gathers of @update, stay.
// RUN: npar-opt %s -allow-unregistered-dialect -place-prefetch | FileCheck %s

#p = #dist.layout<a : 4, flat = {dp}>
#w = #dist.layout<a : 4>
module attributes {dist.mesh = #dist.mesh<dp = 2>} {
  nn.variable @e : tensor<1024xf32, #p> {index = 0 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [4]}
  nn.variable @w : tensor<1024xf32, #p> {index = 1 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [4]}
  nn.variable @v : tensor<1024xf32, #p> {index = 2 : i64, init = #nn.init<ones>, kind = #nn.kind<parameter>, stored = [4]}
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    // CHECK: nn.read @e
    // CHECK-NEXT: dist.all_gather {{.*}}#nn.at<F, "e", -1>
    // CHECK-NEXT: nn.read @w
    // CHECK-NEXT: dist.all_gather {{.*}}#nn.at<F, "h.0", 0>
    // CHECK-NEXT: "test.first"
    %e = nn.read @e {at = #nn.at<F, "e", -1>} : tensor<1024xf32, #p>
    %0 = dist.all_gather %e {axes = ["dp"], dim = "#flat", at = #nn.at<F, "e", -1>} : tensor<1024xf32, #p> -> tensor<4xf32, #w>
    %1 = "test.first"(%0) {at = #nn.at<F, "e", -1>} : (tensor<4xf32, #w>) -> tensor<4xf32, #w>
    // CHECK-NEXT: nn.read @v
    // CHECK-NEXT: dist.all_gather {{.*}}#nn.at<F, "h.1", 1>
    // CHECK-NEXT: "test.block0"
    %w = nn.read @w {at = #nn.at<F, "h.0", 0>} : tensor<1024xf32, #p>
    %2 = dist.all_gather %w {axes = ["dp"], dim = "#flat", at = #nn.at<F, "h.0", 0>} : tensor<1024xf32, #p> -> tensor<4xf32, #w>
    %3 = "test.block0"(%1, %2) {at = #nn.at<F, "h.0", 0>} : (tensor<4xf32, #w>, tensor<4xf32, #w>) -> tensor<4xf32, #w>
    // CHECK-NEXT: "test.block1"
    %v = nn.read @v {at = #nn.at<F, "h.1", 1>} : tensor<1024xf32, #p>
    %4 = dist.all_gather %v {axes = ["dp"], dim = "#flat", at = #nn.at<F, "h.1", 1>} : tensor<1024xf32, #p> -> tensor<4xf32, #w>
    %5 = "test.block1"(%3, %4) {at = #nn.at<F, "h.1", 1>} : (tensor<4xf32, #w>, tensor<4xf32, #w>) -> tensor<4xf32, #w>
    // Not into the forward: the backward's first block waits for its own.
    // CHECK-NEXT: dist.all_gather {{.*}}#nn.at<B, "h.1", 1>
    // CHECK-NEXT: dist.all_gather {{.*}}#nn.at<B, "h.0", 0>
    // CHECK-NEXT: "test.back1"
    %6 = dist.all_gather %v {axes = ["dp"], dim = "#flat", at = #nn.at<B, "h.1", 1>} : tensor<1024xf32, #p> -> tensor<4xf32, #w>
    %7 = "test.back1"(%5, %6) {at = #nn.at<B, "h.1", 1>} : (tensor<4xf32, #w>, tensor<4xf32, #w>) -> tensor<4xf32, #w>
    // CHECK-NEXT: "test.back0"
    %8 = dist.all_gather %w {axes = ["dp"], dim = "#flat", at = #nn.at<B, "h.0", 0>} : tensor<1024xf32, #p> -> tensor<4xf32, #w>
    %9 = "test.back0"(%7, %8) {at = #nn.at<B, "h.0", 0>} : (tensor<4xf32, #w>, tensor<4xf32, #w>) -> tensor<4xf32, #w>
    return
  }
}
