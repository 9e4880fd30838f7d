// Registers the rank dialect's ops.
#include "compiler/dialects/rank/Rank.h"

#include "mlir/IR/DialectImplementation.h"

#include "compiler/dialects/rank/RankDialect.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/rank/RankOps.cpp.inc"

void npar::rank::RankDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/rank/RankOps.cpp.inc"
      >();
}
