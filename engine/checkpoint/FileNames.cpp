// Goes through stored tensors once: ignored, compared, or renamed to a parameter.
#include "engine/checkpoint/FileNames.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

namespace {

using Found = std::map<int64_t, NamedTensor>; ///< of a parameter: by index, -1 for the whole

/// The parameters of a program by the names that tensors of files have once they are renamed.
class Parameters {
public:
  explicit Parameters(const Program &program) {
    for (const Variable *variable : *program.variables())
      if (variable->kind() == VariableKind::Parameter) {
        whole[variable->name()->str()] = variable;
        if (std::optional<IndexedTensor> indexed = indexedTensor(*variable)) {
          parts[indexed->before + "{}" + indexed->after] = {variable, indexed->count};
          longest = std::max(longest, indexed->name(indexed->count - 1).size());
        }
      }
  }

  /// The parameter and the index; null where the name means none.
  std::pair<const Variable *, int64_t> find(const std::string &name) const {
    if (auto found = whole.find(name); found != whole.end())
      return {found->second, -1};
    if (name.size() <= longest)
      for (const NumberedName &each : numbersIn(name))
        if (auto found = parts.find(each.before + "{}" + each.after); found != parts.end() && each.number < found->second.second)
          return {found->second.first, static_cast<int64_t>(each.number)};
    return {nullptr, -1};
  }
  const Variable *at(const std::string &name) const { return whole.at(name); }

private:
  std::map<std::string, const Variable *> whole;
  std::map<std::string, std::pair<const Variable *, uint64_t>> parts; ///< with the number of tensors
  size_t longest = 0;                                                 ///< name of one of these
};

/// Lists the tensors of a parameter that were found, and those that were not.
void list(FileNames &names, const Variable &variable, const Found &found) {
  for (const auto &[index, tensor] : found)
    names.loaded.push_back(tensor);
  std::optional<IndexedTensor> indexed = indexedTensor(variable);
  if (!indexed || found.count(-1)) {
    if (found.size() > 1)
      names.ambiguous.push_back(files::quotedName(found.begin()->second.name) + " and " + files::quotedName(found.rbegin()->second.name) +
                                " for '" + variable.name()->str() + "'");
    return;
  }
  for (uint64_t index = 0; index < indexed->count; ++index)
    if (!found.count(static_cast<int64_t>(index)))
      names.missing.push_back(indexed->name(index));
}

} // namespace

FileNames namesOf(const Program &program, const std::map<std::string, StoreEntry> &tensors) {
  FileNames names;
  const Parameters parameters(program);
  std::map<const Variable *, Found> found;
  for (const auto &[name, tensor] : tensors) {
    if (findRule(program, CheckpointRuleKind::Ignore, name))
      continue;
    if (const CheckpointRule *rule = findRule(program, CheckpointRuleKind::Same, name)) {
      names.same.push_back({name, &tensor, parameters.at(rule->model()->str())});
      continue;
    }
    const std::string own = parameterOf(program, name);
    auto [parameter, index] = parameters.find(own);
    if (!parameter)
      names.unknown.push_back(name);
    else if (auto [first, fresh] = found[parameter].insert({index, {name, &tensor, parameter, index}}); !fresh)
      names.ambiguous.push_back(files::quotedName(first->second.name) + " and " + files::quotedName(name) + " for '" + own + "'");
  }
  for (const Variable *variable : *program.variables()) {
    std::string name = variable->name()->str();
    if (variable->kind() != VariableKind::Parameter)
      continue;
    if (auto entry = found.find(variable); entry != found.end())
      list(names, *variable, entry->second);
    else
      (findRule(program, CheckpointRuleKind::Fresh, name) ? names.fresh : names.missing).push_back(name);
  }
  return names;
}

} // namespace npar::engine
