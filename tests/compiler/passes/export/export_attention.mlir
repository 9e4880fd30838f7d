// Attention is a step: offsets into a joint projection are places of operands, the logarithms of the sums are kept where they are made, and what
// nobody wants has scratch memory. Equal attentions are one entry of the program.
// RUN: npar-opt %s --export-program | FileCheck %s

#w = #dist.layout<seq : 8, part : 3, head : 2, feature : 4>
#x = #dist.layout<seq : 8, head : 2, feature : 4>
#l = #dist.layout<head : 2, seq : 8>
!w = tensor<8x3x2x4xf32, #w>
!x = tensor<8x2x4xf32, #x>
!l = tensor<2x8xf32, #l>

module attributes {npar.model = "One", npar.plan = "p", npar.batch = 1 : i64, npar.micro_count = 1 : i64, npar.seed = 1 : i64, dist.mesh = #dist.mesh<>} {
  nn.variable @w : !w {kind = #nn.kind<parameter>, stages = [0], stored = [8, 3, 2, 4], init = #nn.init<ones>, index = 0 : i64}
  nn.variable @w.grad.0 : !x {kind = #nn.kind<accumulator>, of = @w, use = 0 : i64, stages = [0]}
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %w = nn.read @w : !w
    %o, %l = rank.attention %w, %w, %w {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
        strides = [array<i64: 4, 0, 24>, array<i64: 4, 0, 24>, array<i64: 4, 0, 24>, array<i64: 4, 0, 8>, array<i64: 8, 8, 1>],
        offsets = array<i64: 0, 8, 16>, flops = 1000.0} : (!w, !w, !w) -> (!x, !l)
    pipe.stash %o slot("o0") : !x
    pipe.stash %l slot("l0") : !l
    %p, %m = rank.attention %w, %w, %w {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4, scale = 0.5, causal,
        strides = [array<i64: 4, 0, 24>, array<i64: 4, 0, 24>, array<i64: 4, 0, 24>, array<i64: 4, 0, 8>, array<i64: 8, 8, 1>],
        offsets = array<i64: 0, 8, 16>, flops = 1000.0} : (!w, !w, !w) -> (!x, !l)
    pipe.stash %p slot("p0") : !x
  }
  pipe.fragment @B0 stage(0) phase(B) {
    %w = nn.read @w : !w
    %o = pipe.unstash slot("o0") : !x
    %l = pipe.unstash slot("l0") : !l
    %d = pipe.unstash slot("p0") : !x
    %q, %k, %v = rank.attention_grad %w, %w, %w, %o, %d, %l {batch = array<i64: 2>, heads = 1, rows = 8, keys = 8, features = 4, values = 4,
        scale = 0.5, causal, strides = [array<i64: 4, 0, 24>, array<i64: 4, 0, 24>, array<i64: 4, 0, 24>, array<i64: 4, 0, 8>, array<i64: 4, 0, 8>,
        array<i64: 8, 8, 1>, array<i64: 4, 0, 8>, array<i64: 4, 0, 8>, array<i64: 4, 0, 8>],
        offsets = array<i64: 0, 8, 16, 0, 0, 0>, flops = 2500.0} : (!w, !w, !w, !x, !x, !l) -> (!x, !x, !x)
    nn.write @w.grad.0, %k : !x
  }
  pipe.order stage(0) ["F0:0", "B0:0"]
}

// Operands are bytes: [offset, bytes] of 768.
// CHECK: fragment F0: forward
// CHECK-NEXT: 0: attention 2 x 8 x 8 causal (static[0, 768], static[32, 736], static[64, 704]) -> (stash_F0_B0[[O:\[[0-9]+, 256\]]], stash_F0_B0[[L:\[[0-9]+, 64\]]])  # attention
// CHECK-SAME: f32, features 4, values 4, scale 0.5, batch [2], q [4, 0, 24], k [4, 0, 24], v [4, 0, 24], out [4, 0, 8], lse [8, 8, 1], entry 0{{$}}
// CHECK-NEXT: 1: attention 2 x 8 x 8 causal (static[0, 768], static[32, 736], static[64, 704]) -> (stash_F0_B0[[D:\[[0-9]+, 256\]]], scratch[0, 64])
// CHECK-SAME: , entry 0{{$}}
// CHECK: fragment B0: backward
// CHECK-NEXT: 0: attention gradient 2 x 8 x 8 causal (static[0, 768], static[32, 736], static[64, 704], stash_F0_B0[[O]], stash_F0_B0[[D]], stash_F0_B0[[L]]) -> (scratch[{{.*}}], static[768, 256], scratch[{{.*}}])  # attention_grad
// CHECK-SAME: q [4, 0, 24], k [4, 0, 24], v [4, 0, 24], out [4, 0, 8], dout [4, 0, 8], lse [8, 8, 1], dq [4, 0, 8], dk [4, 0, 8], dv [4, 0, 8], entry 1{{$}}
