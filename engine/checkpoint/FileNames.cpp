// Goes through stored tensors once: ignored, compared, or renamed to a parameter.
#include "engine/checkpoint/FileNames.h"

namespace npar::engine {

using namespace program;

FileNames namesOf(const Program &program, const std::map<std::string, StoreEntry> &tensors) {
  FileNames names;
  std::map<std::string, const Variable *> parameters;
  for (const Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Parameter)
      parameters[variable->name()->str()] = variable;
  std::map<std::string, NamedTensor> found; // by parameter
  for (const auto &[name, tensor] : tensors) {
    if (findRule(program, CheckpointRuleKind::Ignore, name))
      continue;
    if (const CheckpointRule *rule = findRule(program, CheckpointRuleKind::Same, name)) {
      names.same.push_back({name, &tensor, parameters.at(rule->model()->str())});
      continue;
    }
    std::string own = parameterOf(program, name);
    auto parameter = parameters.find(own);
    if (parameter == parameters.end())
      names.unknown.push_back(name);
    else if (auto [first, fresh] = found.insert({own, {name, &tensor, parameter->second}}); !fresh)
      names.ambiguous.push_back(quotedName(first->second.name) + " and " + quotedName(name) + " for '" + own + "'");
  }
  for (const Variable *variable : *program.variables()) {
    std::string name = variable->name()->str();
    if (variable->kind() != VariableKind::Parameter)
      continue;
    if (auto entry = found.find(name); entry != found.end())
      names.loaded.push_back(entry->second);
    else
      (findRule(program, CheckpointRuleKind::Fresh, name) ? names.fresh : names.missing).push_back(name);
  }
  return names;
}

} // namespace npar::engine
