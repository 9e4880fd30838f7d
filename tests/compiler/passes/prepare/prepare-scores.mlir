// What attention does to its scores as one formula: positions and what is of queries by keys go in, the rest becomes data.
// RUN: npar-opt %s -split-input-file -prepare-scores -canonicalize | FileCheck %s -enable-var-scope

// A slope per head times the distance, a table that distances look up in, and a window within documents; the table and the slope have a
// gradient. The equal formula of a second attention is the same one.
!q = tensor<2x8x4x16xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
!h = tensor<4xf32, #nn.axes<head>>
!t = tensor<5x4xf32, #nn.axes<distance, head>>
!d = tensor<2x8xi32, #nn.axes<batch, seq>>
!dk = tensor<2x8xi32, #nn.axes<batch, key>>
!i = tensor<8xi32, #nn.axes<seq>>
!j = tensor<8xi32, #nn.axes<key>>
!ij = tensor<8x8xi32, #nn.axes<seq, key>>
!s = tensor<i32, #nn.axes<>>
!f = tensor<8x8xf32, #nn.axes<seq, key>>
!b = tensor<8x8x4xf32, #nn.axes<seq, key, head>>
!m = tensor<2x8x8xi32, #nn.axes<batch, seq, key>>
// CHECK: nn.scores @formula_0 attributes {back = 2 : i64} {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<1x1xf32, #nn.axes<score.query, score.key>>, %[[I:.+]]: tensor<1xi32, #nn.axes<score.query>>, %[[J:.+]]: tensor<1xi32, #nn.axes<score.key>>, %[[SLOPE:.+]]: tensor<f32, #nn.axes<>>, %[[TABLE:.+]]: tensor<5xf32, #nn.axes<score.table>>, %[[OF:.+]]: tensor<1xi32, #nn.axes<score.query>>, %[[OTHER:.+]]: tensor<1xi32, #nn.axes<score.key>>):
// CHECK-DAG: %[[WIDE:.+]] = nn.broadcast %[[SLOPE]]
// CHECK-DAG: %[[BACK:.+]] = nn.integer "sub" %[[I]], %[[J]]
// CHECK-DAG: nn.gather %[[TABLE]], %{{.+}} over "score.table"
// CHECK-DAG: nn.compare "equal" %[[OF]], %[[OTHER]]
// CHECK: nn.scores_yield %{{.+}} : tensor<1x1xf32, #nn.axes<score.query, score.key>>
// CHECK-NOT: nn.scores
// CHECK-LABEL: func.func @micro
func.func @micro() {
  %q = nn.input "q" : !q
  %doc = nn.input "doc" : !d
  %slope = nn.read @slope : !h
  %table = nn.read @table : !t
  %other = nn.rename %doc from "seq" to "key" : (!d) -> !dk
  %i = nn.index : !i
  %j = nn.index : !j
  %back = nn.integer "sub" %i, %j : (!i, !j) -> !ij
  %three = nn.fill 3.0 : !s
  %near = nn.compare "less" %back, %three : (!ij, !s) -> !ij
  %same = nn.compare "equal" %doc, %other : (!d, !dk) -> !m
  %seen = nn.integer "and" %same, %near : (!m, !ij) -> !m
  %far = nn.to_float %back : (!ij) -> !f
  %line = nn.mul %far, %slope : (!f, !h) -> !b
  %steps = nn.gather %table, %back over "distance" : (!t, !ij) -> !b
  %bias = nn.add %line, %steps : (!b, !b) -> !b
  // CHECK-DAG: %[[READ:.+]] = nn.read @slope
  // CHECK-DAG: %[[STEPS:.+]] = nn.read @table
  // CHECK-DAG: %[[DOC:.+]] = nn.input "doc"
  // CHECK-DAG: %[[KEYS:.+]] = nn.rename %[[DOC]]
  // CHECK-NOT: nn.integer
  // CHECK-COUNT-2: nn.attention %{{.+}}, %{{.+}}, %{{.+}}, %[[READ]], %[[STEPS]], %[[DOC]], %[[KEYS]] {causal = true, feature = "feature", key = "key", scale = 2.500000e-01 : f64, scores = @formula_0, seq = "seq", sloped = array<i64: 0, 1>}
  %o, %p = nn.attention %q, %q, %q, %bias, %seen {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.25,
      biased = true, masked = true} : (!q, !q, !q, !b, !m) -> (!q, !p)
  %o2, %p2 = nn.attention %o, %o, %o, %bias, %seen {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.25,
      biased = true, masked = true} : (!q, !q, !q, !b, !m) -> (!q, !p)
  nn.accumulate @sum, %o2 : !q
  return
}
nn.variable @slope : !h {kind = #nn.kind<parameter>, stored = [4], init = #nn.init<ones>, index = 0 : i64}
nn.variable @table : !t {kind = #nn.kind<parameter>, stored = [5, 4], init = #nn.init<ones>, index = 1 : i64}
nn.variable @sum : !q {kind = #nn.kind<accumulator>}

// -----

// A cap and dropped probabilities of bf16, to the keys of another sequence: in f32; samples and heads are numbered outside.
!q = tensor<2x8x4x16xbf16, #nn.axes<batch, seq, head, feature>>
!k = tensor<2x6x4x16xbf16, #nn.axes<batch, src, head, feature>>
!p = tensor<2x4x8x6xbf16, #nn.axes<batch, head, seq, src.key>>
// CHECK-LABEL: nn.scores @formula_0
// CHECK: ^bb0(%[[X:.+]]: tensor<1x1xf32, {{.+}}>, %[[I:.+]]: {{.+}}, %[[J:.+]]: {{.+}}, %[[ROW:.+]]: tensor<i32, #nn.axes<>>):
// CHECK: %[[SMALL:.+]] = nn.scale %[[X]] by 5.000000e-01
// CHECK: %[[BENT:.+]] = nn.tanh %[[SMALL]]
// CHECK: %[[CAPPED:.+]] = nn.scale %[[BENT]] by 2.000000e+00
// CHECK: %[[FACTOR:.+]] = nn.score_dropout %[[ROW]], %[[I]], %[[J]] {keys = 6 : i64, queries = 8 : i64, rate = 1.000000e-01 : f64, rows = 8 : i64, site = "here"}
// CHECK: nn.scores_yield %[[CAPPED]], %[[FACTOR]]
// CHECK-LABEL: func.func @micro
// CHECK-DAG: %[[BATCH:.+]] = nn.index : tensor<2xi32, #nn.axes<batch>>
// CHECK-DAG: %[[HEAD:.+]] = nn.index : tensor<4xi32, #nn.axes<head>>
// CHECK: %[[NUMBER:.+]] = nn.integer "add" %{{.+}}, %[[HEAD]] : {{.+}} -> tensor<2x4xi32, #nn.axes<batch, head>>
// CHECK: nn.attention %{{.+}}, %{{.+}}, %{{.+}}, %[[NUMBER]] {causal = false, feature = "feature", key = "src.key", key_count = 6 : i64, keys = "src", scale = {{.+}}, scores = @formula_0, seq = "seq"}
func.func @micro() {
  %q = nn.input "q" : !q
  %k = nn.input "k" : !k
  %o, %p = nn.attention %q, %k, %k {seq = "seq", key = "src.key", keys = "src", key_count = 6 : i64, feature = "feature", causal = false,
      scale = 0.25, cap = 2.0, dropout = 0.1, site = "here"} : (!q, !k, !k) -> (!q, !p)
  nn.accumulate @sum, %o : !q
  return
}
nn.variable @sum : !q {kind = #nn.kind<accumulator>}
