// Conversions of 16-bit types. bf16 uses integer arithmetic, because LLVM would call its run-time library and the processors' own
// instruction flushes subnormals. f16 uses LLVM's conversions, which are single instructions on processors with F16C.
#include "compiler/codegen/loops/Narrow.h"

#include "compiler/dialects/nn/base/Axes.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "engine/program/Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace npar::codegen {

Type storageType(Type element) {
  return isa<FloatType>(element) && nn::isNarrow(element) ? Type(IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth()))
                                                          : element;
}

static_assert(program::areNarrowTypesHalves(), "a narrow type needs conversions here");

/// Returns whether LLVM converts a narrow type correctly and in single instructions.
static bool convertsByLlvm(Type narrow) { return !program::isUpperHalf(nn::elementTypeOf(narrow).value()); }

// `element` in the shape of `like`.
static Type shaped(Type element, Value like) {
  auto vector = dyn_cast<VectorType>(like.getType());
  return vector ? Type(vector.clone(element)) : element;
}

static Value constant(OpBuilder &b, Location loc, Type type, uint32_t value) {
  TypedAttr scalar = b.getI32IntegerAttr(static_cast<int32_t>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, Attribute(scalar)));
  return arith::ConstantOp::create(b, loc, scalar);
}

Value widen(OpBuilder &b, Location loc, Value bits, Type narrow) {
  Type f32 = shaped(b.getF32Type(), bits), i32 = shaped(b.getI32Type(), bits);
  if (convertsByLlvm(narrow)) {
    Value half = arith::BitcastOp::create(b, loc, shaped(narrow, bits), bits);
    return arith::ExtFOp::create(b, loc, TypeRange(f32), ValueRange(half));
  }
  Value word = arith::ExtUIOp::create(b, loc, i32, bits);
  return arith::BitcastOp::create(b, loc, f32, arith::ShLIOp::create(b, loc, word, constant(b, loc, i32, 16)));
}

Value narrow(OpBuilder &b, Location loc, Value value, Type narrow) {
  Type i32 = shaped(b.getI32Type(), value), i16 = shaped(b.getI16Type(), value);
  if (convertsByLlvm(narrow)) {
    Value half = arith::TruncFOp::create(b, loc, shaped(narrow, value), value);
    return arith::BitcastOp::create(b, loc, i16, half);
  }
  auto word = [&](uint32_t bits) { return constant(b, loc, i32, bits); };
  Value bits = arith::BitcastOp::create(b, loc, i32, value);
  Value odd = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, word(16)), word(1));
  Value rounded = arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, bits, word(0x7FFF)), odd);
  Value quiet = arith::OrIOp::create(b, loc, bits, word(0x00400000));
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  Value chosen = arith::SelectOp::create(b, loc, nan, quiet, rounded);
  return arith::TruncIOp::create(b, loc, i16, arith::ShRUIOp::create(b, loc, chosen, word(16)));
}

Value expandConversion(OpBuilder &b, Operation *op, ValueRange operands) {
  if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
    return {};
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (storageType(from) != from)
    return widen(b, op->getLoc(), operands[0], from);
  if (storageType(to) != to)
    return narrow(b, op->getLoc(), operands[0], to);
  return {};
}

} // namespace npar::codegen
