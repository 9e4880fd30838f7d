// Counted and located choices: verifiers, loops, meaning.
#include "compiler/dialects/nn/ops/Counts.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Counts.cpp.inc"

void nn::addCounts(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Counts.cpp.inc"
      >(dialect);
}

//===- Verifiers ---------------------------------------------------------------------------------------------------------===//

LogicalResult QueueOp::verify() {
  Type choice = getChoice().getType();
  return failure(failed(requireSameOrder(*this, getType(), "the result", choice, "the choice")) ||
                 failed(requireExchange(*this, choice, "the choice", getAxisAttr(), getOthers().getType(), "the others", getOtherAttr())));
}

LogicalResult CountBelowOp::verify() {
  return requireExchange(*this, getChoice().getType(), "the choice", getAxisAttr(), getType(), "the result", getToAttr());
}

LogicalResult LocateOp::verify() {
  return requireExchange(*this, getX().getType(), "x", getAxisAttr(), getType(), "the result", getAlongAttr());
}

//===- Loops and meaning --------------------------------------------------------------------------------------------------===//

SmallVector<StringAttr> QueueOp::getLoopOrder() { return reducedBehind(*this, getAxisAttr()); }
SmallVector<StringAttr> CountBelowOp::getLoopOrder() { return reducedBehind(*this, getToAttr()); }
SmallVector<StringAttr> LocateOp::getLoopOrder() { return reducedBehind(*this, getAlongAttr()); }

/// One unsigned comparison tests both ends.
static Scalar isEntry(Scalar choice, int64_t entries) {
  return choice.make<arith::CmpIOp>(arith::CmpIPredicate::ult, choice, choice.like(double(entries)));
}

LogicalResult QueueOp::lower(Lowering &lowering) {
  return lowering.reduce(*this, {getChoice(), getOthers()}, 0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar own = in[0], other = in[1];
    Scalar isBefore = lessi(body.globalIndex(getOthers().getType(), getOtherAttr()), body.globalIndex(getType(), getAxisAttr()));
    Scalar counts = both(isBefore, equali(own, other));
    if (getSorted())
      counts = either(counts, lessi(other, own));
    counts = both(counts, both(isEntry(own, getEntries()), isEntry(other, getEntries())));
    return {addi(in[2], isTrue(counts))};
  });
}

LogicalResult CountBelowOp::lower(Lowering &lowering) {
  Type choice = getChoice().getType();
  return lowering.reduce(*this, getChoice(), 0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar entry = asI32(body.globalIndex(getType(), getToAttr()));
    Scalar counts = both(isEntry(in[0], getEntries()), lessi(in[0], getInclusive() ? addi(entry, entry.like(1)) : entry));
    if (body.isPadded(choice, getAxisAttr()))
      counts = both(counts, body.isLogical(choice, getAxisAttr()));
    return {addi(in[1], isTrue(counts))};
  });
}

LogicalResult LocateOp::lower(Lowering &lowering) {
  Type x = getX().getType();
  return lowering.reduce(*this, getX(), -1, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar found = equali(in[0], asI32(body.globalIndex(getType(), getAlongAttr())));
    if (body.isPadded(x, getAxisAttr()))
      found = both(found, body.isLogical(x, getAxisAttr()));
    Scalar here = select(found, asI32(body.globalIndex(x, getAxisAttr())), in[0].like(-1));
    return {in[1].make<arith::MaxSIOp>(in[1], here)};
  });
}
