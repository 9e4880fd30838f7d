// layer_norm and its gradient as local operations: two passes (mean, then centred squares), biased variance.
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/expand/Expand.h"

using namespace mlir;

namespace npar::place {

static void expandLayerNorm(nn::LayerNormOp op) {
  LocalBuilder b(op);
  StringAttr axis = op.getAxisAttr();
  Value mean = b.mean(op.getX(), axis, op.getMean().getType());
  Value centred = b.binary("sub", op.getX(), mean);
  Value variance = b.mean(b.binary("mul", centred, centred), axis, op.getRstd().getType());
  Value rstd = b.unary("rsqrt", b.shift(variance, op.getEpsilon().convertToDouble()));
  Value scaled = b.binary("mul", b.binary("mul", centred, rstd), op.getGamma());
  Value y = b.binary("add", scaled, op.getBeta(), op.getY().getType());
  op->replaceAllUsesWith(ValueRange{y, mean, rstd});
  op->erase();
}

/// g = dy gamma, n = (x - mean) rstd: dx = rstd (g - mean(g) - n mean(g n)), dgamma = sum dy n, dbeta = sum dy. The parameters' gradients
/// stay partial over what splits the summed axes.
static void expandLayerNormGrad(nn::LayerNormGradOp op) {
  LocalBuilder b(op);
  StringAttr axis = op.getAxisAttr();
  Value normal = b.binary("mul", b.binary("sub", op.getX(), op.getMean()), op.getRstd());
  Value g = b.binary("mul", op.getDy(), op.getGamma());
  Value meanG = b.mean(g, axis, op.getMean().getType());
  Value meanGn = b.mean(b.binary("mul", g, normal), axis, op.getMean().getType());
  Value inner = b.binary("sub", b.binary("sub", g, meanG), b.binary("mul", normal, meanGn));
  Value dx = b.binary("mul", inner, op.getRstd(), op.getDx().getType());
  Value dgamma = b.build("sum", op.getDgamma().getType(), b.binary("mul", op.getDy(), normal));
  Value dbeta = b.build("sum", op.getDbeta().getType(), op.getDy());
  op->replaceAllUsesWith(ValueRange{dx, dgamma, dbeta});
  op->erase();
}

void attachLayerNorm(MLIRContext *context) {
  nn::LayerNormOp::attachInterface<ExpandedBy<nn::LayerNormOp, expandLayerNorm>>(*context);
  nn::LayerNormGradOp::attachInterface<ExpandedBy<nn::LayerNormGradOp, expandLayerNormGrad>>(*context);
}

} // namespace npar::place
