// Operations of the dist dialect on rank-local tensors: a reshard that only lives inside placing, collectives, slices and padding masks.
#ifndef NPAR_COMPILER_DIALECTS_DIST_DISTOPS_TD
#define NPAR_COMPILER_DIALECTS_DIST_DISTOPS_TD

include "compiler/dialects/dist/Dist.td"
include "compiler/dialects/dist/DistInterfaces.td"

/// A reduction, in the text its word; operations get and are built with the value.
def Dist_Reduction : Attr<CPred<"::npar::dist::isReduction($_self)">, "'sum' or 'max'"> {
  let storageType = "::mlir::StringAttr";
  let returnType = "::npar::program::ReduceOp";
  let convertFromStorage = "*::npar::program::valueOf<::npar::program::ReduceOp>($_self.getValue())";
  let constBuilderCall = "$_builder.getStringAttr(::npar::program::wordOf($0))";
}

// What the local ops compute is in Local.cpp.
def Nn_Lowerable : DeclareOpInterfaceMethods<Nn_LowerableOpInterface>;

// The ops only select among values, so their padding is zero wherever the operands' padding is.
class Dist_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, !listconcat([Pure, Nn_PaddingOpInterface], traits)> {
  let hasVerifier = 1;
  code padding = "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr) { return ::npar::nn::ZeroPadding::WhereOperandsAre; }\n";
  code kernel = "";
  let extraClassDeclaration = padding # kernel;
}

class Dist_MoveOp<string mnemonic, dag attributes, list<Trait> traits = []> : Dist_Op<mnemonic, traits> {
  let arguments = !con((ins AnyRankedTensor:$input), attributes, (ins OptionalAttr<Dist_CauseAttr>:$cause));
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let padding = "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr) { return zeroPaddingOfMove(getInput().getType()); }\n";
}

/// Routed rows (nn.rename) of which only the existing ones move: `ends` are laid out like the operand, then like the result.
defvar Dist_existingRows = (ins Variadic<AnyRankedTensor>:$ends, DefaultValuedAttr<I64Attr, "0">:$places,
    DefaultValuedAttr<F64Attr, "1.0">:$filled);
defvar Dist_formatOfRows = "$input (`ends` `(` $ends^ `:` type($ends) `)`)? attr-dict `:` type($input) `->` type($result)";

def Dist_ReshardOp : Dist_MoveOp<"reshard", Dist_existingRows> {
  let summary = "the same logical value in another layout; lowered by place-lower-reshards";
  let assemblyFormat = Dist_formatOfRows;
}

/// A move that communicates.
class Dist_CollectiveOp<string mnemonic, string kind, dag attributes>
    : Dist_MoveOp<mnemonic, attributes, [DeclareOpInterfaceMethods<Dist_CollectiveOpInterface, ["getCollective"]>]> {
  let extraClassDefinition = [{
    ::npar::program::CollectiveKind $cppClass::getCollective() { return ::npar::program::CollectiveKind::}] # kind # [{; }
  }];
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", "AllReduce", (ins StrArrayAttr:$axes, Dist_Reduction:$op)> {
  let summary = "reduces over mesh axes in ascending coordinate (RULES.md#N5); every rank of the group gets the result";
  let description = [{
    C1: `op` is `sum` or `max`. C2: the operand is partial over `axes` with that kind. C3: the result is the operand's layout without them.
  }];
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter", "ReduceScatter", (ins StrArrayAttr:$axes, StrAttr:$dim, Dist_Reduction:$op)> {
  let summary = "reduces over mesh axes in ascending coordinate (RULES.md#N5); each rank keeps its shard of `dim`";
  let description = [{
    C1: `op` is `sum` or `max`. C2: the operand is partial over `axes`. C3: in the result `axes` are the last (minor) splits of `dim`.
    With `dim = "#flat"` the operand is not flat, and the result is over `axes`; what its last blocks lack is zero.
  }];
}

def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather", "AllGather", (ins StrArrayAttr:$axes, StrAttr:$dim)> {
  let summary = "puts the shards of `dim` together";
  let description = [{
    C1: `axes` are the last (minor) splits of `dim` in the operand; the result lacks them. With `dim = "#flat"` they are its flat axes.
  }];
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all", "AllToAll",
    !con((ins StrArrayAttr:$axes, StrAttr:$split, StrAttr:$concat), Dist_existingRows)> {
  let summary = "moves a split from dimension `concat` to dimension `split`";
  let description = [{
    C1: `axes` are the last splits of `concat` in the operand and the last splits of `split` in the result. With `ends` only existing rows
    move, and C2: the rows are the later one of the two dimensions, in pieces of `places`; `ends` have the dimensions before the rows and the
    entries, each split like the operand and the result, with entries split like rows.
  }];
  let assemblyFormat = Dist_formatOfRows;
}

def Dist_PermuteOp : Dist_CollectiveOp<"permute", "Permute", (ins StrArrayAttr:$axes, I64Attr:$shift)> {
  let summary = "a ring: the piece of member i of the mesh axes goes to member (i + shift) mod members";
  let description = [{
    The logical value is another one afterwards: its pieces have moved on. C1: 0 < shift < members. C2: operand and result have one layout.
  }];
}

def Dist_SliceOp : Dist_MoveOp<"slice", (ins StrArrayAttr:$axes, StrAttr:$dim), [Nn_KernelOpInterface, Nn_Lowerable]> {
  let padding = "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr) { return ::npar::nn::ZeroPadding::Always; }\n";
  let kernel = "bool readsElsewhere(unsigned) { return true; }";
  let summary = "keeps this rank's shard of `dim`; local";
  let description = [{
    C1: the operand is replicated over `axes`; in the result they are the last (minor) splits of `dim`. With `dim = "#flat"` the operand is
    not flat, and the result is over `axes`; what its last blocks lack is zero.
  }];
}

def Dist_MaskPaddingOp : Dist_Op<"mask_padding", [AllTypesMatch<["input", "result"]>, Nn_KernelOpInterface, Nn_Lowerable]> {
  let padding = "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr axis);\n";
  let kernel = "static ::npar::nn::Effort getEffort() { return ::npar::nn::Effort::Little; }";
  let summary = "sets the elements beyond the global size of `dims` to zero; local and elementwise";
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

#endif
