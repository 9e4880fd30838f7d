// Works out on which stages each value of @update is at home, then from the writes backwards which stages need which op, and copies.
#include "compiler/passes/schedule/UpdateFragments.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace npar::pipe;

namespace npar::compiler {

namespace {

class UpdateOutliner {
public:
  UpdateOutliner(Fragments &fragments, llvm::StringMap<Stages> &stored, StageAxes axes)
      : fragments(fragments), stored(stored), axes(axes), count(fragments.stages()) {}

  void run(func::FuncOp update) {
    for (nn::VariableOp variable : update->getParentOfType<ModuleOp>().getOps<nn::VariableOp>()) {
      if (variable.getIndex())
        owners[*variable.getIndex()] = stored[nn::pathOf(variable)].front();
      else if (axes.servers && variable.isKind(nn::VariableKind::Accumulator))
        sums.insert(nn::pathOf(variable));
    }
    for (Operation &op : update.getOps())
      findHomes(&op);
    for (Operation &op : llvm::reverse(update.getBody().front()))
      findNeeds(&op);
    for (Operation &op : update.getOps())
      copy(&op);
  }

private:
  llvm::BitVector bits(ArrayRef<int64_t> stages) {
    llvm::BitVector result(count);
    for (int64_t stage : stages)
      result.set(stage);
    return result;
  }

  /// A value is at home where it can be computed without asking another stage. Without operands: everywhere.
  void findHomes(Operation *op) {
    llvm::BitVector home(count, true);
    if (auto read = dyn_cast<nn::ReadOp>(op))
      home = bits(stored[read.getVariable()]);
    else if (isSumOfRanks(op) || (axes.servers && isa<nn::SquareSumsOp>(op)))
      home = bits({server});
    else if (!isa<nn::SquareSumsOp>(op)) // each stage has its own part
      for (Value operand : op->getOperands())
        home &= homes[operand];
    for (Value result : op->getResults())
      homes[result] = home;
  }

  /// Which stages run an op. Users come before definitions here.
  void findNeeds(Operation *op) {
    llvm::BitVector &need = needs.try_emplace(op, llvm::BitVector(count)).first->second;
    if (auto write = dyn_cast<nn::WriteOp>(op))
      need = bits(stagesOfWrite(write));
    else if (isOver(op, axes.pipeline))
      need.set();
    llvm::BitVector here = need; // the map may move below
    if (isSumOfRanks(op) && here.any())
      here = homes[op->getOperand(0)];
    for (int64_t stage : here.set_bits())
      for (auto [place, operand] : llvm::enumerate(op->getOperands()))
        if (takes(op, place, stage))
          ask(operand, stage);
  }

  /// A stage that stores the variable, or for an output each stage that has the value. Sums over ranks are stored where they are made.
  Stages stagesOfWrite(nn::WriteOp write) {
    if (sums.contains(write.getVariable()))
      return {server};
    Stages &stages = stored[write.getVariable()];
    if (stages.empty() && axes.servers)
      stages.push_back(server);
    if (stages.empty()) {
      for (int64_t stage : homes[write.getValue()].set_bits())
        stages.push_back(stage);
      if (stages.empty())
        stages.push_back(0);
    }
    return stages;
  }

  static bool isOver(Operation *op, StringAttr axis) {
    auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
    return axis && collective && llvm::is_contained(collective.getAxes(), axis);
  }

  /// A sum over ranks with different samples, which one of them adds up.
  bool isSumOfRanks(Operation *op) { return isOver(op, axes.servers); }

  /// Returns whether a stage takes an operand: of nn.square_sums only those of the parameters that it owns, of other ops all.
  bool takes(Operation *op, size_t place, int64_t stage) {
    auto squares = dyn_cast<nn::SquareSumsOp>(op);
    return !squares || owners.lookup(squares.getParameters()[place]) == stage;
  }

  void ask(Value value, int64_t stage) {
    const llvm::BitVector &home = homes[value];
    int64_t at = home.none() || home.test(stage) ? stage : home.find_first();
    needs.try_emplace(value.getDefiningOp(), llvm::BitVector(count)).first->second.set(at);
    if (at != stage)
      fetches.try_emplace(value, llvm::BitVector(count)).first->second.set(stage);
  }

  void copy(Operation *op) {
    for (int64_t stage : needs[op].set_bits())
      copyTo(op, {stage, Phase::Update});
    for (Value result : op->getResults())
      if (auto fetch = fetches.find(result); fetch != fetches.end())
        for (int64_t stage : fetch->second.set_bits())
          fragments.transfer(result, {homes[result].find_first(), Phase::Update}, {stage, Phase::Update}, op->getLoc());
  }

  void copyTo(Operation *op, FragmentKey place) {
    if (isSumOfRanks(op))
      return addUp(cast<dist::AllReduceOp>(op), place);
    auto squares = dyn_cast<nn::SquareSumsOp>(op);
    if (!squares) {
      fragments.clone(op, place);
      return;
    }
    SmallVector<Value> gradients;
    SmallVector<int64_t> parameters;
    SmallVector<Attribute> owners; // what placing says about each gradient
    SmallVector<ArrayAttr> allOwners = attributes::owners.get(op);
    for (auto [number, gradient] : llvm::enumerate(squares.getGradients()))
      if (takes(op, number, place.at)) {
        gradients.push_back(fragments.lookup(place, gradient));
        parameters.push_back(squares.getParameters()[number]);
        if (!allOwners.empty())
          owners.push_back(allOwners[number]);
      }
    OpBuilder builder = fragments.end(place);
    Operation *part = gradients.empty()
                          ? nn::FillOp::create(builder, op->getLoc(), squares.getType(), builder.getF64FloatAttr(0)).getOperation()
                          : nn::SquareSumsOp::create(builder, op->getLoc(), squares.getType(), gradients, parameters);
    part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    if (!allOwners.empty())
      attributes::owners.set(part, owners);
    fragments.map(place, squares.getResult(), part->getResult(0));
  }

  /// Receives the values of all stages that have one and adds them in the order of the stages, then over the other axes.
  void addUp(dist::AllReduceOp reduce, FragmentKey place) {
    Value addend = reduce.getInput();
    Value own = fragments.lookup(place, addend);
    SmallVector<Value> addends;
    for (int64_t stage : homes[addend].set_bits()) {
      if (stage != place.at)
        fragments.transfer(addend, {stage, Phase::Update}, place, reduce.getLoc());
      addends.push_back(stage == place.at ? own : fragments.lookup(place, addend));
    }
    OpBuilder builder = fragments.end(place);
    SmallVector<Attribute> others;
    for (Attribute axis : reduce.getAxes())
      if (axis != axes.servers)
        others.push_back(axis);
    auto type = cast<RankedTensorType>(addend.getType());
    dist::LayoutAttr layout = dist::layoutOf(type), whole = dist::layoutOf(reduce.getType());
    if (!others.empty()) // what is still partial
      whole = dist::LayoutAttr::get(
          type.getContext(), layout.getNames(), layout.getSizes(), layout.getSplits(),
          llvm::to_vector(llvm::make_filter_range(layout.getPartialAxes(), [&](StringAttr axis) { return axis != axes.servers; })),
          layout.getReduction(), layout.getFlatAxes());
    Operation *sum = nn::CombineOp::create(builder, reduce.getLoc(), type.cloneWithEncoding(whole), addends);
    nn::setAt(sum, nn::getAt(reduce));
    if (!others.empty()) {
      auto rest = cast<dist::AllReduceOp>(builder.clone(*reduce));
      rest.getInputMutable().assign(sum->getResult(0));
      rest.setAxesAttr(builder.getArrayAttr(others));
      sum = rest;
    }
    fragments.map(place, reduce.getResult(), sum->getResult(0));
  }

  static constexpr int64_t server = 0; ///< the stage that adds up what ranks have sent

  Fragments &fragments;
  llvm::StringMap<Stages> &stored;
  StageAxes axes;
  int64_t count;
  llvm::StringSet<> sums;                  ///< accumulators of ranks with different samples
  llvm::DenseMap<int64_t, int64_t> owners; ///< parameter by index: its lowest stage
  llvm::DenseMap<Value, llvm::BitVector> homes;
  llvm::DenseMap<Operation *, llvm::BitVector> needs;
  llvm::DenseMap<Value, llvm::BitVector> fetches; ///< stages that a value is sent to
};

} // namespace

void outlineUpdate(func::FuncOp update, Fragments &fragments, llvm::StringMap<Stages> &stored, StageAxes axes) {
  UpdateOutliner(fragments, stored, axes).run(update);
}

} // namespace npar::compiler
