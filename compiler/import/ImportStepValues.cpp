// Sums over the batch become accumulators; formulas of a step become the function @renew.
#include "compiler/import/ImportStepValues.h"

#include "compiler/dialects/nn/Unrounded.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "dsl/NeededNodes.h"

using namespace mlir;
using namespace npar;
using namespace npar::compiler;
using namespace npar::nn;

StepValueImporter::StepValueImporter(NodeImporter &nodes) : nodes(nodes) {
  const dsl::Model &model = nodes.model;
  const std::vector<dsl::ParameterTraining> &training = nodes.program.train.parameters;
  for (const dsl::StateUpdate &update : model.updates)
    if (update.state >= training.size() || !training[update.state].frozen)
      updates.push_back(update);
  const std::vector<bool> needed = dsl::neededFor(model, roots());
  for (size_t number = 0; number < needed.size(); ++number)
    if (needed[number] && dsl::isOverBatch(model, model.nodes[number]))
      sums.push_back(static_cast<int>(number));
}

std::vector<int> StepValueImporter::roots() const {
  std::vector<int> roots;
  for (const dsl::StateUpdate &update : updates)
    roots.push_back(update.node);
  for (const dsl::LoggedValue &value : nodes.model.logged)
    roots.push_back(value.node);
  return roots;
}

bool StepValueImporter::isKnown(int sum) const { return !nodes.fills() && node(summed(sum)).op == "fill"; }

RankedTensorType StepValueImporter::typeOf(int sum) {
  RankedTensorType type = nodes.typeOf(node(sum).type);
  return isa<FloatType>(type.getElementType()) ? cast<RankedTensorType>(withElement(type, nodes.builder.getF64Type())) : type;
}

void StepValueImporter::declare() {
  for (int sum : sums)
    if (!isKnown(sum))
      VariableOp::create(nodes.builder, nodes.location(node(sum).location), variableOf(sum), typeOf(sum), VariableKind::Accumulator);
  for (const dsl::LoggedValue &value : nodes.model.logged) {
    RankedTensorType type = nodes.typeOf(node(value.node).type);
    const std::string name = "log." + value.name;
    VariableOp::create(nodes.builder, nodes.location(value.location), "#out." + name, withElement(type, nodes.builder.getF64Type()),
                       VariableKind::Output)
        .setOutput(name);
  }
}

void StepValueImporter::addRoots(std::vector<int> &roots) const {
  for (int sum : sums)
    if (!isKnown(sum))
      roots.push_back(summed(sum));
  if (nodes.fills() && !sums.empty())
    for (const dsl::Loss &loss : nodes.model.losses)
      roots.push_back(node(loss.node).operands[1]);
}

void StepValueImporter::accumulate() {
  OpBuilder &builder = nodes.builder;
  for (int sum : sums) {
    if (isKnown(sum))
      continue;
    const dsl::Node &at = node(sum);
    Location loc = nodes.location(at.location);
    Value value = nodes.values[summed(sum)];
    auto type = cast<RankedTensorType>(value.getType());
    if (Value counts = nodes.countingSamples(at)) {
      Value zero = nodes.fill(loc, scalarOf(type.getElementType()), 0, at);
      value = nodes.place(WhereOp::create(builder, loc, type, counts, value, zero), at);
    }
    Operation *added = nodes.place(SumOp::create(builder, loc, nodes.typeOf(at.type), value), at);
    if (isNarrow(nodes.compute))
      added->setAttr(unroundedAttribute, builder.getUnitAttr());
    if (typeOf(sum) != added->getResult(0).getType())
      added = nodes.place(ConvertOp::create(builder, loc, typeOf(sum), added->getResult(0)), at);
    nodes.place(AccumulateOp::create(builder, loc, variableOf(sum), added->getResult(0)), at);
  }
}

LogicalResult StepValueImporter::addFunction(ModuleOp module) {
  if (isEmpty())
    return success();
  OpBuilder &builder = nodes.builder;
  const dsl::Model &model = nodes.model;
  nodes.beginFunction(module, "renew");
  nodes.values.assign(model.nodes.size(), Value());
  nodes.compute = builder.getF64Type();
  std::vector<bool> needed = dsl::neededFor(model, roots());
  for (int sum : sums) {
    Location loc = nodes.location(node(sum).location);
    needed[sum] = false;
    if (isKnown(sum))
      nodes.values[sum] = nodes.fill(loc, typeOf(sum), static_cast<double>(nodes.program.train.batch), node(sum), Phase::Update);
    else
      nodes.values[sum] = nodes.place(ReadOp::create(builder, loc, typeOf(sum), variableOf(sum)), node(sum), Phase::Update);
  }
  if (failed(nodes.addNodes(needed, [](const dsl::Node &node) { return NodeImporter::At{Phase::Update, node.path, node.block}; })))
    return failure();
  for (const dsl::StateUpdate &update : updates) {
    const dsl::Parameter &state = model.parameters[update.state];
    Location loc = nodes.location(update.location);
    Value value = nodes.values[update.node];
    if (Type stored = nodes.typeOf(state); stored != value.getType())
      value = nodes.place(ConvertOp::create(builder, loc, stored, value), node(update.node), Phase::Update);
    nodes.place(WriteOp::create(builder, loc, state.path, value), node(update.node), Phase::Update);
  }
  for (const dsl::LoggedValue &value : model.logged)
    nodes.place(WriteOp::create(builder, nodes.location(value.location), "#out.log." + value.name, nodes.values[value.node]),
                node(value.node), Phase::Update);
  nodes.endFunction();
  return success();
}
