// Registers the pipe dialect's ops and attributes.
#include "compiler/dialects/pipe/Pipe.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/dialects/pipe/PipeDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/pipe/PipeAttributes.cpp.inc"

void npar::pipe::PipeDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialects/pipe/PipeAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/pipe/PipeOps.cpp.inc"
      >();
}
