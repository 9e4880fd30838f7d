// Pieces of formulas that several families of ops share.
#include "compiler/dialects/nn/base/Meaning.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

Scalar nn::clampIndex(Scalar index, int64_t size) {
  Scalar low = index.make<arith::MaxSIOp>(index, index.like(0));
  return low.make<arith::MinSIOp>(low, low.like(double(size - 1)));
}
