// prepare-precision: the element type of each operation of @micro, by the plan's `compute` and `keep`; conversions where they meet.
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/LayerPattern.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/Unrounded.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/prepare/Prepare.h"
#include "compiler/passes/prepare/RouterOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_PREPAREPRECISION
#include "compiler/passes/prepare/Passes.h.inc"

namespace {

/// A value without axes is the loss or a part of it. Importing marks other ops of the loss, which select the positions that count.
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

struct PreparePrecision : impl::PreparePrecisionBase<PreparePrecision> {
  void runOnOperation() override {
    std::optional<attributes::PrecisionClause> precision = attributes::getPrecision(getOperation());
    if (!precision || !getOperation().lookupSymbol<func::FuncOp>("micro"))
      return;
    // Both functions decide which positions count in a loss, and must agree.
    SmallVector<func::FuncOp> functions;
    for (StringRef name : {"count", "micro"})
      if (auto function = getOperation().lookupSymbol<func::FuncOp>(name))
        functions.push_back(function);
    compute = precision->compute;
    for (func::FuncOp function : functions)
      findPositions(function);
    if (compute && compute.isTF32()) {
      readKeeps(*precision);
      for (func::FuncOp function : functions)
        roundProducts(function);
      compute = Type();
    }
    if (!isNarrowOrNull(compute) || computesInF64()) {
      attributes::precision.remove(getOperation()); // nothing is mixed
      return;
    }
    readKeeps(*precision);
    keepStates(functions);
    for (func::FuncOp function : functions)
      routers.insert_range(findRouterOps(function));
    retypeParameters(functions);
    for (func::FuncOp function : functions) {
      for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator()))
        convert(&op);
      dropUnusedPositions(function);
      function.walk([](Operation *op) { op->removeAttr(unroundedAttribute); });
    }
  }

private:
  Type compute;
  SmallVector<Keep> keeps;
  llvm::SmallPtrSet<Operation *, 32> positions;          ///< ops whose values are made of positions and constants alone
  llvm::SmallPtrSet<Operation *, 32> routers;            ///< ops that choose and weight the rows of experts: f32
  llvm::SmallPtrSet<Operation *, 32> selected;           ///< renames and maxima of values that stay wide: f32, too
  llvm::DenseMap<std::pair<Value, Type>, Value> rounded; ///< values of such ops in the types of those that meet them

  static bool isNarrowOrNull(Type type) { return type && isNarrow(type); }

  bool computesInF64() {
    auto variables = getOperation().getOps<VariableOp>();
    return llvm::any_of(variables, [](VariableOp variable) {
      return variable.isKind(VariableKind::Parameter) && variable.getTensorType().getElementType().isF64();
    });
  }

  void readKeeps(const attributes::PrecisionClause &precision) {
    for (const attributes::KeepClause &keep : precision.keeps)
      keeps.push_back({keep.what, keep.layer, keep.type});
  }

  //===- Positions (RULES.md#N9) -------------------------------------------------------------------------------------------===//

  void findPositions(func::FuncOp function) {
    for (Operation &op : function.front()) {
      auto asked = dyn_cast<OriginOpInterface>(op);
      bool isLeaf = asked && asked.getOrigin() == Origin::Nothing;
      bool follows = op.getNumOperands() > 0 && isMemoryEffectFree(&op) &&
                     llvm::all_of(op.getOperands(), [&](Value operand) { return isOfPositions(operand); });
      if (isLeaf || follows)
        positions.insert(&op);
    }
  }

  bool isOfPositions(Value value) const { return positions.contains(value.getDefiningOp()); }

  /// Returns the value in a type of fewer bits, rounded once. An op without float operands is repeated in that type, next to the wide one.
  Value roundPosition(Value value, Type element) {
    Value &found = rounded[{value, element}];
    if (found)
      return found;
    Operation *made = value.getDefiningOp();
    OpBuilder builder(made->getContext());
    builder.setInsertionPointAfter(made);
    if (llvm::none_of(made->getOperandTypes(), isFloat)) {
      Operation *copy = builder.clone(*made);
      for (Value result : copy->getResults())
        if (isFloat(result.getType()))
          result.setType(withElement(result.getType(), element));
      return found = copy->getResult(cast<OpResult>(value).getResultNumber());
    }
    return found = converted(builder, value, element, made);
  }

  void dropUnusedPositions(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (positions.contains(&op) && op.use_empty()) {
        positions.erase(&op);
        routers.erase(&op);
        selected.erase(&op);
        op.erase();
      }
  }

  /// Converts the value; the conversion gets the place in the model of `place`.
  static Value converted(OpBuilder &builder, Value value, Type element, Operation *place) {
    auto conversion = ConvertOp::create(builder, place->getLoc(), withElement(value.getType(), element), value);
    if (AtAttr at = getAt(place))
      setAt(conversion, at);
    return conversion;
  }

  //===- Types --------------------------------------------------------------------------------------------------------------===//

  static bool isUnrounded(Operation *op) { return op && op->hasAttr(unroundedAttribute); }

  /// The type of an operation: that of the last matching `keep` of the plan; without one, f32 for operations that lose too much in 16 bits,
  /// such as averages and exponentials, and for routers. Positions are always f32.
  Type typeOf(Operation *op) {
    if (positions.contains(op) || isUnrounded(op))
      return Float32Type::get(&getContext());
    Type type;
    for (const Keep &keep : keeps)
      if (keep.matches(op))
        type = keep.type;
    if (type)
      return type;
    auto asked = dyn_cast<PrecisionOpInterface>(op);
    return (asked && asked.isWide()) || isOfLoss(op) || staysWide(op) ? Type(Float32Type::get(&getContext())) : compute;
  }

  /// States are wide; each op that reads one gets its own conversion.
  void keepStates(ArrayRef<func::FuncOp> functions) {
    SymbolTable symbols(getOperation());
    for (func::FuncOp function : functions)
      for (auto conversion : llvm::make_early_inc_range(function.getOps<ConvertOp>())) {
        auto read = conversion.getX().getDefiningOp<ReadOp>();
        if (auto variable = read ? findVariable(symbols, read.getVariable()) : VariableOp(); variable && variable.getUntrained()) {
          conversion.replaceAllUsesWith(read.getResult());
          conversion.erase();
        }
      }
  }

  /// Tells whether a value is a parameter, under any name.
  static bool isParameter(Value value) {
    while (auto rename = value.getDefiningOp<RenameOp>())
      value = rename.getX();
    return value.getDefiningOp<ReadOp>() != nullptr;
  }

  /// Tells whether a parameter is only used by routers, under any name.
  bool isOfRouters(Value read) const {
    return !read.use_empty() && llvm::all_of(read.getUsers(), [&](Operation *user) {
      return routers.contains(user) || (isa<RenameOp>(user) && isOfRouters(user->getResult(0)));
    });
  }

  /// A parameter is stored in the compute type, except where all its uses are in routers, or in layers that are kept.
  void retypeParameters(ArrayRef<func::FuncOp> functions) {
    llvm::StringMap<Type> types;
    func::FuncOp micro = functions.back();
    for (auto read : micro.getOps<ReadOp>()) {
      Type type = isOfRouters(read) ? Float32Type::get(&getContext()) : compute;
      for (const Keep &keep : keeps)
        if (keep.layer && keep.matches(read))
          type = keep.type;
      Type &found = types[read.getVariable()];
      found = !found || found == type ? type : compute;
    }
    for (auto variable : getOperation().getOps<VariableOp>())
      if (variable.isKind(VariableKind::Parameter) && !variable.getUntrained())
        if (Type type = types.lookup(pathOf(variable)))
          variable.setType(withElement(variable.getType(), type));
    SymbolTable symbols(getOperation());
    for (func::FuncOp function : functions)
      for (auto read : function.getOps<ReadOp>())
        if (auto variable = findVariable(symbols, read.getVariable()))
          read.getResult().setType(variable.getTensorType());
  }

  /// Marks products of f32, except kept ones and products of positions; the autodiff phase marks their gradients too.
  void roundProducts(func::FuncOp function) {
    auto isRounded = [&](Operation *product) {
      return getElementTypeOrSelf(product->getOperand(0).getType()).isF32() && !positions.contains(product) &&
             llvm::none_of(keeps, [&](const Keep &keep) { return keep.matches(product); });
    };
    for (Operation &op : function.front())
      if (auto product = dyn_cast<EinsumOp>(op); product && isRounded(product))
        product.setTf32(true);
      else if (auto grouped = dyn_cast<GroupedOp>(op); grouped && isRounded(grouped))
        grouped.setTf32(true);
  }

  /// Operations that compute integers from floats take floats of any type, but all of one type: the position of a maximum is searched in
  /// the values that gave it.
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

  /// The type that an op computes in. A comparison between a position and a value of the model is done in f32, which loses nothing; so is
  /// an op with an `unrounded` operand, or with a weight of rows.
  Type typeToComputeIn(Operation *op, Type own) {
    bool makesFloats = llvm::any_of(op->getResultTypes(), isFloat);
    bool wide = llvm::any_of(op->getOperands(), [&](Value operand) {
      return isFloat(operand.getType()) && ((!makesFloats && isOfPositions(operand)) || staysWide(operand.getDefiningOp()));
    });
    return wide ? widened(own) : own;
  }

  /// Tells whether the results of an op are wide whatever the plan computes in.
  bool staysWide(Operation *op) const { return isUnrounded(op) || routers.contains(op) || selected.contains(op); }

  /// Attention accepts its `data` in any type, because scores are f32.
  static bool takesAnyType(OpOperand &use) {
    constexpr unsigned data = 3; // after q, k and v
    return isa<AttentionOp>(use.getOwner()) && use.getOperandNumber() >= data;
  }

  /// Rounds the rows that a router's product takes, which are those that it sends. Parameters and values of routers stay as they are.
  void roundRows(Operation *product) {
    OpBuilder builder(product);
    for (OpOperand &use : product->getOpOperands()) {
      Operation *made = use.get().getDefiningOp();
      bool isRow = !isParameter(use.get()) && !isOfPositions(use.get()) && !staysWide(made);
      if (isRow && getElementTypeOrSelf(use.get().getType()).isF32())
        use.set(converted(builder, use.get(), compute, product));
    }
  }

  void convert(Operation *op) {
    auto isF64 = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
    if (isa<ReadOp, InputOp, AccumulateOp>(op) || llvm::any_of(op->getResultTypes(), isF64) ||
        (llvm::none_of(op->getResultTypes(), isFloat) && !mixesFloats(op)))
      return;
    if (isa<RenameOp, MaxOp>(op) && staysWide(op->getOperand(0).getDefiningOp()))
      selected.insert(op); // its results are some of these values, which a choice compares with the others
    Type own = typeOf(op), type = typeToComputeIn(op, own);
    OpBuilder builder(op);
    if (isa<EinsumOp>(op) && routers.contains(op) && !isNarrow(type))
      roundRows(op);
    llvm::SmallDenseMap<Value, Value> copies;
    for (OpOperand &use : op->getOpOperands()) {
      Value value = use.get();
      if (!isFloat(value.getType()) || getElementTypeOrSelf(value.getType()) == type || (isOfPositions(value) && takesAnyType(use)))
        continue;
      if (isOfPositions(value)) {
        use.set(roundPosition(value, type));
        continue;
      }
      Value &copy = copies[value];
      if (!copy)
        copy = converted(builder, value, type, op);
      use.set(copy);
    }
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      if (!isFloat(result.getType()))
        continue;
      result.setType(withElement(result.getType(), type));
      if (own == type || result.use_empty())
        continue;
      Value narrow = converted(builder, result, own, op);
      result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
    }
  }
};
} // namespace

std::unique_ptr<Pass> createPreparePrecisionPass() { return std::make_unique<PreparePrecision>(); }

} // namespace npar::compiler
