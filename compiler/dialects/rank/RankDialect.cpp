// Registers the rank dialect's ops.
#include "compiler/dialects/rank/Rank.h"

#include "compiler/dialects/rank/RankDialect.cpp.inc"

void npar::rank::RankDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/rank/RankOps.cpp.inc"
      >();
}
