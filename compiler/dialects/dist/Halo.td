// The entries that windows of a split axis need of other ranks: a composite op, and the piece that one rank sends to another.
#ifndef NPAR_COMPILER_DIALECTS_DIST_HALO_TD
#define NPAR_COMPILER_DIALECTS_DIST_HALO_TD

include "compiler/dialects/dist/Dist.td"

class Dist_NearOp<string mnemonic, list<Trait> traits>
    : Op<Dist_Dialect, mnemonic, !listconcat([Pure, Nn_PaddingOpInterface, Nn_KernelOpInterface, Nn_CostOpInterface,
                                              DeclareOpInterfaceMethods<Nn_LowerableOpInterface>], traits)> {
  let hasVerifier = 1;
  code extra = "";
  let extraClassDeclaration = [{
    /// It leaves padding of `over` out itself, and moves all else.
    bool needsZeroPadding(unsigned, ::mlir::StringAttr) { return false; }
    bool readsElsewhere(unsigned) { return true; }
    static ::npar::nn::Effort getEffort() { return ::npar::nn::Effort::Little; }
  }] # extra;
}

def Dist_HaloOp : Dist_NearOp<"halo", [Nn_OriginOpInterface]> {
  let summary = "the entries of x along `over` that each rank's windows need; local once it has the edges of other ranks";
  let description = [{
    Rank i of those along `axes` gets `local size` elements along the axis `row.near`, which has the place of `row`. Element e is entry
    (i * step + first + e) / spread of x, and `fill` if this is no whole number, or no entry from 0 to `entries` - 1: the entries behind are
    in no window. If x is whole along `over`, each rank cuts out its elements. If `axes` split it, `place-lower-halos` adds the entries of
    other ranks: one edge for each distance of sender and receiver (`Reach::edges`).

    ```mlir
    %h = dist.halo %x of "row" {axes = ["sp"], step = 4, first = -1, entries = 8, spread = 1, fill = 0.0} :
        tensor<2x4x8xf32, #dist.layout<batch : 2, row : 8 {sp}, column : 8>> -> tensor<2x6x8xf32, #dist.layout<batch : 2, row.near : 12 {sp}, column : 8>>
    // becomes, with an edge for the next rank and one for the rank before
    %0 = dist.edge %x of "row" {axes = ["sp"], shift = 1, ...} : ... -> tensor<2x1x8xf32, #dist.layout<batch : 2, row.edge : 2 {sp}, column : 8>>
    %1 = dist.permute %0 {axes = ["sp"], shift = 1} : ...
    ```
    C1: the result is x with `row.near` for `over`, split over `axes`. C2: x is whole along `over`, or split over `axes`. C3: edges, if there
    are any, are those of `Reach::edges`.
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<AnyRankedTensor>:$edges, StrAttr:$over, StrArrayAttr:$axes, I64Attr:$step,
      I64Attr:$first, I64Attr:$entries, I64Attr:$spread, F64Attr:$fill, OptionalAttr<Dist_CauseAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let extra = [{
    /// No fragment keeps or sends it, but x and the edges.
    ::npar::nn::Origin getOrigin() { return ::npar::nn::Origin::Operand; }
    ::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr) {
      return getFill().isZero() ? ::npar::nn::ZeroPadding::WhereOperandsAre : ::npar::nn::ZeroPadding::Unknown;
    }
    ::npar::dist::Reach getReach();
    bool isWhole(); ///< x is whole along `over`
    /// Returns whether ranks need entries of others that the op does not have yet.
    bool lacksEdges() { return !isWhole() && getEdges().empty() && !getReach().edges().empty(); }
  }];
  let assemblyFormat = "$input (`with` $edges^ `:` type($edges))? `of` $over attr-dict `:` type($input) `->` type($result)";
}

def Dist_EdgeOp : Dist_NearOp<"edge", []> {
  let summary = "the entries of this rank's x that the rank `shift` places further needs for its dist.halo; local";
  let description = [{
    Along the axis `row.edge`: neighbouring entries, from the first that the receiver needs. Every rank has the same number, the most that
    any of them sends. C1: the result is x with `row.edge` for `over`, split over `axes`. C2: x is split over `axes` along `over`.
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$over, StrArrayAttr:$axes, I64Attr:$step, I64Attr:$first, I64Attr:$spread,
      I64Attr:$shift);
  let results = (outs AnyRankedTensor:$result);
  let extra = "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr) { return ::npar::nn::ZeroPadding::WhereOperandsAre; }\n";
  let assemblyFormat = "$input `of` $over attr-dict `:` type($input) `->` type($result)";
}

#endif
