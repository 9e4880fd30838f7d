// Rows that are sent to the entries of an axis chosen for them, and products of each row with the matrix of its entry (mixture of experts).
#ifndef NPAR_NN_EXPERTS_TD
#define NPAR_NN_EXPERTS_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_ExpertsOp<string mnemonic, list<Trait> traits> : Nn_PureOp<mnemonic, traits> {
  code slots = "/// The axis of a position's choices: of `place` alone. Null if each position has one choice.\n::mlir::StringAttr getSlot();\n";
}

def Nn_DispatchOp : Nn_ExpertsOp<"dispatch", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "result[row] = x[source[row] / choices along `seq`], 0 where source is negative; linear in x";
  let description = [{
    `source` has the choice that each entry of `row` holds, counted over positions and then choices. `place` is its inverse: the rows of a
    position's choices in ascending order, negative where there is none. The gradient is nn.collect. `distinct`: the choices of a position
    are different entries or none.
    ```mlir
    %rows = nn.dispatch %x, %source, %place along "seq" to "row" : (tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>,
        tensor<2x16xi32, #nn.axes<batch, row>>, tensor<2x8x2xi32, #nn.axes<batch, seq, slot>>)
        -> tensor<2x16x16xf32, #nn.axes<batch, row, embed>>
    ```
  }];
  let arguments = (ins Nn_Tensor:$x, Nn_Integer:$source, Nn_Integer:$place, StrAttr:$seq, StrAttr:$row,
      DefaultValuedAttr<BoolAttr, "false">:$distinct);
  let results = (outs Nn_Tensor:$result);
  let linear = 1;
  let masksPadding = 1;
  let extra = slots # "bool readsElsewhere(unsigned operand) { return operand != 1; }";
  let assemblyFormat = "$x `,` $source `,` $place `along` $seq `to` $row attr-dict `:` functional-type(operands, results)";
}

def Nn_CollectOp : Nn_ExpertsOp<"collect", [Nn_Lowerable, Nn_Language, Nn_Differentiable, Nn_OwnLoopAxes]> {
  let summary = "result[position] = sum over its choices, in ascending rows, of rows[place]; negative places add nothing; linear in the rows";
  let description = "`source` and `place` are those of nn.dispatch, which is the gradient.";
  let arguments = (ins Nn_Float:$rows, Nn_Integer:$source, Nn_Integer:$place, StrAttr:$seq, StrAttr:$row);
  let results = (outs Nn_Float:$result);
  let linear = 1;
  let reduction = "Sum";
  let masksPadding = 1;
  let extra = slots # [{
    ::llvm::SmallVector<::mlir::StringAttr> getLoopOrder();
    bool readsElsewhere(unsigned operand) { return operand != 2; }
  }];
  let assemblyFormat = "$rows `,` $source `,` $place `along` $seq `of` $row attr-dict `:` functional-type(operands, results)";
}

def Nn_GroupedOp : Nn_ExpertsOp<"grouped", [Nn_Language, Nn_Differentiable, Nn_OwnProducts, Nn_OwnLoopNames, Nn_SplitsAgree]> {
  let summary = "each row times the matrix of its entry of `axis`: entry e has the rows [first[e], last[e]) of `row`; other rows become 0";
  let description = [{
    What the result lacks, besides `axis`, is summed over. The entries' rows ascend and do not overlap. The engine computes it without
    touching other entries' matrices. Sums are those of nn.einsum.
    `pieces`: the rows are in that many equal pieces, of which each has the rows of its part of the entries, counted from its own first row.
    Then both axes are one loop, which placing must split into these pieces (place-spread-rows). `filled`: the part of the rows that belongs
    to an entry on average. `offset`: a tensor of some rows of each piece begins at this row, and ranges are cut to the rows
    that it has.
    ```mlir
    %y = nn.grouped %rows, %w, %first, %last of "expert" along "row" : (tensor<2x16x16xf32, #nn.axes<batch, row, embed>>,
        tensor<4x16x32xf32, #nn.axes<expert, embed, hidden>>, tensor<2x4xi32, #nn.axes<batch, expert>>, tensor<2x4xi32, #nn.axes<batch, expert>>)
        -> tensor<2x16x32xf32, #nn.axes<batch, row, hidden>>
    ```
  }];
  let arguments = (ins Nn_Float:$rows, Nn_Float:$weights, Nn_Integer:$first, Nn_Integer:$last, StrAttr:$axis, StrAttr:$row, UnitAttr:$tf32,
      DefaultValuedAttr<I64Attr, "1">:$pieces, DefaultValuedAttr<F64Attr, "1.0">:$filled,
      OptionalAttr<I64Attr>:$offset);
  let results = (outs Nn_Float:$result);
  let reduction = "Sum";
  let zeroPadding = "WhereOperandsAre";
  let nest = "Alone";
  let assemblyFormat = "$rows `,` $weights `,` $first `,` $last `of` $axis `along` $row attr-dict `:` functional-type(operands, results)";
}

def Nn_GroupedWeightsOp : Nn_ExpertsOp<"grouped_weights", [Nn_OwnProducts, Nn_OwnLoopNames, Nn_SplitsAgree]> {
  let summary = "the gradient of nn.grouped's weights: for each entry of `axis` the sum over its rows of a[row] times b[row]";
  let description = "One sum per element, over the rows of all samples in ascending order. It has the result's type: f32 if a has 16 bits.";
  let arguments = (ins Nn_Float:$a, Nn_Float:$b, Nn_Integer:$first, Nn_Integer:$last, StrAttr:$axis, StrAttr:$row, UnitAttr:$tf32,
      DefaultValuedAttr<I64Attr, "1">:$pieces, DefaultValuedAttr<F64Attr, "1.0">:$filled,
      OptionalAttr<I64Attr>:$offset);
  let results = (outs Nn_Float:$result);
  let reduction = "Sum";
  let zeroPadding = "WhereOperandsAre";
  let nest = "Alone";
  let assemblyFormat = "$a `,` $b `,` $first `,` $last `of` $axis `along` $row attr-dict `:` functional-type(operands, results)";
}

#endif
