// Relations among the entries of an axis: order, running sums, parts, and look-ups along any axis. If an operand is needed whole along an
// axis, it has that axis under another name (nn.rename), which no rule of a plan splits.
#ifndef NPAR_NN_ALONG_TD
#define NPAR_NN_ALONG_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_AlongOp<string mnemonic, list<Trait> traits> : Nn_PureOp<mnemonic, !listconcat([Nn_Lowerable], traits)> {
  // Reducing ops run their reduced loops inside the others.
  code inner = "::llvm::SmallVector<::mlir::StringAttr> getLoopOrder();";
}

def Nn_OrderOp : Nn_AlongOp<"order", [Nn_Language]> {
  let summary = "the rank of each entry of `axis`: the number of larger entries and of equal ones with a lower index; NaN is the largest";
  let description = "`others` is x again, whole, with the axis under the name `other`. Both are floats, or integers.";
  let arguments = (ins Nn_Tensor:$x, Nn_Tensor:$others, StrAttr:$axis, StrAttr:$other);
  let results = (outs Nn_Integer:$result);
  let reduction = "Sum";
  let masksPadding = 1;
  let extra = inner;
  let assemblyFormat = "$x `,` $others `along` $axis `and` $other attr-dict `:` functional-type(operands, results)";
}

def Nn_FindOp : Nn_AlongOp<"find", [Nn_Language, Nn_Decision]> {
  let summary = "the entry of `axis` where x is the number of the result's entry of `along`; 0 if x never has that number";
  let arguments = (ins Nn_Integer:$x, StrAttr:$axis, StrAttr:$along);
  let results = (outs Nn_Integer:$result);
  let reduction = "Sum";
  let extra = inner;
  let assemblyFormat = "$x `over` $axis `along` $along attr-dict `:` functional-type(operands, results)";
}

// Linear in x: its gradient is the same op, from the other end.
def Nn_CumsumOp : Nn_AlongOp<"cumsum", [Nn_Language, Nn_Differentiable]> {
  let summary = "the sum of x where the entry of `part` is at most that of `end`: x has one of the two axes, the result the other";
  let arguments = (ins Nn_Tensor:$x, StrAttr:$part, StrAttr:$end);
  let results = (outs Nn_Tensor:$result);
  let linear = 1;
  let reduction = "Sum";
  let extra = inner;
  let assemblyFormat = "$x `of` $part `to` $end attr-dict `:` functional-type(operands, results)";
}

def Nn_PartOp : Nn_AlongOp<"part", [Nn_Language, Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "result[i along `to`] = x[i + offset along `from`], 0 where x has no such entry; x is whole along `from`";
  let arguments = (ins Nn_Tensor:$x, StrAttr:$from, StrAttr:$to, I64Attr:$offset);
  let results = (outs Nn_Tensor:$result);
  let linear = 1;
  let masksPadding = 1;
  let readsElsewhere = 1;
  let assemblyFormat = "$x `of` $from `to` $to `from` $offset attr-dict `:` functional-type(operands, results)";
}

def Nn_ReorderOp : Nn_AlongOp<"reorder", [Nn_Language, Nn_Differentiable]> {
  let summary = "x with its axes in another order";
  let arguments = (ins Nn_Tensor:$x);
  let results = (outs Nn_Tensor:$result);
  let linear = 1;
  let zeroPadding = "WhereOperandsAre";
  let effort = "None";
}

// Linear in x: its gradient is the same op, the other way round.
def Nn_FoldOp : Nn_AlongOp<"fold", [Nn_Language, Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "x with `major` and `minor` in the place of `flat`, row-major, or the other way round; x is whole along its own of them";
  let arguments = (ins Nn_Tensor:$x, StrAttr:$flat, StrAttr:$major, StrAttr:$minor);
  let results = (outs Nn_Tensor:$result);
  let linear = 1;
  let masksPadding = 1;
  let readsElsewhere = 1;
  let extra = "bool cuts() { return hasAxis(getX().getType(), getFlatAttr()); }";
  let assemblyFormat = "$x `of` $flat `and` $major `by` $minor attr-dict `:` functional-type(operands, results)";
}

def Nn_AppendOp : Nn_PureOp<"append", [Nn_OwnLoopAxes]> {
  let summary = "`kept` with other rows: result[positions[i] along `keys`] = rows[i along `axis`]; rows beyond it are left out";
  let description = [{
    How a state grows by what a step has computed: `rows` has the axes of `kept` with `axis` in the place of `keys`. `positions` has the first
    axes of both, before `keys`, as far as these have positions of their own, and `axis`; along `axis` they differ.
    ```mlir
    %k = nn.append %kept, %rows at %positions along "seq.step" to "key" :
        (tensor<3x64x4x16xf32, #nn.axes<batch, key, head, feature>>, tensor<3x2x4x16xf32, #nn.axes<batch, seq.step, head, feature>>,
         tensor<3x2xi32, #nn.axes<batch, seq.step>>) -> tensor<3x64x4x16xf32, #nn.axes<batch, key, head, feature>>
    ```
    Where the result lies in the place of `kept` nothing but these rows is touched.
  }];
  let arguments = (ins Nn_Float:$kept, Nn_Float:$rows, Nn_Integer:$positions, StrAttr:$axis, StrAttr:$keys);
  let results = (outs Nn_Float:$result);
  let zeroPadding = "WhereOperandsAre";
  let nest = "Own";
  let extra = "bool readsElsewhere(unsigned operand) { return operand != 0; }";
  let assemblyFormat = "$kept `,` $rows `at` $positions `along` $axis `to` $keys attr-dict `:` functional-type(operands, results)";
}

def Nn_ScatterMatchOp : Nn_AlongOp<"scatter_match", []> {
  let summary = "the gradient of nn.gather's table along any axis: result[row] = sum of dy where idx == row; other axes of both are shared";
  let description = "Walks all rows for each index. Where the axis is the table's first and none is shared nn.scatter_add does better.";
  let arguments = (ins Nn_Integer:$idx, Nn_Float:$dy, StrAttr:$axis);
  let results = (outs Nn_Float:$result);
  let linear = 1;
  let reduction = "Sum";
  let extra = inner # "\n::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr axis);";
  let assemblyFormat = "$idx `,` $dy `over` $axis attr-dict `:` functional-type(operands, results)";
}

#endif
