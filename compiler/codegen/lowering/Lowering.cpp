// Builds linalg.generics with named loops for formulas, and indices in global coordinates from layouts.
#include "compiler/codegen/lowering/Lowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace npar::codegen {

using nn::Scalar, nn::widened;

namespace {
/// Loops and indices of the linalg.generic that a formula is written into.
class LinalgBody final : public nn::Body {
public:
  LinalgBody(ImplicitLocOpBuilder &b, ArrayRef<StringAttr> loops, dist::MeshAttr mesh, Operation *scope)
      : Body(b), b(b), loops(loops), mesh(mesh), scope(scope) {}
  Scalar index(StringAttr axis) override;
  Scalar shardOffset(Type type, StringAttr axis) override;
  Scalar globalIndex(Type type, StringAttr axis) override;
  int64_t globalSize(Type type, StringAttr axis) override;
  bool isPadded(Type type, StringAttr axis) override;
  Scalar isLogical(Type type, StringAttr axis) override;
  // Words of the context.
  Scalar step() override { return word(0); }
  Scalar micro() override { return word(1); }
  Scalar seed() override { return word(2); }
  Scalar runWord(int64_t number) override {
    Scalar bits = word(3 + (mesh ? static_cast<int64_t>(mesh.getSizes().size()) : 0) + number);
    return bits.make<arith::BitcastOp>(b.getF64Type(), bits);
  }
  Scalar extract(Value tensor, ArrayRef<Scalar> indices) override;

private:
  /// The global index in a piece of an axis of `global` elements in zigzag order over `ranks` ranks; `piece` is its number, `size` its
  /// length.
  Scalar indexInPiece(StringAttr axis, int64_t ranks, Scalar piece, int64_t size, int64_t global);
  /// This rank's number among those that differ in the mesh axes, major to minor.
  Scalar member(ArrayRef<StringAttr> meshAxes);
  Scalar coordinate(StringAttr meshAxis) { return word(3 + mesh.indexOf(meshAxis)); }
  Scalar word(int64_t index) { return {b, rank::ContextOp::create(b, b.getI64Type(), b.getI64IntegerAttr(index))}; }
  ImplicitLocOpBuilder &b;
  ArrayRef<StringAttr> loops;
  dist::MeshAttr mesh;
  Operation *scope;
};
} // namespace

Scalar LinalgBody::index(StringAttr axis) {
  unsigned dim = llvm::find(loops, axis) - loops.begin();
  Value index = linalg::IndexOp::create(b, dim);
  return {b, arith::IndexCastOp::create(b, b.getI64Type(), index)};
}

Scalar LinalgBody::shardOffset(Type type, StringAttr axis) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  bool flat = layout && layout.isFlat();
  int64_t dim = flat ? 0 : layout ? layout.dimOf(axis) : -1;
  if (dim < 0)
    return integer(0);
  Scalar number = member(flat ? SmallVector<StringAttr>(layout.getFlatAxes()) : layout.splitsOf(dim));
  return muli(number, integer(cast<RankedTensorType>(type).getDimSize(dim)));
}

Scalar LinalgBody::member(ArrayRef<StringAttr> meshAxes) {
  Scalar number = integer(0);
  for (StringAttr axis : meshAxes)
    number = addi(muli(number, integer(mesh.sizeOf(axis))), coordinate(axis));
  return number;
}

static bool isSplit(Type type, StringAttr axis) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  int64_t dim = layout ? layout.dimOf(axis) : -1;
  return dim >= 0 && !layout.splitsOf(dim).empty();
}

Scalar LinalgBody::globalIndex(Type type, StringAttr axis) {
  int64_t ranks = dist::zigzagOf(scope, axis);
  if (!ranks)
    return isSplit(type, axis) ? addi(index(axis), shardOffset(type, axis)) : index(axis);
  dist::LayoutAttr layout = dist::layoutOf(type);
  int64_t dim = nn::dimOf(type, axis);
  SmallVector<StringAttr> splits = layout ? layout.splitsOf(dim) : SmallVector<StringAttr>();
  int64_t size = cast<RankedTensorType>(type).getDimSize(dim);
  return indexInPiece(axis, ranks, member(splits), size, layout ? layout.getSizes()[dim] : size);
}

Scalar LinalgBody::indexInPiece(StringAttr axis, int64_t ranks, Scalar piece, int64_t size, int64_t global) {
  int64_t chunk = global / (2 * ranks);
  Scalar last = integer(2 * ranks - 1), length = integer(chunk);
  if (size == 2 * chunk) {
    // Two chunks, number piece and number 2 ranks - 1 - piece; the second one begins at `chunk` in the piece.
    Scalar early = muli(piece, length), late = muli(subi(subi(last, piece), integer(1)), length);
    return addi(index(axis), select(lessi(index(axis), length), early, late));
  }
  Scalar position = addi(index(axis), muli(piece, integer(size)));
  Scalar slot = position.make<arith::DivUIOp>(position, length), half = slot.make<arith::ShRUIOp>(slot, integer(1));
  Scalar odd = slot.make<arith::AndIOp>(slot, integer(1));
  Scalar chunkNumber = select(equali(odd, integer(1)), subi(last, half), half);
  return addi(subi(position, muli(slot, length)), muli(chunkNumber, length));
}

int64_t LinalgBody::globalSize(Type type, StringAttr axis) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  return layout ? layout.getSizes()[layout.dimOf(axis)] : nn::sizeOf(type, axis);
}

bool LinalgBody::isPadded(Type type, StringAttr axis) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  int64_t dim = layout ? layout.dimOf(axis) : -1;
  return dim >= 0 && layout.isPadded(dim, mesh);
}

Scalar LinalgBody::isLogical(Type type, StringAttr axis) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  // Padding comes after everything in memory, whatever the order.
  return lessi(addi(index(axis), shardOffset(type, axis)), integer(layout.getSizes()[layout.dimOf(axis)]));
}

Scalar LinalgBody::extract(Value tensor, ArrayRef<Scalar> indices) {
  SmallVector<Value> positions;
  for (Scalar index : indices)
    positions.push_back(arith::IndexCastOp::create(b, b.getIndexType(), index));
  Scalar value(b, tensor::ExtractOp::create(b, tensor, positions));
  return isa<FloatType>(value.type()) ? convert(value, widened(value.type())) : value;
}

static RankedTensorType plain(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

ValueRange LinalgLowering::generic(Operation *op, ValueRange operands, ArrayRef<StringAttr> loops, ValueRange inits, Function body,
                                   ArrayRef<std::pair<StringAttr, int64_t>> fixed) {
  MLIRContext *context = b.getContext();
  SmallVector<AffineMap> maps;
  auto addMap = [&](Type type) {
    SmallVector<AffineExpr> dims;
    for (StringAttr axis : nn::axesOf(type)) {
      auto constant = llvm::find_if(fixed, [&](auto &entry) { return entry.first == axis; });
      dims.push_back(constant != fixed.end() ? getAffineConstantExpr(constant->second, context)
                                             : getAffineDimExpr(llvm::find(loops, axis) - loops.begin(), context));
    }
    maps.push_back(AffineMap::get(loops.size(), 0, dims, context));
  };
  SmallVector<Value> inputs;
  for (Value operand : operands) {
    inputs.push_back(get(operand));
    addMap(operand.getType());
  }
  for (Type type : op->getResultTypes())
    addMap(type);
  SmallVector<utils::IteratorType> iterators;
  for (StringAttr axis : loops)
    iterators.push_back(nn::hasAxis(op->getResult(0).getType(), axis) ? utils::IteratorType::parallel : utils::IteratorType::reduction);
  auto result = linalg::GenericOp::create(b, op->getLoc(), ValueRange(inits).getTypes(), inputs, inits, maps, iterators,
                                          [&](OpBuilder &inside, Location loc, ValueRange arguments) {
                                            ImplicitLocOpBuilder builder(loc, inside);
                                            LinalgBody context(builder, loops, mesh, scope);
                                            SmallVector<Scalar> scalars;
                                            for (auto [i, argument] : llvm::enumerate(arguments)) {
                                              Scalar scalar(builder, argument);
                                              bool widens = i < inputs.size() && nn::isNarrow(scalar.type());
                                              scalars.push_back(widens ? convert(scalar, widened(scalar.type())) : scalar);
                                            }
                                            SmallVector<Value> yielded;
                                            for (auto [value, init] : llvm::zip(body(context, scalars), inits)) {
                                              Type element = getElementTypeOrSelf(init.getType());
                                              yielded.push_back(isa<FloatType>(element) ? convert(value, element) : value);
                                            }
                                            linalg::YieldOp::create(builder, yielded);
                                          });
  SmallVector<Attribute> names(loops.begin(), loops.end());
  result->setAttr(axesAttribute, b.getArrayAttr(names));
  return result.getResults();
}

Value LinalgLowering::flattened(Value operand) {
  Value lowered = get(operand);
  auto type = cast<RankedTensorType>(lowered.getType());
  auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
  return UnrealizedConversionCastOp::create(b, operand.getLoc(), flat, lowered).getResult(0);
}

LogicalResult LinalgLowering::map(Operation *op, ValueRange operands, Function body, ArrayRef<std::pair<StringAttr, int64_t>> fixed) {
  SmallVector<Value> inits;
  for (Type type : op->getResultTypes())
    inits.push_back(tensor::EmptyOp::create(b, op->getLoc(), plain(type).getShape(), plain(type).getElementType()));
  ValueRange lowered = generic(op, operands, nn::axesOf(op->getResult(0).getType()), inits, body, fixed);
  for (auto [value, tensor] : llvm::zip(op->getResults(), lowered))
    set(value, tensor);
  return success();
}

LogicalResult LinalgLowering::reduce(nn::KernelOpInterface op, ValueRange operands, double neutral, Function body) {
  RankedTensorType type = plain(op->getResult(0).getType());
  Type compute = widened(type);
  Value empty = tensor::EmptyOp::create(b, op->getLoc(), type.getShape(), compute);
  TypedAttr first = isa<FloatType>(compute) ? TypedAttr(b.getFloatAttr(compute, neutral))
                                            : TypedAttr(b.getIntegerAttr(compute, static_cast<int64_t>(neutral)));
  Value start = arith::ConstantOp::create(b, op->getLoc(), first);
  Value init = linalg::FillOp::create(b, op->getLoc(), ValueRange{start}, ValueRange{empty}).getResult(0);
  Value sum = generic(op, operands, op.getLoopOrder(), ValueRange{init}, body).front();
  set(op->getResult(0), sum);
  if (compute == type.getElementType())
    return success();
  // The one rounding, after the last loop.
  return map(op, op->getResult(0), [](nn::Body &, Scalars in) -> SmallVector<Scalar> { return {in[0]}; });
}

FailureOr<OwningOpRef<ModuleOp>> lowerToLinalg(rank::KernelOp kernel, dist::MeshAttr mesh) {
  Location loc = kernel.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Type> operands, results;
  for (Type type : kernel.getOperandTypes())
    operands.push_back(plain(type));
  for (Type type : kernel.getResultTypes())
    results.push_back(plain(type));
  auto function = func::FuncOp::create(b, loc, kernel.getSymName(), b.getFunctionType(operands, results));
  if (rank::ExistingAttr existing = kernel.getExistingAttr())
    function->setAttr(existingAttribute, existing);
  b.setInsertionPointToStart(function.addEntryBlock());
  LinalgLowering lowering(b, mesh, kernel);
  Block &block = kernel.getBody().front();
  for (auto [from, to] : llvm::zip(block.getArguments(), function.getArguments()))
    lowering.set(from, to);
  for (Operation &op : block.without_terminator()) {
    auto prim = dyn_cast<nn::LowerableOpInterface>(op);
    if (!prim)
      return op.emitOpError("has no lowering to a kernel");
    if (failed(prim.lower(lowering)))
      return failure();
  }
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(lowering.get(value));
  func::ReturnOp::create(b, loc, yielded);
  return module;
}

/// An op of another dialect with a nest of its own, which reads its operands in its own order.
template <typename Op> struct OwnNest : nn::KernelOpInterface::ExternalModel<OwnNest<Op>, Op> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }
  static nn::Nest getNest() { return nn::Nest::Own; }
};

void registerLowerings(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, rank::RankDialect *) {
    context->loadDialect<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, math::MathDialect, tensor::TensorDialect>();
    // Of no meaning as scalar formulas: loops/SquareSum.cpp writes their loops.
    rank::SquareSumOp::attachInterface<OwnNest<rank::SquareSumOp>>(*context);
    rank::BinSumsOp::attachInterface<OwnNest<rank::BinSumsOp>>(*context);
  });
}

} // namespace npar::codegen
