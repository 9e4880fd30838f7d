// Verifiers of kernels, launches, library products and attention.
#include "compiler/dialects/rank/Rank.h"

#include "compiler/dialects/nn/base/Elements.h"

#include "mlir/IR/TypeUtilities.h"

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
  if (ExistingAttr existing = getExistingAttr()) {
    Type ends = operands > 0 ? block.getArguments().back().getType() : Type();
    auto tensor = dyn_cast_or_null<RankedTensorType>(ends);
    if (!tensor || !tensor.getElementType().isInteger(32) || tensor.getRank() != int64_t(existing.getEnds().size()) ||
        !llvm::is_contained(existing.getEnds(), existing.getEntry()) || existing.getPlaces() < 1)
      return emitOpError("needs ends of rows that fit ") << existing << " as its last operand";
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
  double flops = 2.0 * getM() * getN() * getK() * getFilled().convertToDouble();
  for (int64_t size : getRanges().empty() ? getBatch() : getBatch().drop_back())
    flops *= size;
  if (WindowedAttr windowed = getWindowedAttr())
    for (WindowAttr window : windowed.getA().getWindows())
      flops /= window.getSpread(); // elsewhere there is nothing to multiply
  return flops;
}

npar::program::Grouping MatmulOp::getGrouping() {
  using npar::program::Grouping;
  return getRanges().empty() ? Grouping::None : getDepth() ? Grouping::Depth : Grouping::Rows;
}

// Last element that a strided operand touches, counted from its first.
static int64_t lastElement(ArrayRef<int64_t> strides, ArrayRef<int64_t> batch, int64_t rows, int64_t columns) {
  int64_t last = strides[batch.size()] * (rows - 1) + strides[batch.size() + 1] * (columns - 1);
  for (auto [stride, size] : llvm::zip(strides, batch))
    last += stride * (size - 1);
  return last;
}

/// Verifies that there is a number for each position. The verifier of programs checks the rest (engine/program/MatmulCheck.cpp).
static LogicalResult verifyWindowed(MatmulOp op, WindowedAttr windowed) {
  auto volume = [](ArrayRef<int64_t> sizes) {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  };
  if (volume(windowed.getM()) != int64_t(op.getM()) || volume(windowed.getN()) != int64_t(op.getN()) ||
      volume(windowed.getK()) != int64_t(op.getK()))
    return op.emitOpError("has positions whose sizes do not make m, n and k");
  for (auto [walked, positions] : {std::pair(windowed.getA(), windowed.getM().size() + windowed.getK().size()),
                                   std::pair(windowed.getB(), windowed.getK().size() + windowed.getN().size())}) {
    bool fits = walked.getStrides().size() == positions;
    for (WindowAttr window : walked.getWindows())
      fits &= window.getSteps().size() == positions;
    if (!fits)
      return op.emitOpError("needs a stride and a step of each window for each of ") << positions << " positions";
  }
  return success();
}

LogicalResult MatmulOp::verify() {
  ArrayRef<int64_t> batch = getBatch();
  if (WindowedAttr windowed = getWindowedAttr(); windowed && failed(verifyWindowed(*this, windowed)))
    return failure();
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
    if (!(getWindowed() && side.value != getResult()) && side.strides[batch.size()] != 1 && side.strides[batch.size() + 1] != 1)
      return emitOpError("'") << side.name << "' has no unit stride among row and column";
  }
  if (!getRanges().empty() && (getRanges().size() != 2 || batch.size() != 2 || (getAccumulator() && !getDepth())))
    return emitOpError("a grouped product has two ranges, two batch loops and, unless it sums over rows, no accumulator; this one has ")
           << getRanges().size() << " ranges and " << batch.size() << " batch loops";
  if (getC().back() != 1)
    return emitOpError("'c' has column stride ") << getC().back() << ", must be 1";
  return success();
}

/// An operand or result of an attention: its name, its shape per index of the batch list, and whether it has the type of sums.
struct AttentionSide {
  StringRef name;
  int64_t heads, rows, columns;
  bool isWide = false;
  /// Heads, rows and columns of an index are contiguous.
  bool isDense = false;
  bool isInteger = false; ///< of i32
};

/// Verifies that rows and keys can be those of one sequence, as far as the op itself tells (Program.fbs, table Attention).
template <typename Op> static LogicalResult verifyPieces(Op op) {
  int64_t rows = op.getRows(), keys = op.getKeys(), step = op.getStep().value_or(0), zigzag = op.getZigzag();
  bool isSplit = op.getPieces() && !op.getPieces()->empty();
  if (step < 0 || (op.getStep() && !isSplit))
    return op.emitOpError("is at step ") << step << " of a ring without members";
  if (zigzag < 0)
    return op.emitOpError("is in zigzag order of ") << zigzag << " ranks";
  if (op.getCausal() && !op.getOther() && (op.getStep() || !isSplit) && rows != keys)
    return op.emitOpError("is causal with ") << rows << " rows and " << keys << " keys, must have equally many";
  return success();
}

/// Verifies strides and element types of operands, then results.
template <typename Op> static LogicalResult verifyAttention(Op op, ArrayRef<AttentionSide> sides) {
  int64_t least =
      std::min({int64_t(op.getHeads()), int64_t(op.getRows()), int64_t(op.getKeys()), int64_t(op.getFeatures()), int64_t(op.getValues())});
  for (int64_t size : op.getBatch())
    least = std::min(least, size);
  if (least < 1)
    return op.emitOpError("has a size of ") << least << ", must be at least 1";
  if (failed(verifyPieces(op)))
    return failure();
  ArrayRef<int64_t> offsets = op.getOffsets();
  if (op.getData() && (!op.getKernels() || op.getKernels()->empty()))
    return op.emitOpError("has data and no kernels");
  if (op.getStrides().size() != sides.size() || offsets.size() != op->getNumOperands())
    return op.emitOpError("has strides of ") << op.getStrides().size() << " values and offsets of " << offsets.size() << ", must be of "
                                             << sides.size() << " and " << op->getNumOperands();
  Type element = getElementTypeOrSelf(op.getQ().getType()), wide = npar::nn::widened(element);
  auto strides = op.getStrides().template getAsRange<DenseI64ArrayAttr>();
  size_t index = 0, loops = op.getBatch().size(), operands = op->getNumOperands() - op.getDataCount();
  for (auto [side, attribute] : llvm::zip(sides, strides)) {
    bool isOperand = index < operands;
    Value value = isOperand ? op->getOperand(index) : Value(op->getResult(index - operands));
    auto type = cast<RankedTensorType>(value.getType());
    Type wanted = side.isInteger ? Type(IntegerType::get(op.getContext(), 32)) : side.isWide ? wide : element;
    if (type.getElementType() != wanted)
      return op.emitOpError("'") << side.name << "' is of " << type.getElementType() << ", must be of " << wanted;
    ArrayRef<int64_t> each = attribute.asArrayRef();
    if (each.size() != loops + 2)
      return op.emitOpError("'") << side.name << "' has " << each.size() << " strides for " << loops << " batch loops, heads and rows";
    if (side.isDense && (each[loops + 1] != side.columns || each[loops] != side.rows * side.columns))
      return op.emitOpError("'") << side.name << "' has strides " << each[loops] << " and " << each[loops + 1] << ", must be "
                                 << side.rows * side.columns << " and " << side.columns;
    int64_t offset = isOperand ? offsets[index] : 0;
    int64_t last = offset + each[loops] * (side.heads - 1) + each[loops + 1] * (side.rows - 1) + side.columns - 1;
    for (auto [stride, size] : llvm::zip(each, op.getBatch()))
      last += stride * (size - 1);
    if (offset < 0 || llvm::any_of(each, [](int64_t stride) { return stride < 0; }) || last >= type.getNumElements())
      return op.emitOpError("'") << side.name << "' reaches element " << last << " of a tensor of " << type.getNumElements();
    ++index;
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  int64_t heads = getHeads(), rows = getRows(), keys = getKeys(), features = getFeatures(), values = getValues();
  AttentionSide state{"the state", heads, rows, values + 2, true, true};
  SmallVector<AttentionSide> sides = {{"q", heads, rows, features}, {"k", 1, keys, features}, {"v", 1, keys, values}};
  if (getMade().empty() || getMade().size() > 2)
    return emitOpError("makes ") << getMade().size() << " values, must make one or two";
  if (getBefore())
    sides.push_back(state);
  AttentionSide positions{"the positions", 1, 1, 1};
  positions.isInteger = true;
  if (isPlaced())
    sides.push_back(positions);
  if (ends())
    sides.append({{"out", heads, rows, values}, {"lse", heads, rows, 1, true, true}});
  else
    sides.push_back(state);
  return verifyAttention(*this, sides);
}

LogicalResult AttentionGradOp::verify() {
  int64_t heads = getHeads(), rows = getRows(), keys = getKeys(), features = getFeatures(), values = getValues();
  return verifyAttention(*this, {{"q", heads, rows, features},
                                 {"k", 1, keys, features},
                                 {"v", 1, keys, values},
                                 {"out", heads, rows, values},
                                 {"dout", heads, rows, values},
                                 {"lse", heads, rows, 1, true, true},
                                 {"dq", heads, rows, features, getPartly()},
                                 {"dk", 1, keys, features, getPartly()},
                                 {"dv", 1, keys, values, getPartly()}});
}
