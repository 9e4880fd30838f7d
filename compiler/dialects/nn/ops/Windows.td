// Windows that walk axes of a tensor: what convolutions multiply and pooling reduces.
#ifndef NPAR_NN_WINDOWS_TD
#define NPAR_NN_WINDOWS_TD

include "compiler/dialects/nn/base/OpBase.td"

// Its adjoint is the same op with strides and spreads exchanged and the signs of dilations and offsets turned.
def Nn_WindowsOp : Nn_PureOp<"windows", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_OwnLoopNames]> {
  let summary = "result[to, by] = x[over = (to * stride + by * dilation - before) / spread] where that is an entry of x, else `fill`";
  let description = [{
    One axis of `over`, `to` and `by`, and one number of the others, for each axis that is walked. An index that `spread` does not divide
    is no entry. Dilations may be negative. x may have the axes of `by` already, which it then shares with the result (as gradients do). No
    window is kept: each use computes it from x. The loop over an axis of `over` has the alias `row.whole`, which no rule splits. Where a
    rule splits `to`, placing gives each rank the entries of x that its positions need (`dist.halo`). The op is then `local`: positions and
    entries count from the beginning of the rank's pieces.

    A 3 x 3 window with a border of one entry:
    ```mlir
    %w = nn.windows %x of ["row", "column"] to ["y", "z"] by ["kh", "kw"]
        {stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>, before = array<i64: 1, 1>, spread = array<i64: 1, 1>, fill = 0.0} :
        (tensor<2x8x8x4xf32, #nn.axes<batch, row, column, channel>>)
        -> tensor<2x3x8x3x8x4xf32, #nn.axes<batch, kh, y, kw, z, channel>>
    ```
    C1: the result has x's axes with `to` and `by` in the place of `over`, in any order. C2: strides and spreads are at least 1, dilations
    are not 0.
  }];
  let arguments = (ins Nn_Tensor:$x, StrArrayAttr:$over, StrArrayAttr:$to, StrArrayAttr:$by, DenseI64ArrayAttr:$stride,
      DenseI64ArrayAttr:$dilation, DenseI64ArrayAttr:$before, DenseI64ArrayAttr:$spread, F64Attr:$fill, UnitAttr:$local);
  let results = (outs Nn_Tensor:$result);
  let masksPadding = 1;
  let origin = "Operand";
  let effort = "Little";
  let readsElsewhere = 1;
  let extra = [{
    bool isLinear() { return getFill().isZero(); }
    ::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr axis);
    /// Number i of the axes that are walked.
    ::mlir::StringAttr overAt(unsigned i) { return ::llvm::cast<::mlir::StringAttr>(getOver()[i]); }
    ::mlir::StringAttr toAt(unsigned i) { return ::llvm::cast<::mlir::StringAttr>(getTo()[i]); }
    ::mlir::StringAttr byAt(unsigned i) { return ::llvm::cast<::mlir::StringAttr>(getBy()[i]); }
  }];
  let assemblyFormat = "$x `of` $over `to` $to `by` $by attr-dict `:` functional-type(operands, results)";
}

#endif
