// RUN: npar-opt %s -schedule-buckets -split-input-file | FileCheck %s -enable-var-scope
// RUN: npar-opt %s -schedule-buckets=members=1 -split-input-file | FileCheck %s -enable-var-scope --check-prefix=ONE

// Accumulators are ready in the order in which the last backward fills them: c, b, a. Two fit into 32 bytes; what is added over another
// mesh axis or with another operator is a bucket of its own; reductions of something else stay where they are.
#a = #dist.layout<row : 4>
#p = #dist.layout<row : 4, partial = {dp : sum}>
#q = #dist.layout<row : 4, partial = {tp : sum}>
!a = tensor<4xf32, #a>
!p = tensor<4xf32, #p>
!q = tensor<4xf32, #q>
module attributes {dist.mesh = #dist.mesh<dp = 2, tp = 2>, dist.bucket = 32 : i64} {
  nn.variable @w : !a {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @a : !p {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  nn.variable @b : !p {kind = #nn.kind<accumulator>, of = @w, use = 1 : i64}
  nn.variable @c : !p {kind = #nn.kind<accumulator>, of = @w, use = 2 : i64}
  nn.variable @d : !q {kind = #nn.kind<accumulator>, of = @w, use = 3 : i64}
  nn.variable @sum : !p {kind = #nn.kind<accumulator>}
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = nn.fill 1.0 : !p
    nn.accumulate @sum, %x : !p
  }
  pipe.fragment @B0 stage(0) phase(B) {
    %x = nn.fill 1.0 : !p
    %y = nn.fill 1.0 : !q
    nn.accumulate @c, %x : !p
    nn.accumulate @d, %y : !q
    nn.accumulate @b, %x : !p
    nn.accumulate @a, %x : !p
  }
  pipe.fragment @U0 stage(0) phase(U) {
    %s = nn.read @sum : !p
    %t = dist.all_reduce %s {axes = ["dp"], op = "sum"} : !p -> !a
    %a0 = nn.read @a : !p
    %a1 = dist.all_reduce %a0 {axes = ["dp"], op = "sum"} : !p -> !a
    nn.write @w, %a1 : !a
    %b0 = nn.read @b : !p
    %b1 = dist.all_reduce %b0 {axes = ["dp"], op = "sum"} : !p -> !a
    nn.write @w, %b1 : !a
    %c0 = nn.read @c : !p
    %c1 = dist.all_reduce %c0 {axes = ["dp"], op = "sum"} : !p -> !a
    nn.write @w, %c1 : !a
    %d0 = nn.read @d : !q
    %d1 = dist.all_reduce %d0 {axes = ["tp"], op = "sum"} : !q -> !a
    nn.write @w, %d1 : !a
  }
  pipe.order stage(0) ["F0:0", "B0:0", "U0"]
}
// CHECK-LABEL: pipe.fragment @U0
// CHECK-NEXT: %[[D:.*]] = nn.read @d
// CHECK-NEXT: dist.all_reduce %[[D]] {axes = ["tp"], op = "sum", pipe.bucket = 0 : i64}
// CHECK-NEXT: %[[C:.*]] = nn.read @c
// CHECK-NEXT: %[[B:.*]] = nn.read @b
// CHECK-NEXT: dist.all_reduce %[[C]] {axes = ["dp"], op = "sum", pipe.bucket = 1 : i64}
// CHECK-NEXT: dist.all_reduce %[[B]] {axes = ["dp"], op = "sum", pipe.bucket = 1 : i64}
// CHECK-NEXT: %[[A:.*]] = nn.read @a
// CHECK-NEXT: dist.all_reduce %[[A]] {axes = ["dp"], op = "sum", pipe.bucket = 2 : i64}
// CHECK-NEXT: %[[S:.*]] = nn.read @sum
// CHECK-NEXT: dist.all_reduce %[[S]] {axes = ["dp"], op = "sum"}
// CHECK-NEXT: nn.write @w

// With at most one member c and b, too, are buckets of their own.
// ONE-LABEL: pipe.fragment @U0
// ONE-NEXT: %[[C:.*]] = nn.read @c
// ONE-NEXT: dist.all_reduce %[[C]] {axes = ["dp"], op = "sum", pipe.bucket = 0 : i64}
// ONE-NEXT: %[[D:.*]] = nn.read @d
// ONE-NEXT: dist.all_reduce %[[D]] {axes = ["tp"], op = "sum", pipe.bucket = 1 : i64}
// ONE-NEXT: %[[B:.*]] = nn.read @b
// ONE-NEXT: dist.all_reduce %[[B]] {axes = ["dp"], op = "sum", pipe.bucket = 2 : i64}
// ONE-NEXT: %[[A:.*]] = nn.read @a
// ONE-NEXT: dist.all_reduce %[[A]] {axes = ["dp"], op = "sum", pipe.bucket = 3 : i64}

// -----

// Reductions of the results over a further mesh axis are a bucket again, right after them.
#w = #dist.layout<row : 4>
#m = #dist.layout<row : 4, partial = {node : sum}>
#n = #dist.layout<row : 4, partial = {node : sum, dp : sum}>
!w = tensor<4xf32, #w>
!m = tensor<4xf32, #m>
!n = tensor<4xf32, #n>
module attributes {dist.mesh = #dist.mesh<node = 2, dp = 2>, dist.bucket = 1000 : i64} {
  nn.variable @w : !w {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<zeros>, index = 0 : i64}
  nn.variable @a : !n {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64}
  nn.variable @b : !n {kind = #nn.kind<accumulator>, of = @w, use = 1 : i64}
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
  }
  pipe.fragment @B0 stage(0) phase(B) {
    %x = nn.fill 1.0 : !n
    nn.accumulate @a, %x : !n
    nn.accumulate @b, %x : !n
  }
  pipe.fragment @U0 stage(0) phase(U) {
    %a0 = nn.read @a : !n
    %a1 = dist.all_reduce %a0 {axes = ["dp"], op = "sum"} : !n -> !m
    %a2 = dist.all_reduce %a1 {axes = ["node"], op = "sum"} : !m -> !w
    %b0 = nn.read @b : !n
    %b1 = dist.all_reduce %b0 {axes = ["dp"], op = "sum"} : !n -> !m
    %b2 = dist.all_reduce %b1 {axes = ["node"], op = "sum"} : !m -> !w
    %c = nn.add %a2, %b2 : (!w, !w) -> !w
    nn.write @w, %c : !w
  }
  pipe.order stage(0) ["F0:0", "B0:0", "U0"]
}
// CHECK-LABEL: pipe.fragment @U0
// CHECK-NEXT: nn.read @a
// CHECK-NEXT: nn.read @b
// CHECK-NEXT: %[[A:.*]] = dist.all_reduce {{.*}} {axes = ["dp"], op = "sum", pipe.bucket = 0 : i64}
// CHECK-NEXT: %[[B:.*]] = dist.all_reduce {{.*}} {axes = ["dp"], op = "sum", pipe.bucket = 0 : i64}
// CHECK-NEXT: dist.all_reduce %[[A]] {axes = ["node"], op = "sum", pipe.bucket = 1 : i64}
// CHECK-NEXT: dist.all_reduce %[[B]] {axes = ["node"], op = "sum", pipe.bucket = 1 : i64}
// CHECK-NEXT: nn.add
