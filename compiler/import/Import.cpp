// Imports an elaborated program: each node becomes the nn op of its name, mechanically, as the language's table of nodes says.
#include "compiler/import/Import.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/dist/ModuleMachine.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/import/CheckpointRules.h"
#include "compiler/import/DataBlock.h"
#include "compiler/import/Enumerations.h"
#include "compiler/import/PlanClauses.h"
#include "dsl/Nodes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

namespace {
class Importer {
public:
  Importer(MLIRContext &context, const dsl::Program &program, const dsl::Sources &sources)
      : builder(&context), program(program), model(program.model), sources(sources) {
    compute = typeOf(seamOf(program.plan.compute));
    for (const dsl::Axis &axis : model.axes)
      sizes[axis.name] = axis.size;
  }

  OwningOpRef<ModuleOp> run() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder, location(model.location));
    builder.setInsertionPointToEnd(module->getBody());
    setPlan(*module);
    setTrain(*module);
    setCheckpointRules(*module, model, builder);
    if (program.data)
      setDataBlock(*module, *program.data, builder, [&](const dsl::Location &at) { return LocationAttr(location(at)); });
    addVariables();
    if (ignored())
      addPrologue(*module);
    beginFunction(*module, "micro");
    for (const dsl::Node &node : model.nodes)
      if (failed(addNode(node)))
        return nullptr;
    addLoss();
    func::ReturnOp::create(builder, location(model.location));
    return failed(verify(*module)) ? nullptr : std::move(module);
  }

private:
  OpBuilder builder;
  const dsl::Program &program;
  const dsl::Model &model;
  const dsl::Sources &sources;
  Type compute;
  llvm::StringMap<int64_t> sizes;
  SmallVector<Value> values; // of the nodes

  //===- Small things -----------------------------------------------------------------------------------------------------===//

  Location location(const dsl::Location &at) {
    if (at.line == 0 || at.file >= sources.size())
      return builder.getUnknownLoc();
    return FileLineColRange::get(builder.getStringAttr(sources.name(at.file)), at.line, at.column, at.column + at.length);
  }

  Type typeOf(program::ElementType type) { return nn::typeOf(type, builder.getContext()); }

  /// Integers are i32 wherever they are computed with.
  RankedTensorType typeOf(const dsl::TensorType &type) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> shape;
    for (const std::string &axis : type.axes) {
      names.push_back(builder.getStringAttr(axis));
      shape.push_back(sizes.lookup(axis));
    }
    return withAxes(dsl::isInteger(type.element) ? typeOf(program::ElementType::I32) : compute, names, shape);
  }

  void beginFunction(ModuleOp module, StringRef name) {
    builder.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(builder, location(model.location), name, builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
  }

  /// The value of targets that do not count in the loss; null where all count.
  const int64_t *ignored() const {
    const dsl::Node &loss = model.nodes[model.loss];
    auto found = loss.attributes.find("ignore");
    return found == loss.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  }

  //===- Module attributes --------------------------------------------------------------------------------------------------===//

  void setPlan(ModuleOp module) {
    const dsl::Plan &plan = program.plan;
    MLIRContext *context = builder.getContext();
    module->setAttr("npar.model", builder.getStringAttr(model.name));
    module->setAttr("npar.plan", builder.getStringAttr(plan.name));
    module->setAttr("npar.train", builder.getStringAttr(program.train.name));
    if (program.machine)
      dist::setMachine(module, *program.machine);
    module->setAttr("npar.batch", builder.getI64IntegerAttr(program.train.batch));
    module->setAttr("npar.micro_count", builder.getI64IntegerAttr(plan.microCount));
    module->setAttr("npar.seed", builder.getI64IntegerAttr(static_cast<int64_t>(program.train.seed)));
    module->setAttr("npar.blocks", builder.getI64IntegerAttr(model.blocks));
    SmallVector<NamedAttribute> axes;
    for (const dsl::Axis &axis : model.axes)
      axes.push_back(builder.getNamedAttr(axis.name, LocationAttr(location(axis.location))));
    module->setAttr("nn.axis_lines", builder.getDictionaryAttr(axes));
    SmallVector<StringAttr> names;
    SmallVector<int64_t> extents;
    SmallVector<Attribute> lines;
    for (const dsl::MeshAxis &axis : plan.mesh) {
      names.push_back(builder.getStringAttr(axis.name));
      extents.push_back(axis.size);
      lines.push_back(LocationAttr(location(axis.location)));
    }
    module->setAttr("dist.mesh", dist::MeshAttr::get(context, names, extents));
    module->setAttr("dist.mesh_lines", builder.getArrayAttr(lines));
    SmallVector<Attribute> rules;
    for (const dsl::Rule &rule : plan.rules) {
      SmallVector<StringAttr> mesh;
      for (const std::string &axis : rule.mesh)
        mesh.push_back(builder.getStringAttr(axis));
      rules.push_back(dist::RuleAttr::get(context, builder.getStringAttr(rule.axis), rule.pad, mesh, builder.getStringAttr(rule.op),
                                          builder.getStringAttr(rule.layer), builder.getStringAttr(rule.by),
                                          LocationAttr(location(rule.location))));
    }
    module->setAttr("dist.rules", builder.getArrayAttr(rules));
    setPlanClauses(module, plan, builder, [&](const dsl::Location &at) { return LocationAttr(location(at)); });
    if (plan.pipeline) {
      module->setAttr("pipe.schedule", builder.getStringAttr(plan.pipeline->schedule));
      module->setAttr("pipe.axis", builder.getStringAttr(plan.pipeline->mesh));
      module->setAttr("pipe.chunks", builder.getI64IntegerAttr(plan.pipeline->chunks));
      if (!plan.pipeline->counts.empty())
        module->setAttr("pipe.counts", builder.getDenseI64ArrayAttr(plan.pipeline->counts));
      if (!plan.pipeline->path.empty())
        module->setAttr("pipe.schedule_text", builder.getStringAttr(plan.pipeline->text));
    }
  }

  void setTrain(ModuleOp module) {
    const dsl::Train &train = program.train;
    auto number = [&](StringRef name, double value) { return builder.getNamedAttr(name, builder.getF64FloatAttr(value)); };
    auto word = [&](StringRef name, StringRef value) { return builder.getNamedAttr(name, builder.getStringAttr(value)); };
    auto count = [&](StringRef name, int64_t value) { return builder.getNamedAttr(name, builder.getI64IntegerAttr(value)); };
    SmallVector<NamedAttribute> optimizer;
    if (train.optimizer == dsl::OptimizerKind::AdamW)
      optimizer = {word("kind", "adamw"), number("beta1", train.beta1), number("beta2", train.beta2), number("epsilon", train.epsilon)};
    else
      optimizer = {word("kind", "sgd"), number("momentum", train.momentum)};
    optimizer.push_back(number("decay", train.decay));
    module->setAttr("nn.optimizer", builder.getDictionaryAttr(optimizer));
    const char *kind = train.rate.kind == dsl::ScheduleKind::Constant ? "constant"
                       : train.rate.kind == dsl::ScheduleKind::Linear ? "linear"
                                                                      : "cosine";
    module->setAttr("nn.rate",
                    builder.getDictionaryAttr({word("schedule", kind), number("peak", train.rate.peak), number("final", train.rate.final),
                                               count("warmup", train.rate.warmup), count("steps", train.rate.steps)}));
    if (train.clip)
      module->setAttr("nn.clip", builder.getF64FloatAttr(*train.clip));
    if (train.groups.size() > 1) {
      SmallVector<StringRef> groups(train.groups.begin(), train.groups.end());
      module->setAttr("npar.groups", builder.getStrArrayAttr(groups));
    }
  }

  //===- Variables ----------------------------------------------------------------------------------------------------------===//

  void addVariables() {
    for (auto [index, parameter] : llvm::enumerate(model.parameters)) {
      RankedTensorType type = typeOf(parameter.type);
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
      InitKind initial = seamOf(parameter.init);
      variable.setInitAttr(InitAttr::get(builder.getContext(), initial, initial == InitKind::Normal ? parameter.deviation : 0));
      variable.setIndex(index);
      if (index < program.train.parameters.size()) // a program that is made by hand may have no rules
        setTraining(variable, program.train.parameters[index]);
    }
    // Their names begin with a '#', which no path of a parameter can have.
    Type scalar = scalarOf(builder.getF64Type());
    Location loc = location(model.location);
    VariableOp::create(builder, loc, "#out.loss.sum", scalar, VariableKind::Accumulator);
    for (StringRef name : {"loss", "grad_norm", "lr"})
      VariableOp::create(builder, loc, ("#out." + name).str(), scalar, VariableKind::Output).setOutput(name);
    if (!ignored())
      return;
    VariableOp::create(builder, loc, "#out.valid_tokens.sum", scalar, VariableKind::Accumulator);
    VariableOp::create(builder, loc, "#out.valid_tokens", scalar, VariableKind::Output).setOutput("valid_tokens");
  }

  void setTraining(VariableOp variable, const dsl::ParameterTraining &training) {
    variable.setFrozen(training.frozen);
    if (training.frozen)
      return;
    if (training.rate != 1)
      variable.setRateAttr(builder.getF64FloatAttr(training.rate));
    if (training.decay)
      variable.setDecayAttr(builder.getF64FloatAttr(*training.decay));
    if (program.train.groups.size() > 1)
      variable.setGroup(training.group);
  }

  //===- Nodes --------------------------------------------------------------------------------------------------------------===//

  /// Null where the value is of another kind.
  Attribute attributeOf(dsl::AttributeKind kind, const dsl::Attribute &value) {
    switch (kind) {
    case dsl::AttributeKind::Truth:
      if (const bool *truth = std::get_if<bool>(&value))
        return builder.getBoolAttr(*truth);
      break;
    case dsl::AttributeKind::Integer:
      if (const int64_t *whole = std::get_if<int64_t>(&value))
        return builder.getI64IntegerAttr(*whole);
      break;
    case dsl::AttributeKind::Number:
      if (const double *real = std::get_if<double>(&value))
        return builder.getF64FloatAttr(*real);
      break;
    case dsl::AttributeKind::Text:
      if (const std::string *text = std::get_if<std::string>(&value))
        return builder.getStringAttr(*text);
      break;
    }
    return {};
  }

  /// The attributes as the language's table of nodes has them; nothing, with an error reported, where they are others.
  std::optional<NamedAttrList> attributesOf(const dsl::Node &node, const dsl::NodeKind &kind) {
    NamedAttrList result;
    size_t found = 0;
    for (const dsl::NodeAttribute &attribute : kind.attributes) {
      auto given = node.attributes.find(attribute.name);
      if (given == node.attributes.end() && attribute.optional)
        continue;
      Attribute value = given == node.attributes.end() ? Attribute() : attributeOf(attribute.kind, given->second);
      if (!value) {
        emitError(location(node.location)) << "internal error: operation '" << node.op << "' needs its attribute '" << attribute.name
                                           << "'";
        return std::nullopt;
      }
      result.append(attribute.name, value);
      ++found;
    }
    if (found == node.attributes.size())
      return result;
    emitError(location(node.location)) << "internal error: operation '" << node.op << "' has attributes that no table lists";
    return std::nullopt;
  }

  static std::string text(const dsl::Node &node, const std::string &name, std::string otherwise = "") {
    auto found = node.attributes.find(name);
    const std::string *value = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    return value ? *value : otherwise;
  }

  LogicalResult addNode(const dsl::Node &node) {
    if (node.op == "parameter") {
      auto read = ReadOp::create(builder, location(node.location), typeOf(node.type), text(node, "name"));
      setAt(read, Phase::Forward, node.path, node.block);
      values.push_back(read);
      return success();
    }
    Operation *op = createOp(node, Phase::Forward);
    if (!op)
      return failure();
    values.push_back(op->getResult(0));
    return success();
  }

  /// What a batch brings for an input that is of this type here: floats are f32 whatever the plan computes in.
  Type valuesOf(dsl::ElementType type) { return typeOf(dsl::isInteger(type) ? seamOf(type) : program::ElementType::F32); }

  /// Null, with an error reported, where the language's table of nodes or the dialect has no such op.
  Operation *createOp(const dsl::Node &node, Phase phase) {
    OperationState state(location(node.location), "nn." + node.op);
    const dsl::NodeKind *kind = dsl::findNodeKind(node.op);
    auto *language = state.name.isRegistered() ? state.name.getInterface<LanguageOpInterface>() : nullptr;
    if (!kind || !language) {
      emitError(state.location) << "internal error: unknown operation '" << node.op << "'";
      return nullptr;
    }
    std::optional<NamedAttrList> attributes = attributesOf(node, *kind);
    if (!attributes)
      return nullptr;
    state.attributes = *attributes;
    for (int operand : node.operands)
      state.addOperands(values[operand]);
    RankedTensorType type = typeOf(node.type);
    state.addTypes(type);
    state.addTypes(language->getFurtherTypes(type, attributes->getDictionary(builder.getContext())));
    if (Type values = node.op == "input" ? valuesOf(node.type.element) : Type(); values && values != type.getElementType())
      state.addAttribute("values", TypeAttr::get(values));
    Operation *op = builder.create(state);
    setAt(op, phase, node.path, node.block);
    return op;
  }

  /// This micro-batch's share of the mean over the tokens of the whole batch is added up over the micro-batches (RULES.md#N3). Where
  /// targets may be ignored it is the plain sum: who reads it divides by the number of valid tokens.
  void addLoss() {
    const dsl::Node &node = model.nodes[model.loss];
    Location loc = location(node.location);
    auto perToken = llvm::cast<RankedTensorType>(values[model.loss].getType());
    double tokens = static_cast<double>(perToken.getNumElements()) * static_cast<double>(program.plan.microCount);
    auto place = [&](auto op) {
      setAt(op, Phase::Forward, node.path, node.block);
      return op;
    };
    Value sum = place(SumOp::create(builder, loc, scalarOf(compute), values[model.loss]));
    if (!ignored())
      sum = place(ScaleOp::create(builder, loc, sum.getType(), sum, builder.getF64FloatAttr(1 / tokens)));
    Value wide = place(ConvertOp::create(builder, loc, scalarOf(builder.getF64Type()), sum));
    place(AccumulateOp::create(builder, loc, "#out.loss.sum", wide));
  }

  /// The number of valid tokens of the global batch, known before the first forward (RULES.md#N3): @count once per micro-batch, then
  /// @start.
  void addPrologue(ModuleOp module) {
    const dsl::Node &node = model.nodes[model.loss];
    Location loc = location(node.location);
    Type scalar = scalarOf(builder.getF64Type());
    auto place = [&](auto op, Phase phase) {
      setAt(op, phase, node.path, node.block);
      return op;
    };
    beginFunction(module, "count");
    Operation *targets = createOp(model.nodes[node.operands[1]], Phase::Count); // an input: the language takes nothing else there
    setAt(targets, Phase::Count, node.path, node.block);
    auto read = llvm::cast<RankedTensorType>(targets->getResult(0).getType());
    Type type = withAxes(builder.getF64Type(), axesOf(read), read.getShape());
    Value one = place(FillOp::create(builder, loc, type, builder.getF64FloatAttr(1)), Phase::Count);
    Value valid =
        place(KeepValidOp::create(builder, loc, type, one, targets->getResult(0), builder.getI64IntegerAttr(*ignored())), Phase::Count);
    Value count = place(SumOp::create(builder, loc, scalar, valid), Phase::Count);
    place(AccumulateOp::create(builder, loc, "#out.valid_tokens.sum", count), Phase::Count);
    func::ReturnOp::create(builder, loc);

    beginFunction(module, "start");
    Value total = place(ReadOp::create(builder, loc, scalar, "#out.valid_tokens.sum"), Phase::Prologue);
    place(WriteOp::create(builder, loc, "#out.valid_tokens", total), Phase::Prologue);
    func::ReturnOp::create(builder, loc);
  }
};
} // namespace

OwningOpRef<ModuleOp> npar::importProgram(MLIRContext &context, const dsl::Program &program, const dsl::Sources &sources) {
  context.loadDialect<NnDialect, dist::DistDialect, func::FuncDialect>();
  return Importer(context, program, sources).run();
}
