// Entries of the compiled program from types, variables and locations.
#include "compiler/passes/export/ProgramTables.h"
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/attributes/TableAttributes.h"
#include "compiler/dialects/nn/OptimizerAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"

#include "engine/program/ModelState.h"
#include "engine/program/Pieces.h"
#include "engine/program/Words.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace npar::compiler {

uint64_t storageBytes(Type tensor) { return static_cast<uint64_t>(nn::bytesOf(tensor)); }

std::unique_ptr<program::VariableT> variableOf(nn::VariableOp variable) {
  auto result = std::make_unique<program::VariableT>();
  RankedTensorType type = variable.getTensorType();
  result->name = nn::pathOf(variable).str();
  result->kind = variable.getKind();
  result->type = *elementTypeOf(type);
  dist::LayoutAttr layout = dist::layoutOf(type);
  ArrayRef<int64_t> shape = layout ? layout.getSizes() : type.getShape();
  result->shape.assign(shape.begin(), shape.end());
  for (StringAttr axis : layout ? layout.getNames() : nn::axesOf(type))
    result->axes.push_back(axis.str());
  if (std::optional<ArrayAttr> stored = variable.getStored())
    for (IntegerAttr size : stored->getAsRange<IntegerAttr>())
      result->stored.push_back(size.getInt());
  else
    result->stored = result->shape;
  if (std::optional<nn::InitAttr> init = variable.getInit()) {
    result->init = init->getInitial();
    if (init->getDeviation())
      result->deviation = init->getDeviation().getValueAsDouble();
  }
  if (std::optional<StringRef> slot = variable.getSlot())
    result->slot = slot->str();
  if (std::optional<uint64_t> use = variable.getUse())
    result->use = static_cast<int32_t>(*use);
  result->frozen = variable.getFrozen();
  if (variable.getUntrained() && result->slot.empty())
    result->slot = program::modelStateSlot;
  return result;
}

static_assert(dist::LayoutAttr::flatBlock == program::flatBlock, "compiler and engine deal out the same blocks");

std::unique_ptr<program::PieceT> pieceOf(nn::VariableOp variable) {
  auto piece = std::make_unique<program::PieceT>();
  RankedTensorType type = variable.getTensorType();
  piece->bytes = storageBytes(type);
  // An accumulator that @update has reduced is seen by all other readers in its reduced form.
  if (std::optional<RankedTensorType> reduced = variable.getReduced()) {
    type = *reduced;
    piece->bytes = std::max(piece->bytes, storageBytes(type));
  }
  dist::LayoutAttr layout = dist::layoutOf(type);
  dist::MeshAttr mesh = dist::meshOf(variable);
  if (!layout) {
    for (int64_t size : type.getShape())
      piece->dimensions.emplace_back(size, size, 0, 0);
    return piece;
  }
  SmallVector<int64_t> local = layout.withFlat({}).localShape(mesh);
  for (auto [dim, size] : llvm::enumerate(layout.getSizes())) {
    uint32_t first = static_cast<uint32_t>(piece->mesh_axes.size());
    for (StringAttr axis : layout.splitsOf(dim))
      piece->mesh_axes.push_back(static_cast<uint32_t>(mesh.indexOf(axis)));
    piece->dimensions.emplace_back(size, local[dim], first, static_cast<uint32_t>(piece->mesh_axes.size()) - first);
  }
  for (StringAttr axis : layout.getFlatAxes())
    piece->flat_axes.push_back(static_cast<uint32_t>(mesh.indexOf(axis)));
  return piece;
}

/// Fills in which part of each dimension a rank keeps of a data buffer.
template <typename Buffer> static void fillDimensions(RankedTensorType type, Operation *scope, Buffer &buffer) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  dist::MeshAttr mesh = dist::meshOf(scope);
  for (auto [dim, local] : llvm::enumerate(type.getShape())) {
    uint32_t first = static_cast<uint32_t>(buffer.mesh_axes.size());
    if (layout)
      for (StringAttr axis : layout.splitsOf(dim))
        buffer.mesh_axes.push_back(static_cast<uint32_t>(mesh.indexOf(axis)));
    buffer.dimensions.emplace_back(layout ? layout.getSizes()[dim] : local, local, first,
                                   static_cast<uint32_t>(buffer.mesh_axes.size()) - first);
    buffer.zigzag.push_back(layout ? static_cast<uint32_t>(dist::zigzagOf(scope, layout.getNames()[dim])) : 0);
  }
}

std::unique_ptr<program::InputT> inputOf(RankedTensorType type, Operation *scope) {
  auto input = std::make_unique<program::InputT>();
  input->type = *elementTypeOf(type);
  fillDimensions(type, scope, *input);
  return input;
}

std::unique_ptr<program::ResultBufferT> resultOf(RankedTensorType type, Operation *scope) {
  auto result = std::make_unique<program::ResultBufferT>();
  fillDimensions(type, scope, *result);
  return result;
}

uint32_t addResult(program::ProgramT &program, StringRef name, RankedTensorType type) {
  program.results.push_back(std::make_unique<program::LogicalResultT>());
  program::LogicalResultT &entry = *program.results.back();
  entry.name = name.str();
  entry.type = *elementTypeOf(type);
  dist::LayoutAttr layout = dist::layoutOf(type);
  for (StringAttr axis : layout ? layout.getNames() : nn::axesOf(type))
    entry.axes.push_back(axis.str());
  ArrayRef<int64_t> shape = layout ? layout.getSizes() : type.getShape();
  entry.shape.assign(shape.begin(), shape.end());
  if (!entry.shape.empty())
    entry.shape[0] = program.batch;
  return static_cast<uint32_t>(program.results.size()) - 1;
}

std::unique_ptr<program::SourcePlaceT> sourceOf(Location location) {
  std::unique_ptr<program::SourcePlaceT> source;
  location->walk([&](Location part) {
    std::string file;
    uint32_t line = 0, column = 0;
    if (auto range = dyn_cast<FileLineColRange>(LocationAttr(part)))
      file = range.getFilename().str(), line = range.getStartLine(), column = range.getStartColumn();
    else
      return WalkResult::advance();
    source = std::make_unique<program::SourcePlaceT>();
    source->file = file;
    source->line = line;
    source->column = column;
    return WalkResult::interrupt();
  });
  return source;
}

static void fillVariables(ModuleOp module, program::ProgramT &program) {
  llvm::StringMap<int32_t> indices;
  for (nn::VariableOp variable : module.getOps<nn::VariableOp>()) {
    indices[nn::pathOf(variable)] = static_cast<int32_t>(program.variables.size());
    program.variables.push_back(variableOf(variable));
  }
  uint32_t index = 0;
  for (nn::VariableOp variable : module.getOps<nn::VariableOp>()) {
    program::VariableT &entry = *program.variables[index++];
    if (std::optional<StringRef> of = variable.getOf())
      if (auto found = indices.find(*of); found != indices.end())
        entry.of = found->second;
    if (entry.kind != program::VariableKind::Parameter || !entry.slot.empty()) // a state
      continue;
    uint64_t elements = 1;
    for (int64_t size : entry.shape)
      elements *= static_cast<uint64_t>(size);
    program.parameters += elements;
    // Layers may be kept in float32: the narrowest type is what the program computes in.
    if (program.compute == program::ElementType::F32)
      program.compute = entry.type;
  }
}

/// Fills in the inputs from what prepare-inputs wrote on the module.
static LogicalResult fillInputs(ModuleOp module, program::ProgramT &program) {
  std::optional<std::vector<attributes::InputEntry>> inputs = attributes::getInputs(module);
  if (!inputs)
    return success();
  for (const attributes::InputEntry &input : *inputs) {
    program.inputs.push_back(std::make_unique<program::LogicalInputT>());
    program::LogicalInputT &entry = *program.inputs.back();
    entry.name = input.name.str();
    auto type = cast<RankedTensorType>(input.type);
    std::optional<program::ElementType> element = elementTypeOf(type);
    if (!element)
      return module.emitError("internal error: input '") << entry.name << "' is of " << type << ", which programs do not have";
    entry.type = *element;
    for (StringAttr axis : nn::axesOf(type))
      entry.axes.push_back(axis.str());
    entry.shape.assign(type.getShape().begin(), type.getShape().end());
    if (!entry.shape.empty())
      entry.shape[0] = program.batch;
    entry.classes = *input.classes;
    entry.axis = input.axis.str();
    if (input.source)
      entry.source = sourceOf(input.source);
    if (input.role) {
      std::optional<program::InputRole> role = program::valueOf<program::InputRole>(input.role.getValue());
      if (!role)
        return module.emitError("internal error: input '")
               << entry.name << "' has the role '" << input.role.getValue() << "', which there is not";
      entry.role = *role;
    }
    if (input.ignore)
      entry.ignore = static_cast<int32_t>(input.ignore.getInt());
  }
  return success();
}

static void fillPlace(ModuleOp module, program::ProgramT &program) {
  std::optional<attributes::PlaceClause> clause = attributes::getPlace(module);
  if (!clause)
    return;
  program.place = std::make_unique<program::PlaceClauseT>();
  program.place->order = clause->order;
  program.place->inside = clause->inside;
  program.place->source = sourceOf(clause->loc);
}

/// The learning rates of a program that trains.
static LogicalResult fillRates(ModuleOp module, program::ProgramT &program) {
  if (program.kind != program::ProgramKind::Training)
    return success();
  FailureOr<std::vector<dsl::LearningRate>> rates = nn::ratesOf(module);
  if (failed(rates))
    return failure();
  auto lengthOf = [](const dsl::Length &length) { return std::make_unique<program::RateLength>(length.count, length.unit); };
  for (auto [rate, word] : llvm::zip(*rates, nn::wordsOfRates(*rates))) {
    auto &entry = *program.rates.emplace_back(std::make_unique<program::LearningRateT>());
    entry.schedule = rate.kind, entry.peak = rate.peak, entry.final_rate = rate.final, entry.factor = rate.factor;
    entry.warmup = lengthOf(rate.warmup), entry.steps = lengthOf(rate.steps), entry.every = lengthOf(rate.every);
    if (rate.scaled)
      entry.scaled = rate.scaled->rate, entry.per = rate.scaled->per;
    entry.word = word;
  }
  return success();
}

LogicalResult fillProgram(ModuleOp module, program::ProgramT &program) {
  program.model = attributes::model.text(module);
  program.plan = attributes::plan.text(module);
  program.train = attributes::train.text(module);
  program.schedule = attributes::schedule.text(module);
  program.batch = attributes::batch.get(module).value_or(1);
  program.micro_count = attributes::microCount.get(module).value_or(1);
  program.micro = program.batch / program.micro_count;
  program.seed = static_cast<uint64_t>(attributes::seed.get(module).value_or(0));
  dist::MeshAttr mesh = dist::meshOf(module);
  for (auto [name, size] : llvm::zip(mesh.getNames(), mesh.getSizes())) {
    program.mesh.push_back(std::make_unique<program::MeshAxisT>());
    program.mesh.back()->name = name.str();
    program.mesh.back()->size = static_cast<uint32_t>(size);
  }
  if (StringAttr word = attributes::kind.get(module); word && !word.empty()) {
    std::optional<program::ProgramKind> kind = program::valueOf<program::ProgramKind>(word.getValue());
    if (!kind)
      return module.emitError("internal error: the program's kind is '") << word.getValue() << "', which there is not";
    program.kind = *kind;
  }
  if (StringAttr word = attributes::productOrder.get(module)) {
    std::optional<program::ProductOrder> order = program::valueOf<program::ProductOrder>(word.getValue());
    if (!order)
      return module.emitError("internal error: there is no order of products '") << word.getValue() << "'";
    program.products = *order;
  }
  program.flops = attributes::flops.get(module).value_or(program.flops);
  for (StringAttr group : attributes::groups.get(module))
    program.groups.push_back(group.str());
  program.epochs = attributes::epochs.get(module).value_or(program.epochs);
  if (failed(fillRates(module, program)))
    return failure();
  fillPlace(module, program);
  fillVariables(module, program);
  return fillInputs(module, program);
}

void fillSamples(const program::InputT &input, program::ProgramT &program) {
  if (input.dimensions.empty())
    return;
  const program::PieceDimension &samples = input.dimensions.front();
  program.micro = samples.local();
  auto axes = input.mesh_axes.begin() + samples.first_axis();
  program.data_axes.assign(axes, axes + samples.axis_count());
}

uint32_t findInput(const program::ProgramT &program, StringRef name) {
  auto found = llvm::find_if(program.inputs, [&](const auto &input) { return name == input->name; });
  return static_cast<uint32_t>(found - program.inputs.begin());
}

} // namespace npar::compiler
