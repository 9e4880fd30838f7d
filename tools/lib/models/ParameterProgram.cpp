// Fills the tables that describe weights.
#include "tools/lib/models/ParameterProgram.h"

#include "engine/program/Loader.h"
#include "engine/program/ModelState.h"

#include <map>

namespace npar::models {

namespace {

std::map<std::string, int64_t> sizesOf(const dsl::Model &model) {
  std::map<std::string, int64_t> sizes;
  for (const dsl::Axis &axis : model.axes)
    sizes[axis.name] = axis.size;
  return sizes;
}

} // namespace

engine::Result<ElaboratedModel> elaborateParameters(ModelOptions options, engine::Observer &observer, SettingsList settings) {
  options.plan = "none";
  options.kind = program::ProgramKind::Generation; // its samples are no batch of the training
  settings.emplace_back("batch", "1");
  return elaborateModel(options, observer, settings, /*withWarnings=*/false);
}

ParameterProgram::ParameterProgram(const dsl::Model &model) {
  std::map<std::string, int64_t> sizes = sizesOf(model);
  program::ProgramT program;
  for (const dsl::Parameter &parameter : model.parameters) {
    auto variable = std::make_unique<program::VariableT>();
    variable->name = parameter.path;
    variable->kind = program::VariableKind::Parameter;
    variable->type = parameter.type.element;
    if (parameter.untrained)
      variable->slot = parameter.counts ? program::modelCountSlot : program::modelStateSlot;
    size_t next = 0;
    for (int axes : parameter.storedRank) {
      int64_t stored = 1;
      for (int i = 0; i < axes; ++i, ++next) {
        variable->axes.push_back(parameter.type.axes[next]);
        variable->shape.push_back(sizes.at(parameter.type.axes[next]));
        stored *= variable->shape.back();
      }
      variable->stored.push_back(stored);
    }
    program.variables.push_back(std::move(variable));
  }
  for (const dsl::CheckpointRule &rule : model.checkpoint) {
    auto entry = std::make_unique<program::CheckpointRuleT>();
    entry->kind = rule.kind, entry->file = rule.file, entry->model = rule.model;
    program.checkpoint.push_back(std::move(entry));
  }
  bytes = program::packProgram(program);
}

const program::Program &ParameterProgram::root() const { return *program::GetProgram(bytes.data() + program::LoadedProgram::headerBytes); }

} // namespace npar::models
