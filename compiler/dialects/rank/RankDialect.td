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
}

class Rank_Op<string mnemonic, list<Trait> traits = []> : Op<Rank_Dialect, mnemonic, traits>;

#endif
