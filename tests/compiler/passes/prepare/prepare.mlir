// The whole phase: folds, and no merging of the two uses of a parameter.
// RUN: npar-opt %s -prepare | FileCheck %s

!e = tensor<4xf64, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
nn.variable @w : !e {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
// CHECK-LABEL: @micro
// CHECK-NEXT: nn.read @w
// CHECK-NEXT: nn.read @w
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.sum
// CHECK-NEXT: nn.accumulate
// CHECK-NEXT: return
func.func @micro() {
  %a = nn.read @w {at = #nn.at<F, "", -1>} : !e
  %b = nn.read @w {at = #nn.at<F, "", -1>} : !e
  %unused = nn.exp %a {at = #nn.at<F, "", -1>} : (!e) -> !e
  %c = nn.shift %b by 0.0 {at = #nn.at<F, "", -1>} : (!e) -> !e
  %y = nn.mul %a, %c {at = #nn.at<F, "", -1>} : (!e, !e) -> !e
  %s = nn.sum %y {at = #nn.at<F, "", -1>} : (!e) -> !s
  nn.accumulate @"#out.loss.sum", %s {at = #nn.at<F, "", -1>} : !s
  return
}
