// Verifiers of kernels, launches and library products.
#include "compiler/dialects/rank/Rank.h"

using namespace mlir;
using namespace npar::rank;

SmallVector<std::pair<int64_t, int64_t>> KernelOp::getInplacePairs() {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (Attribute entry : getInplace()) {
    auto pair = cast<DenseI64ArrayAttr>(entry);
    pairs.emplace_back(pair[0], pair[1]);
  }
  return pairs;
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("must end with 'rank.yield'");
  int64_t operands = block.getNumArguments(), results = block.back().getNumOperands();
  for (Attribute entry : getInplace()) {
    auto pair = dyn_cast<DenseI64ArrayAttr>(entry);
    if (!pair || pair.size() != 2)
      return emitOpError("'inplace' must hold pairs array<i64: result, operand>");
    if (pair[0] < 0 || pair[0] >= results || pair[1] < 0 || pair[1] >= operands)
      return emitOpError("'inplace' pair ") << pair << " is outside " << results << " results and " << operands << " operands";
  }
  if (getExtent() < 1)
    return emitOpError("'extent' is ") << getExtent() << ", must be at least 1";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("calls unknown kernel '") << getKernel() << "'";
  if (!llvm::equal(kernel.getOperandTypes(), getOperands().getTypes()))
    return emitOpError("operand types differ from those of kernel '") << getKernel() << "'";
  if (!llvm::equal(kernel.getResultTypes(), getOutputs().getTypes()))
    return emitOpError("result types differ from those of kernel '") << getKernel() << "'";
  return success();
}

double MatmulOp::getFlops() {
  double flops = 2.0 * getM() * getN() * getK();
  for (int64_t size : getBatch())
    flops *= size;
  return flops;
}

// Last element that a strided operand touches, counted from its first.
static int64_t lastElement(ArrayRef<int64_t> strides, ArrayRef<int64_t> batch, int64_t rows, int64_t columns) {
  int64_t last = strides[batch.size()] * (rows - 1) + strides[batch.size() + 1] * (columns - 1);
  for (auto [stride, size] : llvm::zip(strides, batch))
    last += stride * (size - 1);
  return last;
}

LogicalResult MatmulOp::verify() {
  ArrayRef<int64_t> batch = getBatch();
  struct Side {
    StringRef name;
    Value value;
    ArrayRef<int64_t> strides;
    int64_t rows, columns, offset;
  } sides[] = {{"a", getLhs(), getA(), int64_t(getM()), int64_t(getK()), int64_t(getAOffset())},
               {"b", getRhs(), getB(), int64_t(getK()), int64_t(getN()), int64_t(getBOffset())},
               {"c", getResult(), getC(), int64_t(getM()), int64_t(getN()), 0}};
  for (Side &side : sides) {
    if (side.strides.size() != batch.size() + 2)
      return emitOpError("'") << side.name << "' has " << side.strides.size() << " strides for " << batch.size()
                              << " batch loops, a row and a column";
    int64_t last = side.offset + lastElement(side.strides, batch, side.rows, side.columns);
    int64_t count = cast<RankedTensorType>(side.value.getType()).getNumElements();
    if (side.offset < 0 || last >= count)
      return emitOpError("'") << side.name << "' reaches element " << last << " of a tensor of " << count;
    if (side.strides[batch.size()] != 1 && side.strides[batch.size() + 1] != 1)
      return emitOpError("'") << side.name << "' has no unit stride among row and column";
  }
  if (getC().back() != 1)
    return emitOpError("'c' has column stride ") << getC().back() << ", must be 1";
  return success();
}
