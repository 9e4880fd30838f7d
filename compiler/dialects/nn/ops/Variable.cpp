// Variables and their uses; inputs, indices and constants.
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "compiler/dialects/nn/ops/VariableName.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

static ParseResult parseVariableName(OpAsmParser &parser, StringAttr &symbol) {
  StringAttr path;
  if (parser.parseSymbolName(path))
    return failure();
  symbol = parser.getBuilder().getStringAttr(variableSymbol(path));
  return success();
}

static void printVariableName(OpAsmPrinter &printer, VariableOp op, StringAttr) { printer.printSymbolName(pathOf(op)); }

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Variable.cpp.inc"

void nn::addVariable(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Variable.cpp.inc"
      >(dialect);
}

void VariableOp::build(OpBuilder &builder, OperationState &state, StringRef name, Type type, VariableKind kind) {
  state.getOrAddProperties<Properties>().sym_name = builder.getStringAttr(variableSymbol(name));
  state.getOrAddProperties<Properties>().type = TypeAttr::get(type);
  state.getOrAddProperties<Properties>().kind = VariableKindAttr::get(builder.getContext(), kind);
}

LogicalResult VariableOp::verify() {
  if (!getSymName().starts_with(variableMark))
    return emitOpError() << "has the symbol '" << getSymName() << "', which must begin with '" << variableMark << "'";
  auto require = [&](bool present, StringRef attribute) -> LogicalResult {
    if (!present)
      return emitOpError() << "of kind " << wordOf(getKind()) << " needs the attribute '" << attribute << "'";
    return success();
  };
  if (!elementTypeOf(getType()))
    return emitOpError() << "has element type " << getTensorType().getElementType() << ", and programs hold "
                         << program::wordsOf<program::ElementType>();
  switch (getKind()) {
  case VariableKind::Parameter: {
    if (failed(require(getStored().has_value(), "stored")) || failed(require(getInit().has_value(), "init")) ||
        failed(require(getIndex().has_value(), "index")))
      return failure();
    return success();
  }
  case VariableKind::State:
    return require(getSlot().has_value(), "slot");
  case VariableKind::Accumulator:
    return getOf() ? require(getUse().has_value(), "use") : success();
  case VariableKind::Output:
    if (axesOf(getType()).size() > 1 || !getTensorType().getElementType().isF64())
      return emitOpError() << "of kind output must be an f64 or a list of them";
    return require(getOutput().has_value(), "output");
  }
  return success();
}

/// Returns whether `type` is that of an accumulator after @update has reduced it, which may be another piece than the accumulated one.
static bool isReduced(VariableOp variable, Type type) { return variable && variable.getReduced() && *variable.getReduced() == type; }

/// The variable that an op names, or null. The symbol tables are shared by the whole verification, because searching the module at every
/// use would take quadratic time.
template <typename Op> static VariableOp variableOf(SymbolTableCollection &symbols, Op op) {
  auto module = op->template getParentOfType<ModuleOp>();
  return module ? symbols.lookupSymbolIn<VariableOp>(module, StringAttr::get(module.getContext(), variableSymbol(op.getVariable())))
                : VariableOp();
}

template <typename Op> static LogicalResult verifyUse(Op op, VariableOp variable, Type type) {
  if (!variable)
    return op.emitOpError() << "unknown variable '" << op.getVariable() << "'";
  if (variable.getType() != type) {
    InFlightDiagnostic error = op.emitOpError()
                               << "has type " << type << " but variable '" << op.getVariable() << "' has " << variable.getType();
    error.attachNote(variable.getLoc()) << "declared here";
    return error;
  }
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  VariableOp variable = variableOf(symbols, *this);
  return isReduced(variable, getType()) ? success() : verifyUse(*this, variable, getType());
}
/// A reduced gradient goes back to its accumulator, whose own type is partial: only what memory holds must agree.
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  VariableOp variable = variableOf(symbols, *this);
  RankedTensorType type = llvm::cast<RankedTensorType>(getValue().getType());
  if (isReduced(variable, type))
    return success();
  if (variable && variable.isKind(VariableKind::Accumulator) && axesOf(type) == axesOf(variable.getType()) &&
      type.getShape() == variable.getTensorType().getShape() && type.getElementType() == variable.getTensorType().getElementType())
    return success();
  return verifyUse(*this, variable, type);
}
LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  VariableOp variable = variableOf(symbols, *this);
  if (failed(verifyUse(*this, variable, getValue().getType())))
    return failure();
  if (!variable.isKind(VariableKind::Accumulator))
    return emitOpError() << "variable '" << getVariable() << "' is no accumulator";
  return success();
}

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void ReadOp::getEffects(Effects &effects) { effects.emplace_back(MemoryEffects::Read::get(), getVariableAttr(), VariableResource::get()); }
void WriteOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), getVariableAttr(), VariableResource::get());
}
void AccumulateOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), getVariableAttr(), VariableResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), getVariableAttr(), VariableResource::get());
}

void ResultOp::getEffects(Effects &effects) { effects.emplace_back(MemoryEffects::Write::get()); }
SmallVector<LoopAxis> ResultOp::getLoopAxes() {
  SmallVector<LoopAxis> loops;
  for (StringAttr axis : axesOf(getValue().getType()))
    loops.push_back({axis, LoopKind::Parallel});
  return loops;
}

// [seq] -> [seq, half]
LogicalResult SinusoidOp::verify() {
  if (getWave() != "cos" && getWave() != "sin")
    return emitOpError() << "wave must be \"cos\" or \"sin\", not \"" << getWave() << "\"";
  if (bool(getBase()) == bool(getFrequencies()))
    return emitOpError() << "needs a base or frequencies, and not both";
  if (double base = getBase() ? getBase()->convertToDouble() : 1; !(base > 0))
    return emitOpError() << "base " << base << " is not above 0";
  if (failed(requireAxis(*this, getType(), "the result", getAxisAttr())))
    return failure();
  // A rank holds a part of the axis, but all frequencies.
  if (int64_t local = sizeOf(getType(), getAxisAttr()); getFrequencies() && static_cast<int64_t>(getFrequencies()->size()) < local)
    return emitOpError() << "needs 1 frequency for each of the " << local << " entries of \"" << getAxis() << "\", not "
                         << getFrequencies()->size();
  return requireWithout(*this, getPositions().getType(), "the positions", getType(), "the result", {getAxisAttr()});
}

LogicalResult IndexOp::verify() {
  if (axesOf(getType()).size() != 1)
    return emitOpError() << "needs a result of exactly 1 axis, not " << axesOf(getType()).size();
  return success();
}

LogicalResult FillOp::lower(Lowering &lowering) {
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    double value = getValue().convertToDouble();
    Type element = widened(getType());
    if (isa<FloatType>(element))
      return {body.constant(value, element)};
    ImplicitLocOpBuilder &b = body.builder();
    return {Scalar(b, arith::ConstantOp::create(b, b.getIntegerAttr(element, static_cast<int64_t>(value))))};
  });
}

LogicalResult IndexOp::lower(Lowering &lowering) {
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    Scalar index = body.globalIndex(getType(), axesOf(getType())[0]);
    return {index.make<arith::TruncIOp>(body.builder().getI32Type(), index)};
  });
}

/// list[index] without memory: each bit of the index halves what is left of the list.
static Scalar entryOf(Body &body, Scalar index, ArrayRef<double> list) {
  std::vector<Scalar> left;
  for (double number : list)
    left.push_back(body.constant(number, body.builder().getF64Type()));
  for (int64_t bit = 0; left.size() > 1; ++bit) {
    Scalar shifted = index.make<arith::ShRUIOp>(index, body.integer(bit));
    Scalar isOdd = equali(shifted.make<arith::AndIOp>(shifted, body.integer(1)), body.integer(1));
    std::vector<Scalar> half;
    for (size_t i = 0; i < left.size(); i += 2)
      half.push_back(i + 1 < left.size() ? select(isOdd, left[i + 1], left[i]) : left[i]);
    left = std::move(half);
  }
  return left.front();
}

LogicalResult SinusoidOp::lower(Lowering &lowering) {
  return lowering.map(*this, getPositions(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Type f32 = body.builder().getF32Type(), f64 = body.builder().getF64Type();
    auto rounded = [&](Scalar x) { return convert(convert(x, f32), f64); };
    Scalar index = body.globalIndex(getType(), getAxisAttr());
    auto frequencyOfBase = [&](double base) {
      Scalar exponent = rounded(toFloat(index, f64) / double(body.globalSize(getType(), getAxisAttr())));
      return rounded(1.0 / rounded(pow(exponent.like(base), exponent)));
    };
    Scalar frequency = getBase() ? frequencyOfBase(getBase()->convertToDouble()) : entryOf(body, index, *getFrequencies());
    Scalar angle = toFloat(in[0], f64) * frequency;
    return {convert(getWave() == "cos" ? cos(angle) : sin(angle), getElementTypeOrSelf(getType()))};
  });
}
