// The division by the number of valid tokens.
#include "compiler/passes/autodiff/ValidTokens.h"

using namespace mlir;

namespace npar::nn {

Value perValidToken(OpBuilder &builder, Location location, ModuleOp module, Value value) {
  auto variable = module.lookupSymbol<VariableOp>("#out.valid_tokens");
  if (!variable)
    return value;
  Type scalar = variable.getType();
  Value count = ReadOp::create(builder, location, scalar, variable.getSymName());
  Value one = FillOp::create(builder, location, scalar, builder.getF64FloatAttr(1));
  return DivOp::create(builder, location, scalar, value, Max2Op::create(builder, location, scalar, count, one));
}

} // namespace npar::nn
