// Integers that count or find choices: places in a queue, ranges of rows, the choice of a row. Each op is defined by a formula over pairs.
// On CPUs it has loops of its own, which are linear in the number of choices (codegen/loops/Counts.cpp).
#ifndef NPAR_NN_COUNTS_TD
#define NPAR_NN_COUNTS_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_CountsOp<string mnemonic> : Nn_PureOp<mnemonic, [Nn_Lowerable, Nn_Language, Nn_Decision]> {
  let masksPadding = 1;
  let nest = "Alone";
  code inner = "::llvm::SmallVector<::mlir::StringAttr> getLoopOrder();";
  let extra = inner;
}

def Nn_QueueOp : Nn_CountsOp<"queue"> {
  let summary = "for each choice along `axis` the number of equal ones before it; 0 for a choice outside of [0, entries)";
  let description = [{
    `others` is the choice again, with the axis under the name `other`. `sorted`: lower choices count, too, wherever they are, so that the
    result is the place of each choice in a stable sort. `looks_ahead`: along the axis, choices of later positions come before others.
  }];
  let arguments = (ins Nn_Integer:$choice, Nn_Integer:$others, StrAttr:$axis, StrAttr:$other, I64Attr:$entries, BoolAttr:$sorted,
      OptionalAttr<BoolAttr>:$looks_ahead);
  let results = (outs Nn_Integer:$result);
  let reduction = "Sum";
  let assemblyFormat = "$choice `,` $others `along` $axis `and` $other attr-dict `:` functional-type(operands, results)";
}

def Nn_CountBelowOp : Nn_CountsOp<"count_below"> {
  let summary = "result[e along `to`] = the number of choices along `axis` in [0, e); `inclusive`: in [0, e]; both within [0, entries)";
  let arguments = (ins Nn_Integer:$choice, StrAttr:$axis, StrAttr:$to, I64Attr:$entries, BoolAttr:$inclusive);
  let results = (outs Nn_Integer:$result);
  let reduction = "Sum";
  let assemblyFormat = "$choice `over` $axis `to` $to attr-dict `:` functional-type(operands, results)";
}

def Nn_LocateOp : Nn_CountsOp<"locate"> {
  let summary = "the last entry of `axis` where x is the number of the result's entry of `along`; -1 if x never has that number";
  let arguments = (ins Nn_Integer:$x, StrAttr:$axis, StrAttr:$along);
  let results = (outs Nn_Integer:$result);
  let reduction = "Max";
  let assemblyFormat = "$x `over` $axis `along` $along attr-dict `:` functional-type(operands, results)";
}

#endif
