// The rank dialect: who does what, in which memory. One file per group of ops; RankOps.td gathers them.
#ifndef NPAR_RANK_DIALECT
#define NPAR_RANK_DIALECT

include "mlir/IR/OpBase.td"

def Rank_Dialect : Dialect {
  let name = "rank";
  let cppNamespace = "::npar::rank";
  let summary = "Rank programs: kernels, library calls, buffers and steps";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// RankProgramOps.cpp, where the storage classes are complete.
    void registerAttributes();
  }];
}

class Rank_Op<string mnemonic, list<Trait> traits = []> : Op<Rank_Dialect, mnemonic, traits>;

#endif
