// The rank dialect: what a rank runs in one piece. RankOps.td gathers its ops.
#ifndef NPAR_RANK_DIALECT
#define NPAR_RANK_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Rank_Dialect : Dialect {
  let name = "rank";
  let cppNamespace = "::npar::rank";
  let summary = "Kernels and library calls on rank-local tensors";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

class Rank_Op<string mnemonic, list<Trait> traits = []> : Op<Rank_Dialect, mnemonic, traits>;

class Rank_Attr<string name, string attrMnemonic> : AttrDef<Rank_Dialect, name> { let mnemonic = attrMnemonic; }

def Rank_WindowAttr : Rank_Attr<"Window", "window"> {
  let summary = "a dimension of an operand that a window walks (Program.fbs, table Window)";
  let parameters = (ins "int64_t":$size, "int64_t":$stride, "int64_t":$before, "int64_t":$spread, ArrayRefParameter<"int64_t">:$steps);
  let assemblyFormat = "`<` $size `by` $stride `,` `before` $before `,` `spread` $spread `,` `steps` `[` $steps `]` `>`";
}

def Rank_WalkedAttr : Rank_Attr<"Walked", "walked"> {
  let summary = "the places of an operand's elements: strides of positions, and windows (Program.fbs, table WalkedOperand)";
  let parameters = (ins ArrayRefParameter<"int64_t">:$strides, OptionalArrayRefParameter<"WindowAttr">:$windows);
  let assemblyFormat = "`<` `[` $strides `]` (`,` $windows^)? `>`";
}

def Rank_WindowedAttr : Rank_Attr<"Windowed", "windowed"> {
  let summary = "a product whose rows, columns and k are tuples of positions (Program.fbs, table WindowedProduct)";
  let parameters = (ins ArrayRefParameter<"int64_t">:$m, ArrayRefParameter<"int64_t">:$n, ArrayRefParameter<"int64_t">:$k, "WalkedAttr":$a, "WalkedAttr":$b);
  let assemblyFormat = "`<` `m` `[` $m `]` `,` `n` `[` $n `]` `,` `k` `[` $k `]` `,` $a `,` $b `>`";
}

#endif
