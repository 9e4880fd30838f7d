// Verifies formulas of scores, and draws the probabilities that attention drops.
#include "compiler/dialects/nn/ops/Scores.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Dropout.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Scores.cpp.inc"

void nn::addScores(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Scores.cpp.inc"
      >(dialect);
}

LogicalResult ScoresOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() < positions)
    return emitOpError() << "has " << block.getNumArguments() << " arguments, must have scores and the positions of queries and keys";
  auto *yield = block.empty() ? nullptr : &block.back();
  if (!yield || !isa<ScoresYieldOp>(yield) || yield->getNumOperands() < 1 || yield->getNumOperands() > 2)
    return emitOpError() << "must yield scores, and factors of probabilities where some are dropped";
  for (Type type : yield->getOperandTypes())
    if (type != block.getArgument(0).getType())
      return emitOpError() << "yields " << type << ", must yield " << block.getArgument(0).getType();
  return success();
}

LogicalResult ScoreDropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "rate " << rate << " is outside [0, 1)";
  for (auto [number, type] : llvm::enumerate(getOperandTypes()))
    if (failed(requireWithin(*this, type, ("operand " + Twine(number)).str(), getType(), "the result")))
      return failure();
  return success();
}

// As nn.dropout draws for a tensor [rows, queries, keys] (Dropout.cpp, RULES.md#N1).
LogicalResult ScoreDropoutOp::lower(Lowering &lowering) {
  double rate = getRate().convertToDouble();
  return lowering.map(*this, getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Type wide = body.builder().getI64Type(), element = widened(getType());
    Scalar row = addi(muli(body.micro(), body.integer(int64_t(getRows()))), extend(in[0], wide));
    Scalar query = addi(muli(row, body.integer(int64_t(getQueries()))), extend(in[1], wide));
    Scalar place = addi(muli(query, body.integer(int64_t(getKeys()))), extend(in[2], wide));
    Scalar dropped = isDropped(body, place, rate, getSite());
    return {select(dropped, body.constant(0.0, element), body.constant(1.0 / (1.0 - rate), element))};
  });
}
