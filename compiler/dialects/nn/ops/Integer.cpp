// Integers and truth values: verifiers, the gradient of a choice, meaning.
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Integer.cpp.inc"

void nn::addInteger(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Integer.cpp.inc"
      >(dialect);
}

//===- Verifiers ---------------------------------------------------------------------------------------------------------===//

/// The result has the axes of the operands, all of them and no others.
static LogicalResult verifyBroadcast(Operation *op) {
  Type result = op->getResult(0).getType();
  for (auto [number, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(requireWithin(op, type, ("operand " + Twine(number)).str(), result, "the result")))
      return failure();
  for (StringAttr name : axesOf(result))
    if (llvm::none_of(op->getOperandTypes(), [&](Type type) { return hasAxis(type, name); }))
      return op->emitOpError() << "axis '" << name.getValue() << "' of the result appears in no operand";
  return success();
}

static LogicalResult verifyWord(Operation *op, StringRef what, StringRef word, ArrayRef<StringRef> words) {
  if (llvm::is_contained(words, word))
    return success();
  return op->emitOpError() << what << " must be " << llvm::join(words, ", ") << ", not \"" << word << "\"";
}

LogicalResult IntegerOp::verify() {
  return failure(failed(verifyWord(*this, "the kind", getKind(), {"add", "sub", "mul", "div", "mod", "and", "or"})) ||
                 failed(verifyBroadcast(*this)));
}

LogicalResult CompareOp::verify() {
  if (isFloat(getA().getType()) != isFloat(getB().getType()))
    return emitOpError("compares floats with integers");
  return failure(failed(requireSameElement(*this, {getA().getType(), getB().getType()})) ||
                 failed(verifyWord(*this, "the relation", getRelation(), {"equal", "not_equal", "less", "less_equal"})) ||
                 failed(verifyBroadcast(*this)));
}

LogicalResult WhereOp::verify() {
  return failure(failed(requireSameElement(*this, {getA().getType(), getB().getType(), getType()})) || failed(verifyBroadcast(*this)));
}

LogicalResult ToFloatOp::verify() { return requireSameOrder(*this, getType(), "the result", getX().getType(), "the operand"); }
LogicalResult ToIntOp::verify() { return requireSameOrder(*this, getType(), "the result", getX().getType(), "the operand"); }

//===- Placing -----------------------------------------------------------------------------------------------------------===//

bool WhereOp::isLinear() {
  Type a = getA().getType(), b = getB().getType();
  return isFloat(a) && axesWithin(a, b) && axesWithin(b, a);
}

/// One that is repeated along the axis is chosen in the other's zeros.
ZeroPadding WhereOp::getZeroPadding(StringAttr axis) {
  return hasAxis(getA().getType(), axis) && hasAxis(getB().getType(), axis) ? ZeroPadding::WhereOperandsAre : ZeroPadding::Unknown;
}

//===- Gradients ---------------------------------------------------------------------------------------------------------===//

SmallVector<Value> WhereOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Value dy = gradients[0];
  Value zero = FillOp::create(builder, getLoc(), scalarOf(getElementTypeOrSelf(dy.getType())), builder.getF64FloatAttr(0));
  auto part = [&](Value a, Value b, Type type) {
    return reduceTo(builder, getLoc(), WhereOp::create(builder, getLoc(), dy.getType(), getCondition(), a, b), type);
  };
  Value da = part(dy, zero, getA().getType());
  return {Value(), da, part(zero, dy, getB().getType())};
}

//===- Meaning -----------------------------------------------------------------------------------------------------------===//

static Scalar isZeroInteger(Scalar x) { return equali(x, x.like(0)); }

/// Divisors that a processor traps at, 0 and -1 (the quotient of the least number has 33 bits), are answered without it.
static Scalar divide(Scalar a, Scalar b) {
  Scalar negative = equali(b, b.like(-1)), safe = select(isZeroInteger(b), b.like(1), select(negative, b.like(1), b));
  Scalar quotient = a.make<arith::DivSIOp>(a, safe);
  return select(isZeroInteger(b), b.like(0), select(negative, subi(a.like(0), a), quotient));
}

static Scalar remainder(Scalar a, Scalar b) {
  Scalar negative = equali(b, b.like(-1)), safe = select(isZeroInteger(b), b.like(1), select(negative, b.like(1), b));
  return select(isZeroInteger(b), a, a.make<arith::RemSIOp>(a, safe));
}

LogicalResult IntegerOp::lower(Lowering &lowering) {
  StringRef kind = getKind();
  return lowering.map(*this, getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar a = in[0], b = in[1];
    if (kind == "add")
      return {addi(a, b)};
    if (kind == "sub")
      return {subi(a, b)};
    if (kind == "mul")
      return {muli(a, b)};
    if (kind == "div")
      return {divide(a, b)};
    if (kind == "mod")
      return {remainder(a, b)};
    return {kind == "and" ? both(a, b) : a.make<arith::OrIOp>(a, b)};
  });
}

static Scalar holds(StringRef relation, Scalar a, Scalar b) {
  using Float = arith::CmpFPredicate;
  using Integer = arith::CmpIPredicate;
  auto compare = [&](Float ofFloats, Integer ofIntegers) -> Scalar {
    if (isa<FloatType>(a.type()))
      return a.make<arith::CmpFOp>(ofFloats, a, b);
    return a.make<arith::CmpIOp>(ofIntegers, a, b);
  };
  if (relation == "equal")
    return compare(Float::OEQ, Integer::eq);
  if (relation == "not_equal")
    return compare(Float::UNE, Integer::ne);
  if (relation == "less")
    return compare(Float::OLT, Integer::slt);
  return compare(Float::OLE, Integer::sle);
}

LogicalResult CompareOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar condition = holds(getRelation(), in[0], in[1]);
    Type i32 = body.builder().getI32Type();
    return {condition.make<arith::ExtUIOp>(i32, condition)};
  });
}

LogicalResult WhereOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar chosen = in[0].make<arith::CmpIOp>(arith::CmpIPredicate::ne, in[0], in[0].like(0));
    return {select(chosen, in[1], in[2])};
  });
}

LogicalResult ToFloatOp::lower(Lowering &lowering) {
  Type element = widened(getType());
  return lowering.map(*this, getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {toFloat(in[0], element)}; });
}

// A conversion of what is beyond 32 bits has no meaning: its result is not chosen.
LogicalResult ToIntOp::lower(Lowering &lowering) {
  constexpr double beyond = 2147483648.0;
  return lowering.map(*this, getX(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar x = in[0], inside = x.make<arith::FPToSIOp>(body.builder().getI32Type(), x);
    Scalar most = inside.like(2147483647.0), least = inside.like(-beyond);
    Scalar result = select(less(x, x.like(beyond)), inside, most);
    result = select(less(x, x.like(-beyond)), least, result);
    return {select(isNan(x), result.like(0), result)};
  });
}
