// rms_norm and its gradient as local operations: one mean, of the squares.
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/expand/Expand.h"

using namespace mlir;

namespace npar::place {

static void expandRmsNorm(nn::RmsNormOp op) {
  LocalBuilder b(op);
  Value square = b.mean(b.binary("mul", op.getX(), op.getX()), op.getAxisAttr(), op.getRstd().getType());
  Value rstd = b.unary("rsqrt", b.shift(square, op.getEpsilon().convertToDouble()));
  Value y = b.binary("mul", b.binary("mul", op.getX(), rstd), op.getGamma(), op.getY().getType());
  op->replaceAllUsesWith(ValueRange{y, rstd});
  op->erase();
}

/// g = dy gamma, n = x rstd: dx = rstd (g - n mean(g n)), dgamma = sum dy n, which stays partial over what splits the summed axes.
static void expandRmsNormGrad(nn::RmsNormGradOp op) {
  LocalBuilder b(op);
  Value normal = b.binary("mul", op.getX(), op.getRstd());
  Value g = b.binary("mul", op.getDy(), op.getGamma());
  Value mean = b.mean(b.binary("mul", g, normal), op.getAxisAttr(), op.getRstd().getType());
  Value dx = b.binary("mul", b.binary("sub", g, b.binary("mul", normal, mean)), op.getRstd(), op.getDx().getType());
  Value dgamma = b.build("sum", op.getDgamma().getType(), b.binary("mul", op.getDy(), normal));
  op->replaceAllUsesWith(ValueRange{dx, dgamma});
  op->erase();
}

void attachRmsNorm(MLIRContext *context) {
  nn::RmsNormOp::attachInterface<ExpandedBy<nn::RmsNormOp, expandRmsNorm>>(*context);
  nn::RmsNormGradOp::attachInterface<ExpandedBy<nn::RmsNormGradOp, expandRmsNormGrad>>(*context);
}

} // namespace npar::place
