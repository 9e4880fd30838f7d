// Builders for vectors of lanes on arith and LLVM ops.
#include "compiler/codegen/loops/Vector.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace npar::codegen {

VectorType laneType(Type type, int64_t lanes) { return VectorType::get({lanes}, type); }

Value constantI64(OpBuilder &b, Location loc, int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }

Value splat(OpBuilder &b, Location loc, Value scalar, int64_t lanes) {
  VectorType type = laneType(scalar.getType(), lanes);
  if (auto constant = scalar.getDefiningOp<arith::ConstantOp>())
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, constant.getValue()));
  Value poison = LLVM::PoisonOp::create(b, loc, type);
  Value zero = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(0));
  Value first = LLVM::InsertElementOp::create(b, loc, type, poison, scalar, zero);
  return LLVM::ShuffleVectorOp::create(b, loc, first, poison, SmallVector<int32_t>(lanes, 0));
}

static Value laneNumbers(OpBuilder &b, Location loc, int64_t lanes) {
  SmallVector<int64_t> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.push_back(i);
  return arith::ConstantOp::create(b, loc, DenseIntElementsAttr::get(laneType(b.getI64Type(), lanes), numbers));
}

Value iota(OpBuilder &b, Location loc, Value base, int64_t lanes) {
  return arith::AddIOp::create(b, loc, splat(b, loc, base, lanes), laneNumbers(b, loc, lanes));
}

Value maskBelow(OpBuilder &b, Location loc, Value count, int64_t lanes) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneNumbers(b, loc, lanes), splat(b, loc, count, lanes));
}

Value address(OpBuilder &b, Location loc, Value base, Type element, Value offset) {
  return LLVM::GEPOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), element, base, ArrayRef<LLVM::GEPArg>{offset});
}

static unsigned alignmentOf(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

Value loadLanes(OpBuilder &b, Location loc, Value pointer, Type element, int64_t lanes, Value mask) {
  VectorType type = laneType(element, lanes);
  if (!mask)
    return LLVM::LoadOp::create(b, loc, type, pointer, alignmentOf(element));
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(b, loc, type, pointer, mask, zero, b.getI32IntegerAttr(alignmentOf(element)));
}

// Lane 0 and no other, as is known here already: the tail of a row whose length is one more than a multiple of the lanes. Where words were
// narrowed to 16 bits LLVM 22 makes a store of 4 bytes of its masked store, and the next row loses its first element.
static bool isFirstLaneAlone(Value mask) {
  auto below = mask.getDefiningOp<arith::CmpIOp>();
  auto bound = below ? below.getRhs().getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
  auto bounds = bound ? dyn_cast<SplatElementsAttr>(bound.getValue()) : SplatElementsAttr();
  return bounds && below.getPredicate() == arith::CmpIPredicate::slt && bounds.getSplatValue<APInt>() == 1;
}

void storeLanes(OpBuilder &b, Location loc, Value vector, Value pointer, Value mask) {
  unsigned alignment = alignmentOf(cast<VectorType>(vector.getType()).getElementType());
  if (!mask)
    LLVM::StoreOp::create(b, loc, vector, pointer, alignment);
  else if (isFirstLaneAlone(mask))
    LLVM::StoreOp::create(b, loc, lane(b, loc, vector, 0), pointer, alignment);
  else
    LLVM::MaskedStoreOp::create(b, loc, vector, pointer, mask, b.getI32IntegerAttr(alignment));
}

static Value addresses(OpBuilder &b, Location loc, Value base, Type element, Value offsets) {
  int64_t lanes = cast<VectorType>(offsets.getType()).getNumElements();
  Type type = VectorType::get({lanes}, LLVM::LLVMPointerType::get(b.getContext()));
  return LLVM::GEPOp::create(b, loc, type, element, base, ArrayRef<LLVM::GEPArg>{offsets});
}

static Value allLanes(OpBuilder &b, Location loc, int64_t lanes) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(laneType(b.getI1Type(), lanes), true));
}

Value gatherLanes(OpBuilder &b, Location loc, Value base, Type element, Value offsets, Value mask) {
  int64_t lanes = cast<VectorType>(offsets.getType()).getNumElements();
  VectorType type = laneType(element, lanes);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return LLVM::masked_gather::create(b, loc, type, addresses(b, loc, base, element, offsets), mask ? mask : allLanes(b, loc, lanes),
                                     ValueRange{zero}, b.getI32IntegerAttr(alignmentOf(element)));
}

void scatterLanes(OpBuilder &b, Location loc, Value vector, Value base, Value offsets, Value mask) {
  auto type = cast<VectorType>(vector.getType());
  LLVM::masked_scatter::create(b, loc, vector, addresses(b, loc, base, type.getElementType(), offsets),
                               mask ? mask : allLanes(b, loc, type.getNumElements()),
                               b.getI32IntegerAttr(alignmentOf(type.getElementType())));
}

Value laneTree(OpBuilder &b, Location loc, Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int32_t> low, high;
    for (int64_t i = 0; i < half; ++i)
      low.push_back(i), high.push_back(i + half);
    Value first = LLVM::ShuffleVectorOp::create(b, loc, vector, vector, low);
    Value second = LLVM::ShuffleVectorOp::create(b, loc, vector, vector, high);
    vector = combine(first, second);
  }
  return lane(b, loc, vector, 0);
}

Value lane(OpBuilder &b, Location loc, Value vector, int64_t index) {
  Value position = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(index));
  return LLVM::ExtractElementOp::create(b, loc, vector, position);
}

} // namespace npar::codegen
