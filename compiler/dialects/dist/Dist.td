// The dist dialect: where values live. Mesh, layouts and placing rules as attributes; collectives on rank-local tensors as operations.
#ifndef NPAR_COMPILER_DIALECTS_DIST_DIST_TD
#define NPAR_COMPILER_DIALECTS_DIST_DIST_TD

include "compiler/dialects/Words.td"
include "compiler/dialects/nn/base/NnInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::npar::dist";
  let summary = "where values live: mesh, layouts, collectives";
  let description = [{
    After placing, every tensor carries a `#dist.layout` and has its rank-local shape. Only operations of this dialect communicate;
    `dist.slice` and `dist.mask_padding` are local.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Attributes.cpp, where the storage classes are complete.
    void registerAttributes();
    /// The name of the only dimension of a flat tensor; no identifier, so that no axis of a model has it.
    ::mlir::StringAttr flatName;
  }];
}

class Dist_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Dist_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
}

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "the mesh of ranks";
  let description = [{
    `#dist.mesh<dp = 2, pp = 2, tp = 2>`: named axes and sizes, major to minor; a rank's number is row-major over them. Module attribute
    `dist.mesh`; absent or empty: one rank.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Size of an axis; -1 when the mesh has no such axis.
    int64_t sizeOf(::mlir::StringAttr axis) const;
    /// Product of the axes' sizes.
    int64_t sizeOf(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    /// Place in the order of declaration; -1 when absent.
    int64_t indexOf(::mlir::StringAttr axis) const;
    /// Number of ranks.
    int64_t world() const;
  }];
}

def Dist_LayoutAttr : Dist_Attr<"Layout", "layout", [DeclareAttrInterfaceMethods<Nn_NamedAxesAttrInterface>]> {
  let summary = "the distribution of a logical tensor over the mesh; the encoding of a rank-local tensor";
  let description = [{
    `#dist.layout<batch : 8 {dp}, seq : 128, partial = {tp : sum}>`: per dimension its name, its global logical size and the mesh axes
    that split it, major to minor. Local size = ceil(global / product of the splits); what a shard holds beyond the global size is padding,
    zero in variables and unspecified elsewhere; gathering drops it, slicing makes it of zeros. Along a
    mesh axis that is neither a split nor partial the value is replicated. Partial axes are in mesh order, all of one kind.

    `#dist.layout<embed : 768, hidden : 3072 {tp}, flat = {dp}>`: the row-major piece that the splits leave, seen as one dimension (named
    `#flat`), cut into blocks of 1,024 elements and dealt out over the flat axes, major to minor: a piece of n elements over D ranks gives
    each ceil(ceil(n / 1024) / D) * 1024 of them in a row; what lies beyond n is zero (RULES.md#P7). The tensor's type has that one
    dimension.
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr">:$names,
    ArrayRefParameter<"int64_t">:$sizes,
    ArrayRefParameter<"::mlir::ArrayAttr">:$splits,
    ArrayRefParameter<"::mlir::StringAttr">:$partialAxes,
    "::npar::program::ReduceOp":$reduction,
    ArrayRefParameter<"::mlir::StringAttr">:$flatAxes
  );
  // A layout that is not partial has the reduction Sum, so that equal layouts are one attribute.
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::mlir::StringAttr>":$names, "::llvm::ArrayRef<int64_t>":$sizes,
                                   "::llvm::ArrayRef<::mlir::ArrayAttr>":$splits, "::llvm::ArrayRef<::mlir::StringAttr>":$partialAxes,
                                   "::npar::program::ReduceOp":$reduction, CArg<"::llvm::ArrayRef<::mlir::StringAttr>", "{}">:$flatAxes),
    [{ return $_get($_ctxt, names, sizes, splits, partialAxes, partialAxes.empty() ? ::npar::program::ReduceOp::Sum : reduction, flatAxes); }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Elements of a block that no rank shares with another.
    static constexpr int64_t flatBlock = 1024;
    bool isFlat() const { return !getFlatAxes().empty(); }
    /// Dimension of an axis; -1 when absent.
    int64_t dimOf(::mlir::StringAttr axis) const;
    /// Mesh axes that split a dimension, major to minor.
    ::llvm::SmallVector<::mlir::StringAttr> splitsOf(int64_t dim) const;
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// Returns whether a mesh axis splits some dimension or distributes the flat piece.
    bool splitsOver(::mlir::StringAttr meshAxis) const;
    /// Rank-local shape of the tensor: one dimension when it is flat.
    ::llvm::SmallVector<int64_t> localShape(MeshAttr mesh) const;
    /// Returns whether shards of a dimension may hold padding.
    bool isPadded(int64_t dim, MeshAttr mesh) const;
    LayoutAttr withSplits(int64_t dim, ::llvm::ArrayRef<::mlir::StringAttr> meshAxes) const;
    LayoutAttr withoutPartial() const;
    /// The layout whose piece is distributed over the given axes; not flat if the list is empty.
    LayoutAttr withFlat(::llvm::ArrayRef<::mlir::StringAttr> meshAxes) const;
  }];
}

def Dist_RuleAttr : Dist_Attr<"Rule", "rule"> {
  let summary = "one rule of a plan: axis -> mesh axes";
  let description = [{
    `#dist.rule<axis = "head", mesh = ["tp"], pad, op = "attention", layer = "h.*.attn", loc("gpt.npar":14:9)>`; `mesh` is empty for
    `-> none`; pad, op, layer, `by` (how attention sees a split sequence: "gather", "ring", "ring_zigzag") and the location are optional.
    Module attribute `dist.rules`: an array in the order of the plan.
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, "bool":$pad, ArrayRefParameter<"::mlir::StringAttr">:$mesh,
                        "::mlir::StringAttr":$op, "::mlir::StringAttr":$layer, "::mlir::StringAttr":$by, "::mlir::LocationAttr":$loc);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 0;
  let extraClassDeclaration = [{
    /// The rule as the user would write it: `head -> tp in op attention`.
    ::std::string text() const;
  }];
}

def Dist_CauseAttr : Dist_Attr<"Cause", "cause"> {
  let summary = "why a collective is there";
  let description = [{
    `#dist.cause<kind = sums_over_split, operation = "einsum", axes = ["hidden"], rules = ["hidden -> tp"]>`: the table Cause of the
    compiled program, which says what each field means; empty ones are left out. Every axis has its rule, perhaps an empty one (C1).
  }];
  let parameters = (ins Npar_Word<"CauseKind">:$kind, OptionalParameter<"::mlir::StringAttr">:$operation,
                        OptionalParameter<"::mlir::StringAttr">:$variable, OptionalParameter<"::mlir::ArrayAttr">:$axes,
                        OptionalParameter<"::mlir::ArrayAttr">:$rules, OptionalParameter<"::mlir::StringAttr">:$mesh_axis,
                        OptionalParameter<"::mlir::StringAttr">:$store);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
