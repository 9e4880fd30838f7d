// The passes of phase place, in their order.
#ifndef NPAR_COMPILER_PASSES_PLACE_PASSES_TD
#define NPAR_COMPILER_PASSES_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceMarkAttention : Pass<"place-mark-attention", "::mlir::ModuleOp"> {
  let summary = "marks attention that goes round a ring or whose keys are whole, and puts the sequence in zigzag order for a rule with it";
  let description = [{
    Runs before autodiff: either attention keeps the logarithm of its softmax's sum for the backward pass, not the probabilities. `blocked`,
    whose keys are whole, also those that `by gather` brings together, is not expanded but becomes one step. Zigzag order (`dist.zigzag`)
    concerns the whole axis, in every operation and data buffer; parameters and operations that take one index of it are refused.

    ```mlir
    // dist.rules = [#dist.rule<axis = "seq", mesh = ["cp"], by = "ring_zigzag">], dist.mesh = #dist.mesh<cp = 2>
    %o, %p = nn.attention %q, %k, %v {...} : (!q, !q, !q) -> (!q, tensor<2x4x64x64xf32, #nn.axes<batch, head, seq, key>>)
    // becomes, with dist.zigzag = {key = 2 : i64, seq = 2 : i64} on the module
    %o, %p = nn.attention %q, %k, %v {..., ring} : (!q, !q, !q) -> (!q, tensor<2x4x64xf32, #nn.axes<batch, head, seq>>)
    // and without these rules
    %o, %p = nn.attention %q, %k, %v {..., blocked} : (!q, !q, !q) -> (!q, tensor<2x4x64xf32, #nn.axes<batch, head, seq>>)
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlaceSpreadRows : Pass<"place-spread-rows", "::mlir::ModuleOp"> {
  let summary = "gives rows of experts that ranks share a piece for each rank";
  let description = [{
    Runs before autodiff, where a rule splits the axis whose entries rows belong to. The axis of rows is replaced by one that has a piece for
    each rank of the rule and goes by its rules. A piece holds the rows of the rank's own entries, from its beginning. It has places for the
    most rows that these can get: all rows of a sample or, if the choices of a position differ, one per position and entry. Ranges of rows
    count from the beginning of a piece.

    By all_to_all, dispatch and collect work on whole pieces of their own samples; the renames between communicate where the batch is split
    over the same mesh axes. By gather they work on the rank's piece of all samples: positions are gathered, and results are partial sums. The
    rule says `by`, or the sizes decide (PLANS.md, Expert parallelism).

    If the plan has `experts buffer`, `npar.experts = {buffer = 1.5}`, and the buffer is smaller than the worst case, all ops from dispatch to
    collect are repeated for each round, with shorter pieces: those of round r have the rows from r * (rows of a round) on. `npar.round = [routing,
    round]` marks the ops of a round. The results of the rounds are added up.

    ```mlir
    // dist.rules = [#dist.rule<axis = "expert", mesh = ["ep"]>], dist.mesh = #dist.mesh<ep = 2>
    %r = nn.dispatch %x, %source, %place along "seq" to "row" : (...) -> tensor<2x16x4xf32, #nn.axes<batch, row, embed>>
    %y = nn.grouped %r, %w, %first, %last of "expert" along "row" : (...) -> tensor<2x16x8xf32, #nn.axes<batch, row, hidden>>
    // becomes
    %d = nn.dispatch %x, %s, %p along "seq" to "expert.rows.row.local" : (...) -> tensor<2x32x4xf32, #nn.axes<batch, expert.rows.row.local, embed>>
    %r = nn.rename %d from "expert.rows.row.local" to "expert.rows.row" : ...
    %y = nn.grouped %r, %w, %first, %last of "expert" along "expert.rows.row" {pieces = 2 : i64} : ...
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlaceAssign : Pass<"place-assign", "::mlir::ModuleOp"> {
  let summary = "gives every value a layout by the plan's rules and reshards where definition and use disagree";
  let description = [{
    RULES.md#P1 to P4, P6, P7. Types become rank-local with `#dist.layout`; variables too. `dist.stores` says what is dealt out flat: an
    array of
    `{what = "parameters" | "gradients" | "optimizer", mesh = ["dp"], per_step, loc = loc(...)}`. `dist.mesh_lines`: where the plan declares
    each mesh axis, for errors.

    ```mlir
    // dist.mesh = #dist.mesh<tp = 2>, dist.rules = [#dist.rule<axis = "hidden", mesh = ["tp"]>]
    %y = nn.einsum %h, %w : (tensor<8x64xf32, #nn.axes<batch, hidden>>, tensor<64x16xf32, #nn.axes<hidden, embed>>)
                            -> tensor<8x16xf32, #nn.axes<batch, embed>>
    // becomes
    %p = nn.einsum %h, %w : (tensor<8x32xf32, #dist.layout<batch : 8, hidden : 64 {tp}>>, ...)
                            -> tensor<8x16xf32, #dist.layout<batch : 8, embed : 16, partial = {tp : sum}>>
    %y = dist.reshard %p : ... -> tensor<8x16xf32, #dist.layout<batch : 8, embed : 16>>
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlaceAccountSaved : Pass<"place-account-saved", "::mlir::ModuleOp"> {
  let summary = "lists what the backward of a micro-batch needs of the forward";
  let description = [{
    Between place-assign and place-expand: shapes are local, and norms, softmax and attention are still single operations, whose gradients
    say what they need. An entry for each forward value that a backward op uses (what was sliced after its definition counts, what is
    gathered again does not), and for each mask that an op would keep (`SavingOpInterface`); ops of recomputed segments keep none.
    `home` is the block that makes the value, `uses` the blocks whose backward uses it, `crossings` those into which a recomputed segment
    goes on through an `nn.checkpoint`. `npar.products`: floating-point operations of products in forward and backward, and what
    recomputation adds.

    ```mlir
    npar.saved = [{op = "layer_norm", path = "h.0.ln_1", as = "tensor", elements = 64, bits = 32, home = 0, uses = array<i64: 0>}, ...]
    npar.products = {forward = 8192.0, backward = 16384.0, repeated = 0.0}
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlaceExpand : Pass<"place-expand", "::mlir::ModuleOp"> {
  let summary = "expands norms, softmax, attention and cross-entropy on local tensors";
  let description = [{
    RULES.md#P5. A reduction over a split axis becomes a local reduction and a `dist.all_reduce` (sum or max); means divide by the global
    size. Attention with `ring` becomes an `nn.ring_attention` for each rank of the ring with `dist.permute` between them; `blocked` attention
    stays.
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlaceMaskPadding : Pass<"place-mask-padding", "::mlir::ModuleOp"> {
  let summary = "zeroes padding where a contraction or a parameter's gradient would see it";
  let description = [{
    RULES.md#P8. Invariant: padding of variables is zero. Reductions `nn.sum`, `nn.max`, `nn.pick` mask padding themselves; products do
    not: each operand of an `nn.einsum` that contracts a padded axis must hold zeros there, which is derived, or made so by
    `dist.mask_padding`.
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlaceLowerReshards : Pass<"place-lower-reshards", "::mlir::ModuleOp"> {
  let summary = "turns dist.reshard into collectives and slices";
  let description = [{
    Per reshard, in this order until the layouts agree: slices and reduce_scatters that extend a dimension's splits, one all_reduce of
    what else is partial, all_to_alls, all_gathers. A flat operand is gathered first unless the target is the same piece; a flat target is
    sliced, or reduce_scattered where the operand is partial over all its axes, before what is still partial is reduced. Under
    `dist.hierarchical` a gradient that is partial over several mesh axes goes over the last one as reduce_scatter and all_gather, over the
    others between them.
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlaceLowerHalos : Pass<"place-lower-halos", "::mlir::ModuleOp"> {
  let summary = "sends each rank the entries that its dist.halo needs of others";
  let description = [{
    For each distance round the ring at which a rank has entries of another: a `dist.edge` that cuts them out, and a `dist.permute`. The
    edges become operands of the `dist.halo`, which is local then. Windows wider than a shard have edges from several distances.

    ```mlir
    %h = dist.halo %x of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
    // becomes, for two ranks, of which the one sends its last row and the other its first
    %0 = dist.edge %x of "row" {axes = ["sp"], step = 4, first = -1, spread = 1, shift = 1} : !x -> !e
    %1 = dist.permute %0 {axes = ["sp"], shift = 1} : !e -> !e
    %h = dist.halo %x with %1 : !e of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} : !x -> !h
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def PlacePrefetch : Pass<"place-prefetch", "::mlir::ModuleOp"> {
  let summary = "gathers a block's stored parameters one block ahead";
  let description = [{
    In @micro, an all_gather of the flat pieces of a parameter moves to the beginning of the block before its own in the same phase: with it
    there is memory for the parameters of two blocks, and time to gather one while the other computes.

    ```mlir
    %a = nn.gelu %x {at = #nn.at<F, "h.0", 0>}                                   // %w = dist.all_gather ... {at = #nn.at<F, "h.1", 1>}
    %w = dist.all_gather %p {axes = ["dp"], dim = "#flat", at = #nn.at<F, "h.1", 1>}   // %a = nn.gelu %x ...
    %y = nn.einsum %a, %w {at = #nn.at<F, "h.1", 1>}
    ```
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

def VerifyDist : Pass<"verify-dist", "::mlir::ModuleOp"> {
  let summary = "checks the placed program as a whole";
  let description = [{
    RULES.md#D1: every tensor has a layout and the local shape that follows from it. D2: no dist.reshard and no composite operation is
    left, every dist.halo has its edges. D3: only linear operations have partial operands, all partial over the same axes (index operands aside). D4: an axis is
    split alike in all operands and results of an operation, which are flat over the same mesh axes. (That variables agree with what is
    read, written and accumulated the nn dialect verifies itself.)
  }];
  let dependentDialects = ["::npar::dist::DistDialect"];
}

#endif
