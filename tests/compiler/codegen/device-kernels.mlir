// Kernels for GPUs: what one thread does, and the text that a program holds.
// RUN: npar-opt %s -split-input-file -codegen-show-kernels=stage=threads | FileCheck %s
// RUN: npar-opt %s -split-input-file -codegen-show-kernels=stage=ptx | FileCheck %s --check-prefix=PTX

// Sixteen threads walk a row, a lane each; teams take every so-manieth row. The tree over the lanes is four exchanges, after which all have the sum;
// the tail is a masked lane; exp is computed again where the processor keeps it on the stack.
// CHECK-LABEL: func.func @softmax.threads
// CHECK-DAG: %[[TEAM:.+]] = arith.constant 15 : i32
// CHECK-DAG: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"()
// CHECK-NOT: llvm.alloca
// CHECK: scf.for
// CHECK: arith.maximumf {{.*}} vector<1xf32>
// CHECK: llvm.intr.masked.load {{.*}} vector<1xf32>
// CHECK: %[[EIGHT:.+]] = arith.constant 8 : i32
// CHECK: "llvm.nvvm.shfl.sync.bfly.i32"(%{{.+}}, %{{.+}}, %[[EIGHT]]
// CHECK: arith.maximumf
// CHECK: %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK: "llvm.nvvm.shfl.sync.bfly.i32"(%{{.+}}, %{{.+}}, %[[FOUR]]
// CHECK: llvm.intr.masked.store {{.*}} vector<1xf32>
// CHECK-NOT: fastmath
// PTX: // npar kernels sm_90
// PTX-NEXT: // kernel softmax threads 64 rows 4 extent 3 : f32[60] -> f32[60]
// PTX-NEXT: .version 8.1
// PTX-NEXT: .target sm_90
// PTX-LABEL: .visible .entry softmax(
// PTX-NEXT: .param .align 8 .b8 softmax_param_0[16],
// PTX-NEXT: .param .u64 {{.*}}softmax_param_1
// PTX: .reqntid 64
// PTX: max.NaN.f32
// PTX: shfl.sync.bfly.b32 {{.*}}, 8, 31, {{.*}}
// PTX: fma.rn.f32
// PTX: div.rn.f32
// PTX: st.global.b32
rank.kernel @softmax attributes {extent = 3 : i64, flops = 100.0 : f64} {
^bb0(%x: tensor<3x20xf32, #nn.axes<seq, key>>):
  %m = nn.max %x : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<3xf32, #nn.axes<seq>>
  %d = nn.sub %x, %m : (tensor<3x20xf32, #nn.axes<seq, key>>, tensor<3xf32, #nn.axes<seq>>) -> tensor<3x20xf32, #nn.axes<seq, key>>
  %e = nn.exp %d : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<3x20xf32, #nn.axes<seq, key>>
  %s = nn.sum %e : (tensor<3x20xf32, #nn.axes<seq, key>>) -> tensor<3xf32, #nn.axes<seq>>
  %y = nn.div %e, %s : (tensor<3x20xf32, #nn.axes<seq, key>>, tensor<3xf32, #nn.axes<seq>>) -> tensor<3x20xf32, #nn.axes<seq, key>>
  rank.yield %y : tensor<3x20xf32, #nn.axes<seq, key>>
}

// -----
// A value of a whole row is stored by one thread of its team, when all of them have read.
// CHECK-LABEL: func.func @total.threads
// CHECK: "llvm.nvvm.bar.warp.sync"
// CHECK: scf.if
// CHECK-NEXT: llvm.store %{{.+}} : i16, !llvm.ptr
// PTX: // kernel total threads 64 rows 4 extent 2 : bf16[64] -> bf16[2]
// PTX: bar.warp.sync
rank.kernel @total attributes {extent = 2 : i64, flops = 4.0 : f64} {
^bb0(%x: tensor<2x32xbf16, #nn.axes<batch, embed>>):
  %s = nn.sum %x : (tensor<2x32xbf16, #nn.axes<batch, embed>>) -> tensor<2xbf16, #nn.axes<batch>>
  rank.yield %s : tensor<2xbf16, #nn.axes<batch>>
}

// -----
// Sums over rows: a row of the kernel is one vector of columns, where the processor takes up to four.
// CHECK-LABEL: func.func @columns.threads
// PTX: // kernel columns threads 64 rows 4 extent 4 : f32[320] f32[64] -> f32[64] inplace 0=1
rank.kernel @columns attributes {extent = 1 : i64, flops = 4.0 : f64, inplace = [array<i64: 0, 1>]} {
^bb0(%x: tensor<5x64xf32, #nn.axes<batch, embed>>, %a: tensor<64xf32, #nn.axes<embed>>):
  %s = nn.sum %x : (tensor<5x64xf32, #nn.axes<batch, embed>>) -> tensor<64xf32, #nn.axes<embed>>
  %t = nn.add %s, %a : (tensor<64xf32, #nn.axes<embed>>, tensor<64xf32, #nn.axes<embed>>) -> tensor<64xf32, #nn.axes<embed>>
  rank.yield %t : tensor<64xf32, #nn.axes<embed>>
}

// -----
// Long sums over few rows are a block's: terms of 512 rows at a time go to shared memory, those behind the last row as -0, and one team adds
// them up in their order, 32 at a time, when all teams have begun to load the next ones. One team stores.
// CHECK-LABEL: func.func @long.threads
// CHECK: %[[NONE:.+]] = arith.constant -0.000000e+00 : f32
// CHECK: arith.minsi
// CHECK: arith.select %{{.+}}, %{{.+}}, %[[NONE]]
// CHECK-COUNT-32: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: "llvm.nvvm.barrier.cta.sync.aligned.all"
// CHECK: scf.for
// CHECK-COUNT-32: llvm.load {{.*}} : !llvm.ptr -> vector<1xf32>
// CHECK: scf.if
// CHECK: %[[SUM:.+]] = scf.for {{.*}} iter_args(%[[FIRST:.+]] =
// CHECK-COUNT-32: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: arith.addf %[[FIRST]],
// CHECK-COUNT-31: arith.addf
// CHECK: "llvm.nvvm.barrier.cta.sync.aligned.all"
// CHECK-COUNT-32: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: "llvm.nvvm.barrier.cta.sync.aligned.all"
// CHECK: scf.if
// CHECK: llvm.store {{.*}} vector<1xf32>
// PTX: // kernel long threads 256 rows 1 extent 4 : f32[64000] -> f32[64]
// PTX: bar.sync 0
rank.kernel @long attributes {extent = 1 : i64, flops = 4.0 : f64} {
^bb0(%x: tensor<1000x64xf32, #nn.axes<batch, embed>>):
  %s = nn.sum %x : (tensor<1000x64xf32, #nn.axes<batch, embed>>) -> tensor<64xf32, #nn.axes<embed>>
  rank.yield %s : tensor<64xf32, #nn.axes<embed>>
}

// -----
// Each chunk of a table's row looks at 32 tokens at a time and adds those that name it, the first one first.
// CHECK-LABEL: func.func @scatter.threads
// CHECK: "llvm.nvvm.vote.ballot.sync"
// CHECK: scf.while
// CHECK: llvm.intr.cttz
// CHECK: arith.addf {{.*}} vector<1xf32>
// PTX: // kernel scatter threads 64 rows 2 extent 7 : i32[40] f32[1280] -> f32[224]
// PTX: vote.sync.ballot.b32
rank.kernel @scatter attributes {extent = 1 : i64, flops = 4.0 : f64} {
^bb0(%i: tensor<40xi32, #nn.axes<batch>>, %d: tensor<40x32xf32, #nn.axes<batch, embed>>):
  %s = nn.scatter_add %i, %d over "vocab" : (tensor<40xi32, #nn.axes<batch>>, tensor<40x32xf32, #nn.axes<batch, embed>>) -> tensor<7x32xf32, #nn.axes<vocab, embed>>
  rank.yield %s : tensor<7x32xf32, #nn.axes<vocab, embed>>
}

// -----
// The squares of a gradient, of all gradients of a size at once.
// PTX: // kernel squares threads 64 rows 4 extent 2 many : f32[1280] -> f64[2]
rank.kernel @squares attributes {extent = 1 : i64, flops = 4.0 : f64} {
^bb0(%x: tensor<40x32xf32, #nn.axes<batch, embed>>):
  %s = rank.square_sum %x {replicas = []} : (tensor<40x32xf32, #nn.axes<batch, embed>>) -> tensor<2xf64, #nn.axes<block>>
  rank.yield %s : tensor<2xf64, #nn.axes<block>>
}

// -----
// A bin is a block's: the blocks of all gradients lie on the lanes of its warps, which add up what they have.
// CHECK-LABEL: func.func @bins.threads
// CHECK-COUNT-32: llvm.load {{.*}} : !llvm.ptr<3> -> f64
// PTX: // kernel bins threads 1024 rows 1 extent 56 : f64[3] f64[40] -> f64[56]
rank.kernel @bins attributes {extent = 1 : i64, flops = 4.0 : f64} {
^bb0(%a: tensor<3xf64, #nn.axes<block>>, %b: tensor<40xf64, #nn.axes<block>>):
  %s = rank.bin_sums %a, %b : (tensor<3xf64, #nn.axes<block>>, tensor<40xf64, #nn.axes<block>>) -> tensor<56xf64, #nn.axes<"#bin">>
  rank.yield %s : tensor<56xf64, #nn.axes<"#bin">>
}

// -----
// Functions in double are arithmetic, too: nothing is called.
// PTX: // kernel powers threads 64 rows 8 extent 1 : f64[32] -> f64[32]
// PTX-LABEL: .visible .entry powers(
// PTX-COUNT-11: fma.rn.f64
// PTX-NOT: call
rank.kernel @powers attributes {extent = 1 : i64, flops = 4.0 : f64} {
^bb0(%x: tensor<32xf64, #nn.axes<embed>>):
  %y = nn.exp %x : (tensor<32xf64, #nn.axes<embed>>) -> tensor<32xf64, #nn.axes<embed>>
  rank.yield %y : tensor<32xf64, #nn.axes<embed>>
}

// -----
// AdamW is a kernel of the GPU's, for all parameters of a size at once: its scalars are rounded once, before the rows, and nothing is called.
// PTX: // kernel adamw threads 64 rows 4 extent 12 many : f32[768] bf16[768] f64[1] f32[768] f32[768] f64[1] f64[1] f64[1] -> f32[768] f32[768] f32[768]
// PTX-LABEL: .visible .entry adamw(
// PTX: mov.u32 {{.*}}, %ctaid.y
// PTX-NOT: ld.b
// PTX-COUNT-4: cvt.rn.f32.f64
// PTX-NOT: ld.b
// PTX: $L__BB0_2:
// PTX-NOT: cvt.rn.f32.f64
// PTX-NOT: call
!p = tensor<768xf32, #nn.axes<embed>>
!n = tensor<768xbf16, #nn.axes<embed>>
!s = tensor<f64, #nn.axes<>>
rank.kernel @adamw attributes {extent = 12 : i64, flops = 768.0 : f64} {
^bb0(%w: !p, %g: !n, %factor: !s, %m: !p, %v: !p, %keep: !s, %size: !s, %root: !s):
  %0, %1, %2 = nn.optimize %w, %g, %factor, %m, %v, %keep, %size, %root {names = ["w", "g", "m", "v", "keep", "size", "root"], definitions = ["%0 = add(m, mul(sub(g, m), 0.1))", "%1 = add(mul(v, 0.95), mul(mul(g, g), 0.05))"],
    formulas = ["sub(mul(w, keep), mul(size, div(%0, add(div(sqrt(%1), root), 1e-08))))", "%0", "%1"]}
    : (!p, !n, !s, !p, !p, !s, !s, !s) -> (!p, !p, !p)
  rank.yield %0, %1, %2 : !p, !p, !p
}

// -----
// The powers of Adam's bias corrections.
// PTX: // kernel corrections threads 64 rows 64 extent 1 : f64[1] -> f64[1] f64[1]
// PTX-LABEL: .visible .entry corrections(
// PTX-NOT: call
!s = tensor<f64, #nn.axes<>>
rank.kernel @corrections attributes {extent = 1 : i64, flops = 1.0 : f64} {
^bb0(%lr: !s):
  %mean, %root = nn.step_values %lr {names = ["lr"], definitions = [], formulas = ["sub(1, pow(0.9, t))", "sqrt(sub(1, pow(0.95, t)))"]} : (!s) -> (!s, !s)
  rank.yield %mean, %root : !s, !s
}

// -----
// A kernel that attention changes scores by does many blocks of them: the block's number in the grid says where its pointers lie.
// CHECK-LABEL: func.func @biased.threads
// PTX: // kernel biased threads 64 rows 4 extent 32 many : f32[1024] i32[32] i32[32] f32[32] -> f32[1024] inplace 0=0
// PTX-LABEL: .visible .entry biased(
// PTX-NEXT: .param .u64 {{.*}}biased_param_0,
// PTX-NEXT: .param .u64 biased_param_1,
// PTX-NEXT: .param .u64 {{.*}}biased_param_2
// PTX: mov.u32 {{.*}}, %ctaid.y
// PTX-NOT: .local
!x = tensor<32x32xf32, #nn.axes<score.query, score.key>>
rank.kernel @biased attributes {extent = 32 : i64, flops = 1024.0 : f64, inplace = [array<i64: 0, 0>]} {
^bb0(%x: !x, %i: tensor<32xi32, #nn.axes<score.query>>, %j: tensor<32xi32, #nn.axes<score.key>>, %b: tensor<32xf32, #nn.axes<score.key>>):
  %0 = nn.broadcast %b : (tensor<32xf32, #nn.axes<score.key>>) -> !x
  %1 = nn.add %x, %0 : (!x, !x) -> !x
  rank.yield %1 : !x
}

// -----
// Only existing rows are computed: those of 4 places that are before the greatest of two ends. The ends are read once for all rows of a
// piece that a team has one after the other, and the others' places keep what they have.
// CHECK-LABEL: func.func @existing.threads
// CHECK: scf.for {{.*}} iter_args(%[[PIECE:.*]] = {{.*}}, %[[END:.*]] = {{.*}}) -> (i64, i64)
// CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[NUMBER:.*]], %[[PIECE]] : i64
// CHECK: %[[FOUND:.*]] = scf.if %[[OTHER]] -> (i64)
// CHECK: llvm.load {{.*}} -> i32
// CHECK: arith.maxsi
// CHECK: else
// CHECK: scf.yield %[[END]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[FOUND]] : i64
// CHECK: scf.if %[[EXISTS]] {
// CHECK-NOT: else
// CHECK: scf.yield %[[NUMBER]], %[[FOUND]] : i64, i64
// PTX: // kernel existing threads {{.*}} f32[480] i32[6] -> f32[480]
rank.kernel @existing attributes {extent = 24 : i64, flops = 480.0 : f64,
    existing = #rank.existing<row = "row", entry = "expert", ends = ["batch", "expert"], places = 4, clears = false>} {
^bb0(%x: tensor<3x8x20xf32, #nn.axes<batch, row, embed>>, %ends: tensor<3x2xi32, #nn.axes<batch, expert>>):
  %0 = nn.relu %x : (tensor<3x8x20xf32, #nn.axes<batch, row, embed>>) -> tensor<3x8x20xf32, #nn.axes<batch, row, embed>>
  rank.yield %0 : tensor<3x8x20xf32, #nn.axes<batch, row, embed>>
}
