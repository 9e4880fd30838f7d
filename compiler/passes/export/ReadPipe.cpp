// Reads a scheduled module: classes of stages with their variables, prologue, fragments and tasks.
#include "compiler/passes/export/ReadPipe.h"
#include "compiler/attributes/ModuleAttributes.h"

#include "compiler/dialects/dist/ModuleMachine.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/export/ProgramTables.h"
#include "compiler/passes/export/StepTimes.h"
#include "compiler/passes/export/StoreInTiers.h"
#include "compiler/passes/schedule/StageMachines.h"

#include <set>

using namespace mlir;

namespace npar::compiler {

Tables::Tables(ModuleOp module) : module(module), symbols(module), machine(dist::machineOf(module)) {}

void Tables::setMesh(dist::MeshAttr mesh) {
  this->mesh = mesh;
  double world = 1;
  for (int64_t size : mesh.getSizes())
    world *= static_cast<double>(size);
  together = machine.kind == dsl::MachineKind::Device ? 1 : std::min(world, machine.ranks);
  capacity = cost::capacityOf(machine);
  machine = cost::machineOfRanks(machine, together);
}

std::vector<cost::Machine> Tables::asRanksFind(std::vector<cost::Machine> machines) const {
  for (cost::Machine &one : machines)
    one = cost::machineOfRanks(one, together);
  return machines;
}

uint32_t Tables::addLabel(StringRef name, Operation *op) {
  auto label = std::make_unique<program::LabelT>();
  nn::AtAttr at = nn::getAt(op);
  if (at)
    label->path = at.getPath().str();
  label->text = name.str() + (label->path.empty() ? "" : " " + label->path);
  label->source = sourceOf(op->getLoc());
  program.labels.push_back(std::move(label));
  return static_cast<uint32_t>(program.labels.size()) - 1;
}

uint32_t Tables::addRule(NameLoc rule) {
  auto [entry, isNew] = rules.try_emplace(rule, static_cast<uint32_t>(program.labels.size()));
  if (isNew) {
    program.labels.push_back(std::make_unique<program::LabelT>());
    program.labels.back()->text = rule.getName().str();
    program.labels.back()->source = sourceOf(rule.getChildLoc());
  }
  return entry->second;
}

uint32_t variableIn(ClassReader &reader, Tables &tables, StringRef name) {
  auto [entry, isNew] = reader.variables.try_emplace(name, static_cast<uint32_t>(reader.model.variables.size()));
  if (isNew) {
    nn::VariableOp variable = nn::findVariable(tables.symbols, name);
    memory::VariableModel &model = reader.model.variables.emplace_back();
    model.variable = tables.variables.lookup(name);
    model.kind = variable.getKind();
    model.piece = pieceOf(variable);
    model.piece->variable = model.variable;
    model.bytes = model.piece->bytes;
    if (std::optional<StringRef> output = variable.getOutput())
      model.output = output->str();
  }
  return entry->second;
}

namespace {

/// Returns whether the stage stores the variable according to the attribute `stages` that the schedule has set.
bool isStoredOn(nn::VariableOp variable, int64_t stage) {
  return llvm::any_of(attributes::stages.get(variable), [&](IntegerAttr entry) { return entry.getInt() == stage; });
}

/// Whether something adds to an accumulator, or takes it as it is at the step's begin. Where the one micro-batch writes it, nothing does.
bool needsZero(const memory::ClassModel &model, uint32_t variable) {
  bool written = false;
  for (const memory::FragmentModel &fragment : model.fragments) {
    if (fragment.phase == program::Phase::Update) // after all others
      continue;
    auto write = llvm::find_if(fragment.writes, [&](const memory::Write &one) { return one.variable == variable; });
    bool writes = write != fragment.writes.end();
    for (const memory::ValueModel &value : fragment.values)
      if (value.variable == variable && (!writes || value.readAt < write->order))
        return true;
    written |= writes;
  }
  return !written;
}

/// Zeroes every accumulator that needs it; runs first, once per training step.
memory::FragmentModel makePrologue(ClassReader &reader, Tables &tables, int64_t stage) {
  memory::FragmentModel model;
  model.name = "P" + std::to_string(stage);
  model.phase = program::Phase::Prologue;
  for (uint32_t index = 0; index < reader.model.variables.size(); ++index) {
    const memory::VariableModel &variable = reader.model.variables[index];
    if (variable.kind != program::VariableKind::Accumulator || !needsZero(reader.model, index))
      continue;
    StringRef name = tables.program.variables[variable.variable]->name;
    memory::ValueModel value;
    value.bytes = variable.bytes;
    value.variable = index;
    value.readAt = ~0u;
    memory::Action action;
    action.kind = program::StepKind::Zero;
    action.label = tables.addLabel(("zero " + name).str(), nn::findVariable(tables.symbols, name));
    action.outputs = {static_cast<uint32_t>(model.values.size())};
    setDuration(action, reader.machines, movedBytes(variable.bytes));
    model.values.push_back(value);
    model.actions.push_back(action);
  }
  return model;
}

/// The chunk of the fragment: the number of parts that its stage has before it.
uint32_t chunkOf(pipe::FragmentOp fragment, pipe::ProgramOp program) {
  SmallVector<int64_t> stages = program.getStageOfPlace();
  size_t place = fragment.isPerMicro() ? fragment.placeInChain() : 0;
  return static_cast<uint32_t>(llvm::count(ArrayRef(stages).take_front(place), fragment.getStage()));
}

bool hasCollectives(const memory::FragmentModel &fragment) {
  return llvm::any_of(fragment.actions, [](const memory::Action &action) { return action.kind == program::StepKind::Collective; });
}

/// Returns whether a fragment writes a variable that the other one reads or writes.
bool writesFor(const memory::FragmentModel &fragment, const memory::FragmentModel &other) {
  return llvm::any_of(fragment.writes, [&](const memory::Write &write) {
    return llvm::any_of(other.values, [&](const memory::ValueModel &value) { return value.variable == write.variable; }) ||
           llvm::any_of(other.writes, [&](const memory::Write &again) { return again.variable == write.variable; });
  });
}

/// Two tasks run at the same time only if both have collectives to hide, because it takes memory, and if they share no variable that
/// changes.
bool mayOverlap(const memory::FragmentModel &one, const memory::FragmentModel &other) {
  return hasCollectives(one) && hasCollectives(other) && !writesFor(one, other) && !writesFor(other, one);
}

LogicalResult readTasks(pipe::OrderOp order, bool zeroes, memory::ClassModel &model) {
  llvm::StringMap<uint32_t> fragments;
  for (auto [index, fragment] : llvm::enumerate(model.fragments))
    fragments[fragment.name] = static_cast<uint32_t>(index);
  if (zeroes) // the first fragment, which no order names
    model.tasks.push_back({0, 0, 0, 0});
  for (const pipe::TaskName &task : order.getTaskNames()) {
    auto found = fragments.find(task.fragment);
    if (found == fragments.end())
      return order.emitOpError("names fragment '") << task.fragment << "', which stage " << order.getStage() << " does not have";
    model.tasks.push_back({found->second, static_cast<uint32_t>(task.micro), 0, 0});
    if (task.overlaps && model.tasks.size() > 1) {
      const memory::FragmentModel &before = model.fragments[model.tasks[model.tasks.size() - 2].fragment];
      model.tasks.back().overlaps = mayOverlap(before, model.fragments[found->second]);
    }
  }
  return success();
}

} // namespace

FailureOr<std::vector<memory::ClassModel>> readPipe(Tables &tables) {
  ModuleOp module = tables.module;
  auto programs = module.getOps<pipe::ProgramOp>();
  if (programs.empty())
    return module.emitError("holds no 'pipe.program': run the schedule phase first"), failure();
  pipe::ProgramOp scheduled = *programs.begin();
  tables.setMesh(dist::meshOf(scheduled));
  tables.pipelineAxis = scheduled.getAxisAttr();
  FailureOr<StageMachines> machines = StageMachines::of(module, tables.pipelineAxis, scheduled.getStages());
  if (failed(machines))
    return failure();
  if (machines->sets().size() == 1)
    tables.machine = tables.asRanksFind(machines->machinesOf(0)).front();
  if (tables.pipelineAxis)
    tables.pipelineLevel = dist::spanOf(tables.machine, tables.mesh, {tables.pipelineAxis}).level;
  if (machines->sets().size() > 1)
    tables.pipelineLevel = cost::LinkLevel::Cluster;
  for (auto [index, variable] : llvm::enumerate(module.getOps<nn::VariableOp>()))
    tables.variables[nn::pathOf(variable)] = static_cast<uint32_t>(index);

  std::vector<memory::ClassModel> classes;
  std::set<uint32_t> owned;
  for (int64_t stage = 0; stage < scheduled.getStages(); ++stage) {
    ClassReader reader;
    reader.machines = tables.asRanksFind(machines->machinesOf(stage));
    memory::ClassModel &model = reader.model;
    model.name = "stage" + std::to_string(stage);
    model.stage = static_cast<uint32_t>(stage);
    if (tables.pipelineAxis && tables.mesh.indexOf(tables.pipelineAxis) >= 0)
      model.fixed.emplace_back(tables.mesh.indexOf(tables.pipelineAxis), stage);
    for (nn::VariableOp variable : module.getOps<nn::VariableOp>())
      if (isStoredOn(variable, stage))
        variableIn(reader, tables, nn::pathOf(variable));
    for (pipe::FragmentOp fragment : module.getOps<pipe::FragmentOp>())
      if (fragment.getStage() == stage && failed(readFragment(fragment, chunkOf(fragment, scheduled), tables, reader)))
        return failure();
    // Variables that no stage stores or uses still need a home: the last stage stores them.
    if (stage + 1 == scheduled.getStages())
      for (nn::VariableOp variable : module.getOps<nn::VariableOp>()) {
        uint32_t index = tables.variables.lookup(nn::pathOf(variable));
        if (!owned.count(index))
          variableIn(reader, tables, nn::pathOf(variable));
      }
    for (memory::VariableModel &variable : model.variables)
      variable.piece->owner = owned.insert(variable.variable).second;
    memory::FragmentModel prologue = makePrologue(reader, tables, stage);
    bool zeroes = !prologue.actions.empty();
    if (zeroes)
      model.fragments.insert(model.fragments.begin(), std::move(prologue));
    for (pipe::OrderOp order : module.getOps<pipe::OrderOp>())
      if (order.getStage() == stage && failed(readTasks(order, zeroes, model)))
        return failure();
    if (failed(storeInTiers(tables, reader.machines, model)))
      return failure();
    classes.push_back(std::move(model));
  }
  timeTasks(tables, classes);
  return classes;
}

} // namespace npar::compiler
