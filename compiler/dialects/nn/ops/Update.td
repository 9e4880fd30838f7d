// Ops of @update: once per training step, from accumulated gradients to new parameters.
#ifndef NPAR_NN_UPDATE_TD
#define NPAR_NN_UPDATE_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_CombineOp : Nn_PureOp<"combine", [Nn_Lowerable]> {
  let summary = "the sum of the gradients of a parameter's uses, in order; refuses partial operands, so that each is reduced first (RULES.md#N2)";
  let arguments = (ins Variadic<Nn_Float>:$uses);
  let results = (outs Nn_Float:$result);
  let zeroPadding = "WhereOperandsAre";
}

// Local shapes of different parameters may split the same axis differently: no agreement of axes here.
def Nn_SquareSumsOp : Nn_Op<"square_sums", [Pure, Nn_OwnLoopAxes, Nn_PaddingOpInterface, Nn_CostOpInterface]> {
  let summary = "the gradients' squares in f64, summed per block of 1,024 elements, the blocks exactly (RULES.md#N4)";
  let description = [{
    The result is a sum in bins: bin b holds multiples of 2^(24 b - 320), its share of every block sum, so that additions of bins are exact
    (below 2^29 blocks) and neither their order nor the ranks among which blocks are dealt out change a bit. `parameters` are the numbers of
    those that the gradients are of, none twice.
    ```mlir
    %s = nn.square_sums %g0, %g1 parameters [0, 1] : (tensor<...>, tensor<...>) -> tensor<56xf64, #nn.axes<bin>>
    ```
  }];
  let arguments = (ins Variadic<Nn_Float>:$gradients, DenseI64ArrayAttr:$parameters);
  let results = (outs Nn_Float:$result);
  let reduction = "Sum";
  let assemblyFormat = "operands `parameters` $parameters attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extra = [{
    /// Every finite f64 of at least 2^-320 has bits in these bins alone; what is below is cut off.
    static constexpr int64_t bins = 56, binBits = 24, lowestExponent = -320;
  }];
}

def Nn_GradNormOp : Nn_PureOp<"grad_norm", [Nn_Lowerable, Nn_OwnLoopAxes]> {
  let summary = "the square root of a sum in bins, which are added in ascending order";
  let arguments = (ins Nn_Float:$sums);
  let results = (outs Nn_Scalar:$result);
  let readsElsewhere = 1;
}

def Nn_ClipFactorOp : Nn_PureOp<"clip_factor", [Nn_Lowerable]> {
  let summary = "min(1, max_norm / (norm + 1e-6))";
  let arguments = (ins Nn_Scalar:$norm, F64Attr:$max_norm);
  let results = (outs Nn_Scalar:$result);
  let assemblyFormat = "operands `max` $max_norm attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 0;
}

def Nn_LearningRateOp : Nn_PureOp<"learning_rate", [Nn_Lowerable]> {
  let summary = "the rate of training step t: warm-up peak * (t + 1) / warmup, then by the schedule";
  let description = [{
    "constant"; "linear" or "cosine" to `final` at `steps`; "step" or "exponential": peak * factor^((t - warmup) / every), rounded down in
    "step". t is the data step, or `counted` where steps can be skipped (RULES.md#N7). With `run`, lengths in epochs or shares of the run
    are known when a run starts: `run` is the first of four words (Program.fbs, LearningRate) that replace warm-up, steps and `every`, and
    that move t.
  }];
  let arguments = (ins Optional<Nn_Scalar>:$counted, StrAttr:$schedule, F64Attr:$peak, I64Attr:$warmup, I64Attr:$steps, F64Attr:$final,
      DefaultValuedAttr<F64Attr, "1.0">:$factor, DefaultValuedAttr<I64Attr, "1">:$every, OptionalAttr<I64Attr>:$run);
  let results = (outs Nn_Scalar:$result);
  let assemblyFormat = "$schedule (`counting` $counted^ `:` type($counted))? attr-dict `:` type($result)";
}

def Nn_StepValuesOp : Nn_PureOp<"step_values", [Nn_Lowerable]> {
  let summary = "what an optimizer's formulas need once per training step, in f64, and its new step states";
  let description = [{
    `names` are those of the inputs in the formulas (base/Formula.h): `lr`, the learning rate; `#counted` where steps can be skipped
    (RULES.md#N7), the number of steps that were not; `#factor`, not a number where this step is skipped; step states, whose new values are the
    last results. `t` is the number of the step from 1. The formulas are of effort `Much`, so no kernel over a parameter computes them.
    ```mlir
    %size, %root = nn.step_values %lr {names = ["lr"], definitions = [], formulas = ["div(lr, sub(1, pow(0.9, t)))",
        "sqrt(sub(1, pow(0.95, t)))"]} : (tensor<f64, #nn.axes<>>) -> (tensor<f64, #nn.axes<>>, tensor<f64, #nn.axes<>>)
    ```
  }];
  let arguments = (ins Variadic<Nn_Scalar>:$inputs, StrArrayAttr:$names, StrArrayAttr:$definitions, StrArrayAttr:$formulas);
  let results = (outs Variadic<Nn_Scalar>:$values);
  let effort = "Much";
  let extra = [{
    static constexpr ::llvm::StringLiteral rate = "lr", step = "t", counted = "#counted", factor = "#factor";
    /// Number of step states.
    size_t stateCount();
  }];
}

def Nn_GateOp : Nn_PureOp<"gate", [Nn_Lowerable]> {
  let summary = "factor, but not a number where the norm is not finite: no optimizer op then changes anything";
  let arguments = (ins Nn_Scalar:$factor, Nn_Scalar:$norm);
  let results = (outs Nn_Scalar:$result);
  let hasVerifier = 0;
}

def Nn_LossScaleOp : Nn_PureOp<"loss_scale", [Nn_Lowerable]> {
  let summary = "the next loss scale: doubled after `interval` good steps in a row, halved (not below 1) after one whose norm is not finite";
  let arguments = (ins Nn_Scalar:$scale, Nn_Scalar:$streak, Nn_Scalar:$counted, Nn_Scalar:$norm, I64Attr:$interval);
  let results = (outs Nn_Scalar:$new_scale, Nn_Scalar:$new_streak, Nn_Scalar:$new_counted);
  let hasVerifier = 0;
}

def Nn_RenewOp : Nn_PureOp<"renew", [Nn_Lowerable]> {
  let summary = "the new value of a state of the model; the old one where `factor` is not a number, in a step that does not count";
  let arguments = (ins Nn_Float:$old, Nn_Float:$renewed, Nn_Scalar:$factor);
  let results = (outs Nn_Float:$result);
}

def Nn_OptimizeOp : Nn_PureOp<"optimize", [Nn_Lowerable]> {
  let summary = "an optimizer's update of one parameter by the gradient times `factor`";
  let description = [{
    `names` are those of weight, gradient and `others` in the formulas (base/Formula.h): the states, then values of `nn.step_values`. The results
    are the new weight and the new states. The gradient may be of 16 bits. Where `factor` is not a number, nothing changes.
    ```mlir
    %new_w, %new_m = nn.optimize %w, %g, %factor, %m, %lr {names = ["w", "g", "m", "$0"], definitions = ["%0 = add(mul(m, 0.9), g)"],
        formulas = ["sub(w, mul($0, %0))", "%0"]} : (...) -> (...)
    ```
  }];
  let arguments = (ins Nn_Float:$w, Nn_Float:$g, Nn_Scalar:$factor, Variadic<Nn_Float>:$others, StrArrayAttr:$names,
                       StrArrayAttr:$definitions, StrArrayAttr:$formulas);
  let results = (outs Nn_Float:$new_w, Variadic<Nn_Float>:$new_states);
  let extra = [{
    ::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr);
  }];
}

#endif
