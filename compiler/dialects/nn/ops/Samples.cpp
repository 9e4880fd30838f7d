// Samples of a step: verifiers and meaning.
#include "compiler/dialects/nn/ops/Samples.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Samples.cpp.inc"

void nn::addSamples(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Samples.cpp.inc"
      >(dialect);
}

LogicalResult SampleOp::verify() {
  ArrayRef<StringAttr> axes = axesOf(getType());
  if (axes.size() != 1 || axes[0].getValue() != "batch")
    return emitOpError() << "needs a result over `batch` alone";
  return success();
}

// Micro-batch m is the rows [m size, (m + 1) size) of the global batch (RULES.md#P10).
LogicalResult SampleOp::lower(Lowering &lowering) {
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    StringAttr batch = axesOf(getType())[0];
    Scalar first = muli(body.micro(), body.integer(body.globalSize(getType(), batch)));
    Scalar number = addi(first, body.globalIndex(getType(), batch));
    return {number.make<arith::TruncIOp>(body.builder().getI32Type(), number)};
  });
}

LogicalResult GroupTotalOp::verify() {
  const int64_t size = sizeOf(getType(), StringAttr::get(getContext(), "batch")), samples = getSamples();
  if (samples < 1 || size % samples != 0)
    return emitOpError() << "has groups of " << samples << " samples, which do not divide the " << size << " of a micro-batch";
  return success();
}
