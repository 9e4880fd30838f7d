// Passes of the phase prepare.
#ifndef NPAR_PREPARE_PASSES_TD
#define NPAR_PREPARE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PreparePrecision : Pass<"prepare-precision", "::mlir::ModuleOp"> {
  let summary = "give each operation of @micro and @count the element type that the plan's `compute` and `keep` say";
  let description = [{
    Takes `nn.precision`. Parameters become variables of the compute type; an operation kept in f32 gets
    `nn.convert` around it, its gradients follow. Norms, softmax, the loss and all scalars stay in f32 unless the plan says otherwise.

    ```mlir
    // nn.precision = {compute = bf16}
    %n = nn.layer_norm %x, %g, %b over "embed" epsilon 1.0e-5 : (tensor<..xf32, ..>, ..)
    %y = nn.einsum %n, %w : ..
    // becomes
    %1 = nn.convert %x : (tensor<..xbf16, ..>) -> tensor<..xf32, ..>   // and of %g, %b
    %n = nn.layer_norm %1, %2, %3 over "embed" epsilon 1.0e-5 : (tensor<..xf32, ..>, ..)
    %3 = nn.convert %n : (tensor<..xf32, ..>) -> tensor<..xbf16, ..>
    %y = nn.einsum %3, %w : ..                                         // bf16
    ```
    Values made of positions and constants alone are f32 and rounded once, where they meet other values (RULES.md#N9). An op with the
    attribute `unrounded`, which goes here, computes in f32 and hands its result on as it is, to measure what its rounding does.

    The attribute `nn.precision` stays for autodiff-update (master weights, types of gradients, loss scale), which consumes it. With `compute = tf32` only
    products change, which become `nn.einsum .. {tf32}` where nothing is kept; nothing is left to consume then.
  }];
  let dependentDialects = ["::npar::nn::NnDialect"];
}

def PrepareTotals : Pass<"prepare-totals", "::mlir::ModuleOp"> {
  let summary = "replace sums over groups of samples by sums of micro-batches, or of parts of them";
  let description = [{
    nn.group_total becomes a sum over the micro-batch if that is the group. Otherwise `batch` is cut into groups by nn.fold, and each sample
    gathers the sum of its own.

    If there is one micro-batch, nn.total is a sum. Otherwise each micro-batch adds its sum to an accumulator, in f64, and what needs the
    total reads it in the backward pass. So every forward of a stage must precede its backwards (schedule-tasks checks it).

    ```mlir
    %t = nn.total %x {at = #nn.at<F, "", 0>} : tensor<2x4xf32, #nn.axes<batch, expert>>
    %l = nn.mul %t, %p {at = #nn.at<F, "", 0>} : ..
    // becomes
    %s = nn.sum %x {at = #nn.at<F, "", 0>} : (..) -> tensor<4xf32, #nn.axes<expert>>
    %w = nn.convert %s {at = #nn.at<F, "", 0>} : (..) -> tensor<4xf64, #nn.axes<expert>>
    nn.accumulate @"#total.0", %w {at = #nn.at<F, "", 0>} : ..
    %r = nn.read @"#total.0" {at = #nn.at<B, "", 0>} : ..
    %c = nn.convert %r {at = #nn.at<B, "", 0>} : (..) -> tensor<4xf32, #nn.axes<expert>>
    %t = nn.broadcast %c {at = #nn.at<B, "", 0>} : (..) -> tensor<2x4xf32, #nn.axes<batch, expert>>
    %l = nn.mul %t, %p {at = #nn.at<B, "", 0>} : ..
    ```
  }];
  let dependentDialects = ["::npar::nn::NnDialect"];
}

def PrepareScores : Pass<"prepare-scores", "::mlir::ModuleOp"> {
  let summary = "write what is done to attention's scores as a formula for one score";
  let description = [{
    Takes the attributes `biased`, `masked`, `cap`, `dropout` and `site` of nn.attention. Values of the size of queries by keys, and what is
    made of positions alone, go into an `nn.scores`, in f32 (f64 of f64) whatever the plan computes in; what they are made of is the
    attention's `data`. Equal formulas are one. Of the data that depend on a parameter `sloped` lists the numbers.

    ```mlir
    %d = nn.integer "sub" %j, %i : ..            // nn.index of keys and queries
    %b = nn.mul %f, %slopes : ..                 // [head, seq, key], of slopes [head]
    %o, %p = nn.attention %q, %k, %v, %b {biased = true, seq = "seq", key = "key", ..} : ..
    // becomes
    %o, %p = nn.attention %q, %k, %v, %slopes {scores = @formula_0, sloped = array<i64: 0>, seq = "seq", key = "key", ..} : ..
    ```
  }];
  let dependentDialects = ["::npar::nn::NnDialect"];
}

def PrepareCheck : Pass<"prepare-check", "::mlir::ModuleOp"> {
  let summary = "verify a whole nn program";
  let description = [{
    What no single op can see: there is an `@micro`; every op of a function says where it belongs (`at`); indices of parameters are
    0, 1, 2, ... in order; every parameter is used; an index that counts an axis stays inside of the axis that it is looked up on. Changes
    nothing.
  }];
}

def PrepareInputs : Pass<"prepare-inputs", "::mlir::ModuleOp"> {
  let summary = "write down what the engine has to know of each input of @micro";
  let description = [{
    An input's values are entries of every axis that an operation looks up with them (IndexingOpInterface), so the shortest of these axes
    counts, without the padding that a plan may add. Where `nn.to_float` says what they are `below`, that counts like a shorter axis, under no name
    and with the op's place as its `source`. Before placing, on global sizes. Takes `nn.axis_lines`, where axes are declared.

    ```mlir
    %t = nn.input "tokens" : ..
    %x = nn.gather %table, %t over "words" : ..   // %table: 257 words
    // adds to the list `npar.inputs` of the module
    {axis = "words", classes = 257 : i64, name = "tokens", role = "stream", source = loc("model.npar":3:12), type = tensor<2x4xi32, ..>}
    ```
    Where nothing looks anything up with them, `classes` is 0 and `axis` empty: any number will do. `type` is that of a batch's values. `role`
    is what a stream of tokens gives the input: of the integers over [batch, SEQ] the one that is only the target of cross-entropies is
    "shifted", the only other one over the same axes "stream". `ignore` is the value of targets that do not count.
  }];
}

#endif
