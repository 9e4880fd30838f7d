// RUN: npar-opt %s -schedule-repeat -split-input-file | FileCheck %s -enable-var-scope

// The activation's operand is kept for its gradient; its result, which the weight's gradient needs, is made of it again. Both are in B even
// if the weight's gradient is W's.
#t = #dist.layout<batch : 4, embed : 8>
#w = #dist.layout<embed : 8>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %i = nn.input "x" {at = #nn.at<F, "", -1>, pipe.place = 0 : i64} : tensor<4x8xf32, #t>
    %m = nn.read @w {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : tensor<8xf32, #w>
    // CHECK: %[[X:.+]] = nn.softmax
    %x = nn.softmax %i over "embed" {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    // CHECK: nn.gelu %[[X]] {at = #nn.at<F, "h.0", 0>
    %h = nn.gelu %x {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    %y = nn.mul %h, %m {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<8xf32, #w>) -> tensor<4x8xf32, #t>
    // CHECK: %[[DY:.+]] = nn.mul {{.*}}{at = #nn.at<B
    %dy = nn.mul %i, %m {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<8xf32, #w>) -> tensor<4x8xf32, #t>
    // CHECK-NEXT: nn.gelu_grad %[[X]], %[[DY]]
    %dx = nn.gelu_grad %x, %dy {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    // CHECK-NEXT: %[[H:.+]] = nn.gelu %[[X]] {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64}
    // CHECK-NEXT: nn.mul %[[DY]], %[[H]] {{.*}}pipe.weight
    %p = nn.mul %dy, %h {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64, pipe.weight} : (tensor<4x8xf32, #t>, tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    %dw = nn.sum %p {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64, pipe.weight} : (tensor<4x8xf32, #t>) -> tensor<8xf32, #w>
    nn.accumulate @w.grad.0, %dw {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64, pipe.weight} : tensor<8xf32, #w>
    // A later use takes the same copy.
    // CHECK: nn.mul %{{.+}}, %[[H]]
    %q = nn.mul %dx, %h {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    %dv = nn.sum %q {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<8xf32, #w>
    nn.accumulate @w.grad.0, %dv {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : tensor<8xf32, #w>
    return
  }
  nn.variable @w : tensor<8xf32, #w> {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @w.grad.0 : tensor<8xf32, #w> {kind = #nn.kind<accumulator>}
}

// -----

// A chain that begins with kept values and a parameter is walked again, but no reduction, and nothing of what the backward does not have:
// %n needs the mean, which is kept, and of %e, whose operand is not, the result is kept.
#t = #dist.layout<batch : 4, embed : 8>
#r = #dist.layout<batch : 4>
#w = #dist.layout<embed : 8>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %i = nn.input "x" {at = #nn.at<F, "", -1>, pipe.place = 0 : i64} : tensor<4x8xf32, #t>
    %g = nn.read @w {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : tensor<8xf32, #w>
    %x = nn.softmax %i over "embed" {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    // CHECK: %[[MEAN:.+]] = nn.sum
    %m = nn.sum %x {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<4xf32, #r>
    %c = nn.sub %x, %m {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<4xf32, #r>) -> tensor<4x8xf32, #t>
    %n = nn.mul %c, %g {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<8xf32, #w>) -> tensor<4x8xf32, #t>
    %s = nn.softmax %n over "embed" {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    // CHECK: %[[E:.+]] = nn.exp
    %e = nn.exp %s {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    // CHECK-NOT: {{nn.sum|nn.exp}}
    // CHECK: nn.sub %{{.+}}, %[[MEAN]] {at = #nn.at<B
    // CHECK-NEXT: %[[N:.+]] = nn.mul %{{.+}}, %{{.+}} {at = #nn.at<B
    // CHECK-NEXT: nn.mul %[[N]], %[[E]]
    %a = nn.mul %n, %e {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    %b = nn.sub %x, %m {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<4xf32, #r>) -> tensor<4x8xf32, #t>
    %d = nn.mul %a, %b {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>, tensor<4x8xf32, #t>) -> tensor<4x8xf32, #t>
    %dw = nn.sum %d {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<4x8xf32, #t>) -> tensor<8xf32, #w>
    nn.accumulate @w.grad.0, %dw {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : tensor<8xf32, #w>
    return
  }
  nn.variable @w : tensor<8xf32, #w> {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @w.grad.0 : tensor<8xf32, #w> {kind = #nn.kind<accumulator>}
}

// -----

// A sum that goes on from block to block is repeated at every other one only: %b is kept, for what leads to it is another block's copy.
// What another part of the model has computed is kept where it is needed.
#t = #dist.layout<embed : 8>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %x = nn.read @w {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : tensor<8xf32, #t>
    %a = nn.exp %x {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<8xf32, #t>) -> tensor<8xf32, #t>
    // CHECK: %[[B:.+]] = nn.exp %{{.+}} {at = #nn.at<F, "h.1", 1>
    %b = nn.exp %a {at = #nn.at<F, "h.1", 1>, pipe.place = 0 : i64} : (tensor<8xf32, #t>) -> tensor<8xf32, #t>
    // CHECK: %[[C:.+]] = nn.exp %{{.+}} {at = #nn.at<F, "h.2", 2>
    %c = nn.exp %b {at = #nn.at<F, "h.2", 2>, pipe.place = 0 : i64} : (tensor<8xf32, #t>) -> tensor<8xf32, #t>
    // CHECK-NOT: nn.exp
    // CHECK: nn.mul %[[C]], %[[C]] {at = #nn.at<B, "h.3", 3>
    %d = nn.mul %c, %c {at = #nn.at<B, "h.3", 3>, pipe.place = 1 : i64} : (tensor<8xf32, #t>, tensor<8xf32, #t>) -> tensor<8xf32, #t>
    // CHECK-NEXT: %[[C2:.+]] = nn.exp %[[B]] {at = #nn.at<B, "h.2", 2>, pipe.place = 0 : i64}
    // CHECK-NEXT: nn.mul %{{.+}}, %[[C2]]
    %e = nn.mul %d, %c {at = #nn.at<B, "h.2", 2>, pipe.place = 0 : i64} : (tensor<8xf32, #t>, tensor<8xf32, #t>) -> tensor<8xf32, #t>
    // CHECK-NEXT: nn.mul %{{.+}}, %[[B]]
    %f = nn.mul %e, %b {at = #nn.at<B, "h.1", 1>, pipe.place = 0 : i64} : (tensor<8xf32, #t>, tensor<8xf32, #t>) -> tensor<8xf32, #t>
    // CHECK-NEXT: %[[A2:.+]] = nn.exp %{{.+}} {at = #nn.at<B, "h.0", 0>
    // CHECK-NEXT: nn.mul %{{.+}}, %[[A2]]
    %g = nn.mul %f, %a {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<8xf32, #t>, tensor<8xf32, #t>) -> tensor<8xf32, #t>
    nn.accumulate @w.grad.0, %g {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : tensor<8xf32, #t>
    return
  }
  nn.variable @w : tensor<8xf32, #t> {kind = #nn.kind<parameter>, stored = [8], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @w.grad.0 : tensor<8xf32, #t> {kind = #nn.kind<accumulator>}
}

// -----

// Both parts are needed, so the whole is kept and the parts are views of it; of %o one part is, and kept alone.
#p = #dist.layout<part : 2, embed : 8>
#t = #dist.layout<embed : 8>
module {
  // CHECK-LABEL: func.func @micro
  func.func @micro() {
    %i = nn.input "x" {at = #nn.at<F, "", -1>, pipe.place = 0 : i64} : tensor<2x8xf32, #p>
    // CHECK: %[[X:.+]] = nn.softmax
    %x = nn.softmax %i over "embed" {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<2x8xf32, #p>) -> tensor<2x8xf32, #p>
    %a = nn.select %x at "part"[0] {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<2x8xf32, #p>) -> tensor<8xf32, #t>
    %b = nn.select %x at "part"[1] {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<2x8xf32, #p>) -> tensor<8xf32, #t>
    %o = nn.softmax %x over "embed" {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<2x8xf32, #p>) -> tensor<2x8xf32, #p>
    // CHECK: %[[C:.+]] = nn.select {{.*}}{at = #nn.at<F
    // CHECK: %[[C:.+]] = nn.select {{.*}}{at = #nn.at<F
    // CHECK: %[[C:.+]] = nn.select {{.*}}{at = #nn.at<F
    %c = nn.select %o at "part"[1] {at = #nn.at<F, "h.0", 0>, pipe.place = 0 : i64} : (tensor<2x8xf32, #p>) -> tensor<8xf32, #t>
    // CHECK: %[[A:.+]] = nn.select %[[X]] at "part"[0] {at = #nn.at<B
    // CHECK-NEXT: %[[B:.+]] = nn.select %[[X]] at "part"[1] {at = #nn.at<B
    // CHECK-NEXT: %[[D:.+]] = nn.mul %[[A]], %[[B]]
    %d = nn.mul %a, %b {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<8xf32, #t>, tensor<8xf32, #t>) -> tensor<8xf32, #t>
    // CHECK-NEXT: nn.mul %[[D]], %[[C]]
    %e = nn.mul %d, %c {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : (tensor<8xf32, #t>, tensor<8xf32, #t>) -> tensor<8xf32, #t>
    nn.accumulate @w.grad.0, %e {at = #nn.at<B, "h.0", 0>, pipe.place = 0 : i64} : tensor<8xf32, #t>
    return
  }
  nn.variable @w.grad.0 : tensor<8xf32, #t> {kind = #nn.kind<accumulator>}
}
