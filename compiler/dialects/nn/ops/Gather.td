// Table lookups and their inverses.
#ifndef NPAR_NN_GATHER_TD
#define NPAR_NN_GATHER_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_GatherOp : Nn_PureOp<"gather", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_Indexing, Nn_OwnLoopAxes]> {
  let summary = "rows of a table: result[idx axes, table axes without `axis`] = table[idx, ...]; linear in the table";
  let arguments = (ins Nn_Tensor:$table, Nn_Integer:$idx, StrAttr:$axis);
  let results = (outs Nn_Tensor:$result);
  let linear = 1;
  let reduction = "Sum";
  let zeroPadding = "WhereOperandsAre";
  let masksPadding = 1;
  let keepWord = "embedding";
  let extra = "bool readsElsewhere(unsigned operand) { return operand == 0; }";
  let assemblyFormat = "$table `,` $idx `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_ScatterAddOp : Nn_PureOp<"scatter_add", [Nn_OwnLoopAxes]> {
  let summary = "the gradient of nn.gather's table: result[row] = sum of dy where idx == row, in ascending order";
  let description = "The sum has the result's type: f32 if dy has 16 bits.";
  let arguments = (ins Nn_Integer:$idx, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let linear = 1;
  let reduction = "Sum";
  let readsElsewhere = 1;
  let nest = "Own";
  let extra = "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr axis);";
  let assemblyFormat = "$idx `,` $dy `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_PickOp : Nn_PureOp<"pick", [Nn_Lowerable, Nn_Differentiable, Nn_Indexing]> {
  let summary = "sum over `axis` of (global index == idx ? x : 0); linear in x";
  let arguments = (ins Nn_Float:$x, Nn_Integer:$idx, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let linear = 1;
  let reduction = "Sum";
  let masksPadding = 1;
  let extra = "::llvm::SmallVector<::mlir::StringAttr> getLoopOrder();";
  let assemblyFormat = "$x `,` $idx `over` $axis attr-dict `:` functional-type(operands, results)";
}

def Nn_OneHotOp : Nn_PureOp<"one_hot", [Nn_Lowerable]> {
  let summary = "global index along `axis` == idx ? 1 : 0; rows of padding are 0";
  let arguments = (ins Nn_Integer:$idx, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let effort = "Little";
  let extra = "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr axis);";
  let assemblyFormat = "$idx `over` $axis attr-dict `:` functional-type(operands, results)";
}

#endif
