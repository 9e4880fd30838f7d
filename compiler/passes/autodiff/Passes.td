// Passes of the phase autodiff.
#ifndef NPAR_AUTODIFF_PASSES_TD
#define NPAR_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def AutodiffBackward : Pass<"autodiff-backward", "::mlir::ModuleOp"> {
  let summary = "append the gradients to @micro";
  let description = [{
    Walks @micro backwards from `nn.accumulate @"#out.loss.sum"`, or from the sums of several losses (`nn.losses`, LossTerms.h). An op's gradients come from its DifferentiableOpInterface; they get the
    op's location and place with phase B. A value's contributions are added as they arrive, the later use's sum on the right, at the
    place of the earlier use: what a pipeline stage sends back is one tensor. Selects of one value along one axis become one nn.stack.
    Each nn.read of a parameter gets an accumulator of its own (RULES.md#N2). The gradient of a sum is the weight of its loss, divided by
    max(1, the number of what counts) where the prologue counts that (RULES.md#N3).

    ```mlir
    %w = nn.read @w : T {at = #nn.at<F, "mlp", 0>}
    %y = nn.einsum %x, %w {at = #nn.at<F, "mlp", 0>} : (X, T) -> Y
    ```
    becomes, with %dy from what follows,
    ```mlir
    %dx = nn.einsum %dy, %w {at = #nn.at<B, "mlp", 0>} : (Y, T) -> X
    %dw = nn.einsum %dy, %x {at = #nn.at<B, "mlp", 0>} : (Y, X) -> T
    nn.accumulate @w.grad.0, %dw {at = #nn.at<B, "mlp", 0>} : T
    ```
  }];
  let dependentDialects = ["::npar::nn::NnDialect"];
}

def AutodiffRecompute : Pass<"autodiff-recompute", "::mlir::ModuleOp"> {
  let summary = "repeat segments of the forward in the backward instead of keeping their values";
  let description = [{
    Module attribute `npar.recompute` says what a segment is: an attention operation (not one that keeps lse, whose gradient makes
    the probabilities again as it is: no other is left once place-mark-attention has run), a block, every k blocks (counted from the first), or a layer. A backward op that uses a value from
    inside its own segment gets a copy, made right before it of what entered the segment; so only the copies that some gradient needs
    exist. What leaves a segment and is needed there is kept, and not repeated. Copies have the site of their originals, so dropout draws
    the same mask. Before placing, so that layouts, collectives and gathers of the copies fall out of the rules. An op of a segment and its
    copy have the same number, `recompute`, until schedule-recompute.

    ```mlir
    %h = nn.relu %x {at = #nn.at<F, "h.0", 0>} : (X) -> X
    %dw = nn.einsum %dy, %h {at = #nn.at<B, "h.0", 0>} : (Y, X) -> T
    // becomes, with npar.recompute = {kind = "block"}
    %h = nn.relu %x {at = #nn.at<F, "h.0", 0>, recompute = 0} : (X) -> X
    %h2 = nn.relu %x {at = #nn.at<B, "h.0", 0>, recompute = 0} : (X) -> X
    %dw = nn.einsum %dy, %h2 {at = #nn.at<B, "h.0", 0>} : (Y, X) -> T
    ```

    From one block of a segment into the next a copy goes through an `nn.checkpoint`: the schedule may cut the chain there.
  }];
  let dependentDialects = ["::npar::nn::NnDialect"];
}

def AutodiffUpdate : Pass<"autodiff-update", "::mlir::ModuleOp"> {
  let summary = "make @update: from accumulated gradients to new parameters";
  let description = [{
    Takes the module attributes `nn.optimizers` and `nn.clip` that the importer left, and `nn.precision`, creates optimizer
    states and the function @update: combined gradients, their global norm, the clip factor, the learning rate, one optimizer op per
    parameter, outputs. A norm that is not finite skips the step: `nn.gate` tells the optimizer ops. A 16-bit parameter has an f32 state
    `master`, which the optimizer moves; its rounding is written to the parameter.
    With `compute fp16` the loss's gradient carries the state `loss_scale` (variable `#loss_scale`: no parameter can be called so); here
    the norm and the factor are divided by it, and `nn.loss_scale` makes the next one (RULES.md#N7).
    `reduce bf16` leaves the unit attribute `dist.rounded_sums` for the export.
    Ops are placed (phase U) at the parameter's first use, those that concern all parameters at block -1.
  }];
  let dependentDialects = ["::npar::nn::NnDialect", "::mlir::func::FuncDialect"];
}

def AutodiffForward : Pass<"autodiff-forward", "::mlir::ModuleOp"> {
  let summary = "take the other passes' place where nothing is trained: @micro leaves results instead of a loss";
  let description = [{
    The forward of @micro remains, without dropout. `kind=evaluation`: the loss of each position becomes the result "losses" (of a model
    with several losses "loss.NAME"), and readers add up the values that count; the importer has added the other results.
    `kind=generation`: the logits that the loss compares with the targets become the result "logits"; ops that only the loss needs are
    removed, and so is the input of the targets. Everything that only a training step needs is removed: the sum of the loss, the
    prologue, and what the importer added for @update. The kind is set on the module, for the schedule and the export.

    ```mlir
    %loss, %lse = nn.cross_entropy %logits, %targets over "vocab" : (L, T) -> (B, B)
    %sum = nn.sum %loss : (B) -> S
    nn.accumulate @"#out.loss.sum", %sum : S
    // becomes, with kind=evaluation
    %loss, %lse = nn.cross_entropy %logits, %targets over "vocab" : (L, T) -> (B, B)
    nn.result "losses", %loss : B
    ```

    Samples must be computed independently of each other, because those that fill up a last batch do not count: an op that mixes samples is
    refused at its line. For `generation`, positions must not depend on later ones, which are not known yet. Attention without a mask is
    refused; causal attention and operations by position are known to be correct. Anything else that mixes positions (a mask of its own, a
    gather or a cumsum along the sequence) causes a warning, and the module gets the attribute `npar.untested_positions`: such a program
    computes the whole sequence, and `npar generate` tests it.
  }];
  let options = [Option<"kind", "kind", "std::string", "\"evaluation\"", "evaluation or generation">];
  let dependentDialects = ["::npar::nn::NnDialect"];
}

def AutodiffDecode : Pass<"autodiff-decode", "::mlir::ModuleOp"> {
  let summary = "compute a few positions of the sequence at a time, and keep the keys and values of those before";
  let description = [{
    After autodiff-forward of kind `generation`. The axis of the sequence becomes one of `positions` entries under another name, which no rule of
    a plan splits. Where these stand in the sequence is read of a state, `#kept.positions`, wherever the program asks for an index: each sample
    has positions of its own, so that values computed from them get the axis of samples. Keys and values of causal attention are appended to
    states, which have the whole sequence for keys, split as the attention's operands are.

    ```mlir
    %i = nn.index : tensor<8xi32, #nn.axes<seq>>
    %o, %l = nn.attention %q, %k, %v {seq = "seq", key = "key", causal = true, ...} : (tensor<2x8x4x16xf32, #nn.axes<batch, seq, head, feature>>, ...)
    // becomes, with positions=1
    %i = nn.read @"#kept.positions" : tensor<2x1xi32, #nn.axes<batch, seq.step>>
    %k0 = nn.read @"#kept.0.keys" : tensor<2x8x4x16xf32, #nn.axes<batch, key, head, feature>>
    %k1 = nn.append %k0, %k at %i along "seq.step" to "key" : ...
    nn.write @"#kept.0.keys", %k1 : ...
    %o, %l = nn.attention %q, %k1, %v1, %i {seq = "seq.step", keys = "key", causal = true, ...} : (tensor<2x1x4x16xf32, #nn.axes<batch, seq.step, head, feature>>, ...)
    ```

    Of several positions only the last one has logits, over `seq.last` with one entry: who reads a prompt needs no others, and the product with
    the vocabulary would be the largest one.

    A position's rows of a dispatch without a limit depend on that position alone: their axes have the places of `positions` positions.

    States come in the order of the attentions and before the positions: programs of one model and plan have parameters and states at the
    same places, whatever `positions` is. A parameter over the sequence becomes a table that is looked up. What counts places otherwise is
    warned of, and the program stays as it is.
  }];
  let options = [Option<"positions", "positions", "int64_t", "1", "entries of the sequence at a time">];
  let dependentDialects = ["::npar::nn::NnDialect"];
}

#endif
