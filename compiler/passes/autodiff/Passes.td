// Passes of the phase autodiff.
#ifndef NPAR_AUTODIFF_PASSES_TD
#define NPAR_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def AutodiffBackward : Pass<"autodiff-backward", "::mlir::ModuleOp"> {
  let summary = "append the gradients to @micro";
  let description = [{
    Walks @micro backwards from `nn.accumulate @out.loss.sum`. An op's gradients come from its DifferentiableOpInterface; they get the
    op's location and place with phase B. A value's contributions are added as they arrive, the later use's sum on the right, at the
    place of the earlier use: what a pipeline stage sends back is one tensor. Selects of one value along one axis become one nn.stack.
    Each nn.read of a parameter gets an accumulator of its own (N2). Where the prologue counts valid tokens, the gradient of
    `out.loss.sum` is 1 / max(1, their number), else 1 (N3).

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

def AutodiffUpdate : Pass<"autodiff-update", "::mlir::ModuleOp"> {
  let summary = "make @update: from accumulated gradients to new parameters";
  let description = [{
    Takes the module attributes `nn.optimizer`, `nn.rate` and `nn.clip` that the importer left, creates optimizer states and the function
    @update: combined gradients, their global norm, the clip factor, the learning rate, one optimizer op per parameter, outputs.
    Ops are placed (phase U) at the parameter's first use, those that concern all parameters at block -1.
  }];
  let dependentDialects = ["::npar::nn::NnDialect", "::mlir::func::FuncDialect"];
}

#endif
