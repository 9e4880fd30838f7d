// Products of two tensors.
#ifndef NPAR_NN_EINSUM_TD
#define NPAR_NN_EINSUM_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_EinsumOp : Nn_PureOp<"einsum", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_OwnProducts]> {
  let summary = "product of a and b, summed over the axes that the result lacks";
  let description = [{
    ```mlir
    %y = nn.einsum %x, %w : (tensor<8x128x64xf32, #nn.axes<batch, seq, embed>>, tensor<64x256xf32, #nn.axes<embed, hidden>>)
        -> tensor<8x128x256xf32, #nn.axes<batch, seq, hidden>>
    ```
    The order of the result's axes is free. Linear in each operand, not in both at once. Sums of products of 16-bit floats are added in
    float32 and rounded once; the result may be f32 itself. With `tf32` operands, of f32, are rounded to TF32 (RULES.md#N8); those of its
    gradients are, too.
  }];
  let arguments = (ins Nn_Float:$a, Nn_Float:$b, UnitAttr:$tf32);
  let results = (outs Nn_Float:$result);
  let reduction = "Sum";
  let zeroPadding = "WhereOperandsAre";
  let nest = "Alone";
  let extra = "::llvm::SmallVector<::mlir::StringAttr> getLoopOrder();";
}

#endif
