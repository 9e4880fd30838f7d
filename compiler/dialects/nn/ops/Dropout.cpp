// Dropout: the mask is drawn from the place of an element in the whole model, so that no plan changes it.
#include "compiler/dialects/nn/ops/Dropout.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Dropout.cpp.inc"

void nn::addDropout(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Dropout.cpp.inc"
      >(dialect);
}

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "rate " << rate << " is outside [0, 1)";
  return failure(failed(requireSameElement(*this, {getX().getType(), getType()})) ||
                 failed(requireSameOrder(*this, getType(), "the result", getX().getType(), "the operand")));
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getRate().isZero() && getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

bool DropoutOp::keepsMask() { return true; }

SmallVector<Value> DropoutOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {DropoutOp::create(builder, getLoc(), getX().getType(), gradients[0], getRateAttr(), getSiteAttr())};
}

// One Philox 4x32-10 draw per element, the same under every plan (RULES.md#N1).
//
//   key     = {low 32 bits of seed, low 32 bits of hash(site)} xor {0, high 32 bits of seed}
//   counter = {low, high 32 bits of the global logical index, low, high 32 bits of the data step}
//   the first of the four words, as a fraction of 2^32, is compared with the rate: the element is kept iff it is not below.
//
// hash(site) is XXH3-64 of the site's text. The global logical index is row-major over the global sizes, in the order of the tensor's
// axes; along `batch` the coordinate is the row in the whole batch, micro_index * (size of batch) + global index in the micro-batch.
static Scalar high32(Scalar x) { return x.make<arith::ShRUIOp>(x, x.like(32)); }
static Scalar low32(Scalar x) { return x.make<arith::AndIOp>(x, x.like(double(0xFFFFFFFF))); }
static Scalar xori(Scalar x, Scalar y) { return x.make<arith::XOrIOp>(x, y); }

// Words are the low halves of i64 values; high halves hold rubbish, which only the products' operands must not see (one vector
// instruction multiplies low halves).
static Scalar philox(Scalar counter, Scalar step, Scalar seed, uint64_t site) {
  Scalar c[4] = {counter, high32(counter), step, high32(step)};
  Scalar k0 = seed, k1 = xori(high32(seed), seed.like(double(uint32_t(site))));
  for (int round = 0; round < 10; ++round) {
    Scalar p0 = muli(low32(c[0]), seed.like(double(0xD2511F53))), p1 = muli(low32(c[2]), seed.like(double(0xCD9E8D57)));
    Scalar next[4] = {xori(xori(high32(p1), c[1]), k0), p1, xori(xori(high32(p0), c[3]), k1), p0};
    std::copy(next, next + 4, c);
    k0 = addi(k0, seed.like(double(0x9E3779B9)));
    k1 = addi(k1, seed.like(double(0xBB67AE85)));
  }
  return low32(c[0]);
}

Scalar nn::isDropped(Body &body, Scalar place, double rate, StringRef site) {
  Scalar word = philox(place, body.step(), body.seed(), llvm::xxh3_64bits(site));
  return lessi(word, body.integer(int64_t(rate * 4294967296.0)));
}

LogicalResult DropoutOp::lower(Lowering &lowering) {
  Type type = getType();
  double rate = getRate().convertToDouble();
  return lowering.map(*this, getX(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar index = body.integer(0);
    for (StringAttr axis : axesOf(type)) {
      int64_t size = body.globalSize(type, axis);
      Scalar coordinate = body.globalIndex(type, axis);
      if (axis.getValue() == "batch")
        coordinate = addi(muli(body.micro(), body.integer(size)), coordinate);
      index = addi(muli(index, body.integer(size)), coordinate);
    }
    Scalar dropped = isDropped(body, index, rate, getSite());
    return {select(dropped, in[0].like(0.0), in[0] * (1.0 / (1.0 - rate)))};
  });
}
