// prepare-precision: the element type of each operation of @micro, by the plan's `compute` and `keep`; conversions where they meet.
#include "compiler/dialects/nn/LayerPattern.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#define GEN_PASS_DEF_PREPAREPRECISION
#include "compiler/passes/prepare/Passes.h.inc"

using namespace mlir;
using namespace npar::nn;

namespace {

/// What is left when all axes are summed is the loss, or a part of it; so is what importing marks, the choice of what counts.
bool isOfLoss(Operation *op) {
  bool scalar = op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) && axesOf(op->getResult(0).getType()).empty();
  return scalar || op->hasAttr(ofLossAttribute);
}

/// `keep WHAT in TYPE`: a group of operations, a kind of operation, or the operations of a layer. The front end saw that there is one;
/// attention does its softmax in f32 whatever is kept.
struct Keep {
  StringRef what;
  bool layer = false;
  Type type;

  bool matches(Operation *op) const {
    if (layer)
      return getAt(op) && matchesLayer(what, getAt(op).getPath());
    auto asked = dyn_cast<PrecisionOpInterface>(op);
    return op->getName().stripDialect() == what || (asked && asked.getKeepWord() == what) || (what == "loss" && isOfLoss(op));
  }
};

struct PreparePrecision : ::impl::PreparePrecisionBase<PreparePrecision> {
  void runOnOperation() override {
    auto precision = getOperation()->getAttrOfType<DictionaryAttr>("nn.precision");
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!precision || !micro)
      return;
    auto type = precision.getAs<TypeAttr>("compute");
    compute = type ? type.getValue() : Type();
    if (compute && compute.isTF32()) {
      readKeeps(precision);
      roundProducts(micro);
      compute = Type();
    }
    if (!isNarrowOrNull(compute) || computesInF64()) {
      getOperation()->removeAttr("nn.precision"); // nothing is mixed
      return;
    }
    readKeeps(precision);
    retypeParameters(micro);
    for (Operation &op : llvm::make_early_inc_range(micro.front().without_terminator()))
      convert(&op);
  }

private:
  Type compute;
  SmallVector<Keep> keeps;

  static bool isNarrowOrNull(Type type) { return type && isNarrow(type); }

  bool computesInF64() {
    auto variables = getOperation().getOps<VariableOp>();
    return llvm::any_of(variables, [](VariableOp variable) {
      return variable.isKind(VariableKind::Parameter) && variable.getTensorType().getElementType().isF64();
    });
  }

  void readKeeps(DictionaryAttr precision) {
    auto list = precision.getAs<ArrayAttr>("keep");
    for (Attribute each : list ? list.getValue() : ArrayRef<Attribute>()) {
      auto entry = cast<DictionaryAttr>(each);
      auto layer = entry.getAs<BoolAttr>("layer");
      keeps.push_back({entry.getAs<StringAttr>("what").getValue(), layer && layer.getValue(), entry.getAs<TypeAttr>("type").getValue()});
    }
  }

  /// What the plan says last about an operation; without a word of it, f32 where 16 bits lose what averages and exponentials need.
  Type typeOf(Operation *op) {
    Type type;
    for (const Keep &keep : keeps)
      if (keep.matches(op))
        type = keep.type;
    if (type)
      return type;
    auto asked = dyn_cast<PrecisionOpInterface>(op);
    return (asked && asked.isWide()) || isOfLoss(op) ? Type(Float32Type::get(&getContext())) : compute;
  }

  /// A parameter is stored in the compute type, but where all its uses are in layers that are kept.
  void retypeParameters(func::FuncOp micro) {
    llvm::StringMap<Type> types;
    for (auto read : micro.getOps<ReadOp>()) {
      Type type = compute;
      for (const Keep &keep : keeps)
        if (keep.layer && keep.matches(read))
          type = keep.type;
      Type &found = types[read.getVariable()];
      found = !found || found == type ? type : compute;
    }
    for (auto variable : getOperation().getOps<VariableOp>())
      if (variable.isKind(VariableKind::Parameter))
        if (Type type = types.lookup(pathOf(variable)))
          variable.setType(withElement(variable.getType(), type));
    SymbolTable symbols(getOperation());
    for (auto read : micro.getOps<ReadOp>())
      if (auto variable = findVariable(symbols, read.getVariable()))
        read.getResult().setType(variable.getTensorType());
  }

  /// Products of f32 that no `keep` exempts; the autodiff phase makes those of their gradients alike.
  void roundProducts(func::FuncOp micro) {
    for (auto product : micro.getOps<EinsumOp>())
      if (getElementTypeOrSelf(product.getA().getType()).isF32() &&
          llvm::none_of(keeps, [&](const Keep &keep) { return keep.matches(product); }))
        product.setTf32(true);
  }

  static bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

  /// What makes integers of floats takes them as they are, but of one type: a maximum is looked for among what it was taken of.
  static bool mixesFloats(Operation *op) {
    Type first;
    for (Type type : op->getOperandTypes())
      if (Type element = getElementTypeOrSelf(type); isFloat(type)) {
        if (first && first != element)
          return true;
        first = element;
      }
    return false;
  }

  void convert(Operation *op) {
    auto isF64 = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
    if (isa<ReadOp, InputOp, AccumulateOp>(op) || llvm::any_of(op->getResultTypes(), isF64) ||
        (llvm::none_of(op->getResultTypes(), isFloat) && !mixesFloats(op)))
      return;
    Type type = typeOf(op);
    OpBuilder builder(op);
    llvm::SmallDenseMap<Value, Value> converted;
    for (OpOperand &use : op->getOpOperands()) {
      Value value = use.get();
      if (!isFloat(value.getType()) || getElementTypeOrSelf(value.getType()) == type)
        continue;
      Value &copy = converted[value];
      if (!copy) {
        auto conversion = ConvertOp::create(builder, op->getLoc(), withElement(value.getType(), type), value);
        if (AtAttr at = getAt(op))
          setAt(conversion, at);
        copy = conversion;
      }
      use.set(copy);
    }
    for (Value result : op->getResults())
      if (isFloat(result.getType()))
        result.setType(withElement(result.getType(), type));
  }
};
} // namespace

std::unique_ptr<Pass> npar::createPreparePrecisionPass() { return std::make_unique<PreparePrecision>(); }
