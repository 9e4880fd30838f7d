// Registers the rank dialect's attributes and ops.
#include "compiler/dialects/rank/Rank.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/dialects/rank/RankDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/rank/RankAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/rank/RankOps.cpp.inc"

void npar::rank::RankDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/rank/RankAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/rank/RankOps.cpp.inc"
      >();
}
