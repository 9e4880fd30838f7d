// Imports an elaborated program: each node becomes the nn op of its name, mechanically, as the language's table of nodes says.
#include "compiler/import/Import.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/import/ImportAttributes.h"
#include "compiler/import/ImportNodes.h"
#include "compiler/import/ImportStepValues.h"
#include "compiler/import/ImportTables.h"
#include "dsl/NeededNodes.h"
#include "engine/program/ModelState.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace npar;
using namespace npar::compiler;
using namespace npar::nn;

namespace {
class Importer : NodeImporter {
public:
  Importer(MLIRContext &context, const dsl::Program &program, const dsl::Sources &sources, program::ProgramKind kind,
           ArrayRef<int> unrounded)
      : NodeImporter(context, program, sources, unrounded), kind(kind), stepValues(*this) {}

  OwningOpRef<ModuleOp> run() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder, location(model.location));
    builder.setInsertionPointToEnd(module->getBody());
    setModuleAttributes(*module, program, builder, [&](const dsl::Location &at) { return LocationAttr(location(at)); });
    addVariables();
    if (llvm::any_of(model.losses, [&](const dsl::Loss &loss) { return counts(loss); }) && failed(addPrologue(*module)))
      return nullptr;
    beginFunction(*module, "micro");
    values.assign(model.nodes.size(), Value());
    if (failed(addNodes(neededNodes(), [](const dsl::Node &node) { return At{Phase::Forward, node.path, node.block}; })))
      return nullptr;
    for (const dsl::Loss &loss : model.losses)
      addLoss(loss);
    if (kind == program::ProgramKind::Evaluation)
      addResults(*module);
    if (trains())
      stepValues.accumulate();
    endFunction();
    if (trains() && failed(stepValues.addFunction(*module)))
      return nullptr;
    return failed(verify(*module)) ? nullptr : std::move(module);
  }

private:
  program::ProgramKind kind;
  StepValueImporter stepValues;

  //===- Small things -----------------------------------------------------------------------------------------------------===//

  bool trains() const { return kind == program::ProgramKind::Training; }
  const dsl::Node &nodeOf(const dsl::Loss &loss) const { return model.nodes[loss.node]; }
  LossTerm termOf(const dsl::Loss &loss) const { return {loss.name, loss.weight}; }

  /// The value of targets that do not count in a loss; null where it ignores none.
  const int64_t *ignored(const dsl::Loss &loss) const { return ignoredTarget(nodeOf(loss)); }

  /// Tells whether the data decide which positions count in a loss.
  bool counts(const dsl::Loss &loss) const { return loss.condition >= 0 || ignored(loss); }

  //===- Variables ----------------------------------------------------------------------------------------------------------===//

  void addVariables() {
    llvm::StringSet<> used;
    for (const dsl::Node &node : model.nodes)
      if (node.op == "parameter")
        used.insert(std::get<std::string>(node.attributes.at("name")));
    for (auto [index, parameter] : llvm::enumerate(model.parameters)) {
      RankedTensorType type = typeOf(parameter);
      SmallVector<int64_t> stored;
      size_t dim = 0;
      for (int merged : parameter.storedRank) {
        int64_t size = 1;
        for (int i = 0; i < merged && dim < static_cast<size_t>(type.getRank()); ++i)
          size *= type.getDimSize(dim++);
        stored.push_back(size);
      }
      auto variable = VariableOp::create(builder, location(parameter.location), parameter.path, type, VariableKind::Parameter);
      variable.setStoredAttr(builder.getI64ArrayAttr(stored));
      variable.setInitAttr(InitAttr::get(builder.getContext(), parameter.init, parameter.deviation));
      variable.setIndex(index);
      variable.setUntrained(parameter.untrained);
      if (parameter.counts)
        variable.setSlot(program::modelCountSlot);
      variable.setFrozen(!parameter.untrained && !used.count(parameter.path)); // kept for other programs alone
      if (index < program.train.parameters.size())                             // a program that is made by hand may have no rules
        setTraining(variable, program.train.parameters[index]);
    }
    // Their names begin with a '#', which no path of a parameter can have.
    Type scalar = scalarOf(builder.getF64Type());
    Location loc = location(model.location);
    auto add = [&](const std::string &name, VariableKind kind, const std::string &output = "") {
      auto variable = VariableOp::create(builder, loc, name, scalar, kind);
      if (!output.empty())
        variable.setOutput(output);
    };
    for (const dsl::Loss &loss : model.losses)
      add(termOf(loss).sum(), VariableKind::Accumulator);
    for (const char *name : {"loss", "grad_norm", "lr"})
      add("#out." + std::string(name), VariableKind::Output, name);
    for (const dsl::Loss &loss : model.losses) {
      if (!loss.name.empty())
        add(termOf(loss).output(), VariableKind::Output, "loss." + loss.name);
      if (!counts(loss))
        continue;
      add(termOf(loss).count() + ".sum", VariableKind::Accumulator);
      add(termOf(loss).count(), VariableKind::Output, loss.name.empty() ? "valid_tokens" : "counted." + loss.name);
    }
    if (trains())
      stepValues.declare();
  }

  void setTraining(VariableOp variable, const dsl::ParameterTraining &training) {
    variable.setFrozen(training.frozen || variable.getFrozen());
    if (!variable.isTrained())
      return;
    if (training.rate != 1)
      variable.setRateAttr(builder.getF64FloatAttr(training.rate));
    if (training.optimizer > 0)
      variable.setOptimizer(training.optimizer);
    if (program.train.groups.size() > 1)
      variable.setGroup(training.group);
  }

  //===- Nodes --------------------------------------------------------------------------------------------------------------===//

  /// The nodes that the kind of program needs: training does not compute metrics and predictions, which only an evaluation reports.
  std::vector<bool> neededNodes() const {
    std::vector<int> roots;
    for (const dsl::Loss &loss : model.losses)
      roots.insert(roots.end(), {loss.node, loss.condition});
    if (trains())
      stepValues.addRoots(roots);
    if (kind == program::ProgramKind::Evaluation) {
      for (const dsl::Metric &metric : model.metrics) {
        roots.insert(roots.end(), metric.nodes.begin(), metric.nodes.end());
        roots.push_back(metric.condition);
      }
      for (const dsl::Prediction &prediction : model.predictions)
        roots.push_back(prediction.node);
    }
    return dsl::neededFor(model, roots);
  }

  /// Each micro-batch adds its share of the mean over the positions of the whole batch (RULES.md#N3). If some positions may not count, it
  /// adds the plain sum, and readers divide by the number of positions that count.
  void addLoss(const dsl::Loss &loss) {
    const dsl::Node &node = nodeOf(loss);
    Location loc = location(node.location);
    Value value = values[loss.node];
    auto each = llvm::cast<RankedTensorType>(value.getType());
    double positions = static_cast<double>(each.getNumElements()) * static_cast<double>(program.plan.microCount);
    if (loss.condition >= 0) { // chosen, not multiplied: what is infinite where nothing counts becomes 0 too
      Value zero = fill(loc, each, 0, node);
      value = place(WhereOp::create(builder, loc, each, values[loss.condition], value, zero), node);
      for (Value made : {zero, value})
        made.getDefiningOp()->setAttr(ofLossAttribute, builder.getUnitAttr());
    }
    Value sum = place(SumOp::create(builder, loc, scalarOf(compute), value), node);
    if (!counts(loss))
      sum = place(ScaleOp::create(builder, loc, sum.getType(), sum, builder.getF64FloatAttr(1 / positions)), node);
    Value wide = place(ConvertOp::create(builder, loc, scalarOf(builder.getF64Type()), sum), node);
    place(AccumulateOp::create(builder, loc, termOf(loss).sum(), wide), node);
  }

  /// 1 where a position of the loss counts, else 0, of that type; null, with an error reported, where the dialect lacks an op.
  Value countedOf(const dsl::Loss &loss, RankedTensorType type, Phase phase) {
    const dsl::Node &node = nodeOf(loss);
    Location loc = location(node.location);
    Value one = fill(loc, type, 1, node, phase);
    if (loss.condition >= 0)
      return place(WhereOp::create(builder, loc, type, values[loss.condition], one, fill(loc, type, 0, node, phase)), node, phase);
    return place(KeepValidOp::create(builder, loc, type, one, values[node.operands[1]], builder.getI64IntegerAttr(*ignored(loss))), node,
                 phase);
  }

  //===- What an evaluation leaves ---------------------------------------------------------------------------------------------===//

  void addResult(const std::string &name, Value value, const dsl::Node &at) {
    dsl::Node outside = at; // a layer's own rules may give ranks samples in common; results go by the rules of the model
    outside.path.clear();
    place(ResultOp::create(builder, location(at.location), name, value), outside);
  }

  /// Tells whether the targets of a loss are tokens: it compares scores of classes at each position of a sequence, and an input over the
  /// same positions is looked up in as many classes. Only such a loss has a perplexity and bits per token.
  bool isOfTokens(const dsl::Loss &loss) const {
    const dsl::Node &entropy = nodeOf(loss);
    if (entropy.op != "cross_entropy" || entropy.operands.size() < 2)
      return false;
    const dsl::TensorType &targets = model.nodes[entropy.operands[1]].type;
    int64_t classes = sizeOf(text(entropy, "axis"));
    return targets.axes.size() > 1 && llvm::any_of(model.nodes, [&](const dsl::Node &node) {
             if (node.op != "gather" || node.operands.size() < 2 || sizeOf(text(node, "axis")) != classes)
               return false;
             const dsl::Node &index = model.nodes[node.operands[1]];
             return index.op == "input" && index.type.axes == targets.axes;
           });
  }

  /// Metrics and predictions, and where losses count; the losses themselves are left by autodiff-forward. A lone loss of tokens gets
  /// no measure: its data tell where it counts.
  void addResults(ModuleOp module) {
    bool measured = attributes::losses.isOn(module) || !model.metrics.empty() ||
                    llvm::any_of(model.losses, [&](const dsl::Loss &loss) { return loss.condition >= 0 || !isOfTokens(loss); });
    MeasureList measures;
    for (const dsl::Loss &loss : model.losses) {
      if (!measured)
        break;
      std::string counted = counts(loss) ? termOf(loss).result() + ".counted" : "";
      if (!counted.empty())
        addResult(counted, countedOf(loss, typeOf(nodeOf(loss).type), Phase::Forward), nodeOf(loss));
      measures.add(loss.name, program::MeasureKind::Loss, loss.weight, termOf(loss).result(), counted);
    }
    for (const dsl::Metric &metric : model.metrics) {
      std::string name = "metric." + metric.name, counted = metric.condition >= 0 ? name + ".counted" : "";
      SmallVector<std::string> results;
      for (int node : metric.nodes) {
        results.push_back(name + "." + std::to_string(results.size()));
        addResult(results.back(), values[node], model.nodes[node]);
      }
      if (!counted.empty()) {
        const dsl::Node &at = model.nodes[metric.nodes[0]];
        RankedTensorType type = withElement(typeOf(at.type), compute);
        Value one = fill(location(metric.location), type, 1, at), zero = fill(location(metric.location), type, 0, at);
        addResult(counted, place(WhereOp::create(builder, location(metric.location), type, values[metric.condition], one, zero), at), at);
      }
      measures.add(metric.name, metric.kind, 1, results, counted);
    }
    for (const dsl::Prediction &prediction : model.predictions) {
      std::string result = "output." + prediction.name;
      addResult(result, values[prediction.node], model.nodes[prediction.node]);
      measures.addPrediction(prediction.name, result, prediction.scores);
    }
    measures.set(module);
  }

  /// How many positions of the global batch count, known before the first forward (RULES.md#N3): @count once per micro-batch, then @start.
  LogicalResult addPrologue(ModuleOp module) {
    Type scalar = scalarOf(builder.getF64Type());
    beginFunction(module, "count");
    for (const dsl::Loss &loss : model.losses) {
      if (!counts(loss))
        continue;
      const dsl::Node &node = nodeOf(loss);
      values.assign(model.nodes.size(), Value()); // each loss is counted where it is computed
      if (failed(addNodes(dsl::neededFor(model, {loss.condition >= 0 ? loss.condition : node.operands[1]}), [&](const dsl::Node &) {
            return At{Phase::Count, node.path, node.block};
          })))
        return failure();
      RankedTensorType type = typeOf(node.type);
      Value valid = countedOf(loss, withAxes(builder.getF64Type(), axesOf(type), type.getShape()), Phase::Count);
      Value count = place(SumOp::create(builder, location(node.location), scalar, valid), node, Phase::Count);
      place(AccumulateOp::create(builder, location(node.location), termOf(loss).count() + ".sum", count), node, Phase::Count);
    }
    endFunction();

    beginFunction(module, "start");
    for (const dsl::Loss &loss : model.losses) {
      if (!counts(loss))
        continue;
      Location loc = location(nodeOf(loss).location);
      Value total = place(ReadOp::create(builder, loc, scalar, termOf(loss).count() + ".sum"), nodeOf(loss), Phase::Prologue);
      place(WriteOp::create(builder, loc, termOf(loss).count(), total), nodeOf(loss), Phase::Prologue);
    }
    endFunction();
    return success();
  }
};
} // namespace

OwningOpRef<ModuleOp> npar::compiler::importProgram(MLIRContext &context, const dsl::Program &program, const dsl::Sources &sources,
                                                    program::ProgramKind kind, ArrayRef<int> unrounded) {
  context.loadDialect<NnDialect, dist::DistDialect, func::FuncDialect>();
  return Importer(context, program, sources, kind, unrounded).run();
}
