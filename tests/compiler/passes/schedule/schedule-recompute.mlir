// RUN: npar-opt %s -schedule-recompute -split-input-file | FileCheck %s -enable-var-scope

// Within a part the backward repeats on; where the part begins it takes what the forward had, and the copy that only led there goes. What
// only gradients of parameters use of the copies is theirs (W).
#t = #dist.layout<batch : 4>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "", -1>, pipe.place = 0 : i64} : tensor<4xf32, #t>
    // CHECK: %[[A:.+]] = nn.exp {{.*}}{at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64}
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64, recompute = 0 : i64} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK: %[[B:.+]] = nn.exp %[[A]] {at = #nn.at<F, "h.1", 1>, pipe.place = 0 : i64}
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>, pipe.place = 0 : i64, recompute = 1 : i64} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    %c = nn.exp %b {at = #nn.at<F, "h.2", 2>, pipe.place = 1 : i64, recompute = 2 : i64} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK: %[[A2:.+]] = nn.exp %{{.+}} {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64}
    %a2 = nn.exp %x {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64, recompute = 0 : i64} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    %k0 = nn.checkpoint %a or %a2 {at = #nn.at<B, "h.1", 1>, pipe.place = 0 : i64} : tensor<4xf32, #t>
    // CHECK-NOT: nn.exp %[[A2]]
    %b2 = nn.exp %k0 {at = #nn.at<B, "h.1", 1>, pipe.place = 0 : i64, recompute = 1 : i64} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    %k1 = nn.checkpoint %b or %b2 {at = #nn.at<B, "h.2", 2>, pipe.place = 1 : i64} : tensor<4xf32, #t>
    // CHECK: %[[C2:.+]] = nn.exp %[[B]] {at = #nn.at<B, "h.2", 2>, pipe.place = 1 : i64, pipe.weight}
    %c2 = nn.exp %k1 {at = #nn.at<B, "h.2", 2>, pipe.place = 1 : i64, recompute = 2 : i64} : (tensor<4xf32, #t>) -> tensor<4xf32, #t>
    // CHECK-NEXT: nn.accumulate @w.grad.0, %[[C2]] {at = #nn.at<B, "h.2", 2>, pipe.place = 1 : i64, pipe.weight}
    nn.accumulate @w.grad.0, %c2 {at = #nn.at<B, "h.2", 2>, pipe.place = 1 : i64} : tensor<4xf32, #t>
    // CHECK-NEXT: nn.mul %[[B]], %[[A2]] {at = #nn.at<B, "h.1", 1>, pipe.place = 0 : i64}
    %d = nn.mul %k1, %k0 {at = #nn.at<B, "h.1", 1>, pipe.place = 0 : i64} : (tensor<4xf32, #t>, tensor<4xf32, #t>) -> tensor<4xf32, #t>
    %e = nn.mul %d, %a2 {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4xf32, #t>, tensor<4xf32, #t>) -> tensor<4xf32, #t>
    nn.accumulate @w.grad.1, %e {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : tensor<4xf32, #t>
    return
  }
  nn.variable @w.grad.0 : tensor<4xf32, #t> {kind = #nn.kind<accumulator>}
  nn.variable @w.grad.1 : tensor<4xf32, #t> {kind = #nn.kind<accumulator>}
}
