// Goes through stored tensors once: ignored, compared, or renamed to a parameter.
#include "engine/checkpoint/FileNames.h"

#include <algorithm>
#include <tuple>

namespace npar::engine {

using namespace program;

namespace {

using Found = std::map<int64_t, NamedTensor>; ///< of a parameter: by NamedTensor::index

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
      return {found->second, NamedTensor::whole};
    if (name.size() <= longest)
      for (const NumberedName &each : numbersIn(name))
        if (auto found = parts.find(each.before + "{}" + each.after); found != parts.end() && each.number < found->second.second)
          return {found->second.first, static_cast<int64_t>(each.number)};
    return {nullptr, NamedTensor::whole};
  }
  /// The parameter whose indices are all copies of a tensor; null if no parameter has that name.
  std::pair<const Variable *, int64_t> findCopied(const std::optional<std::string> &name) const {
    auto found = name ? whole.find(*name) : whole.end();
    bool isIndexed = found != whole.end() && indexedTensor(*found->second);
    return {isIndexed ? found->second : nullptr, NamedTensor::every};
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
  if (found.count(NamedTensor::every))
    names.copied.push_back(variable.name()->str());
  if (!indexed || found.count(NamedTensor::whole) || found.count(NamedTensor::every)) {
    if (found.size() > 1)
      names.ambiguous.push_back(files::quotedName(found.begin()->second.name) + " and " + files::quotedName(found.rbegin()->second.name) +
                                " for '" + variable.name()->str() + "'");
    return;
  }
  for (uint64_t index = 0; index < indexed->count; ++index)
    if (!found.count(static_cast<int64_t>(index)))
      names.missing.push_back(indexed->name(index));
}

/// Returns whether a parameter is over an axis whose indices are copies of one tensor, which a file without that axis cannot have: a
/// router's.
bool isNewAmongCopies(const Variable &variable, const std::vector<std::string> &copied) {
  return !indexedTensor(variable) && std::any_of(copied.begin(), copied.end(), [&](const std::string &name) {
    return std::any_of(variable.axes()->begin(), variable.axes()->end(),
                       [&](const auto *axis) { return name.find("{" + axis->str() + "}") != std::string::npos; });
  });
}

} // namespace

bool matchesPattern(const std::string &pattern, const std::string &name) {
  size_t at = 0, star = std::string::npos, retry = 0; // of the pattern: its place, the last star; of the name: where that star may end
  for (size_t i = 0; i < name.size();)
    if (at < pattern.size() && pattern[at] == '*')
      star = at++, retry = i;
    else if (at < pattern.size() && pattern[at] == name[i])
      ++at, ++i;
    else if (star == std::string::npos)
      return false;
    else
      at = star + 1, i = ++retry;
  return pattern.find_first_not_of('*', at) == std::string::npos;
}

FileNames namesOf(const Program &program, const std::map<std::string, StoreEntry> &tensors, const std::vector<std::string> &unread) {
  auto isUnread = [&](const std::string &name) {
    return std::any_of(unread.begin(), unread.end(), [&](const std::string &pattern) { return matchesPattern(pattern, name); });
  };
  FileNames names;
  const Parameters parameters(program);
  std::map<const Variable *, Found> found;
  for (const auto &[name, tensor] : tensors) {
    if (findRule(program, CheckpointRuleKind::Ignore, name))
      continue;
    if (const CheckpointRule *rule = findRule(program, CheckpointRuleKind::Same, name)) {
      if (!isUnread(rule->model()->str()))
        names.same.push_back({name, &tensor, parameters.at(rule->model()->str())});
      continue;
    }
    const std::string own = parameterOf(program, name);
    auto [parameter, index] = parameters.find(own);
    if (!parameter)
      std::tie(parameter, index) = parameters.findCopied(copiedParameterOf(program, name));
    if (parameter ? isUnread(parameter->name()->str()) : isUnread(own) || isUnread(name))
      continue;
    if (!parameter)
      names.unknown.push_back(name);
    else if (auto [first, fresh] = found[parameter].insert({index, {name, &tensor, parameter, index}}); !fresh)
      names.ambiguous.push_back(files::quotedName(first->second.name) + " and " + files::quotedName(name) + " for '" + own + "'");
  }
  std::vector<const Variable *> lacking;
  for (const Variable *variable : *program.variables()) {
    if (variable->kind() != VariableKind::Parameter)
      continue;
    if (auto entry = found.find(variable); entry != found.end())
      list(names, *variable, entry->second);
    else
      lacking.push_back(variable);
  }
  for (const Variable *variable : lacking) {
    const std::string name = variable->name()->str();
    if (isUnread(name)) {
      names.asked.push_back(name);
      continue;
    }
    bool need = !findRule(program, CheckpointRuleKind::Fresh, name) && !isNewAmongCopies(*variable, names.copied);
    (need ? names.missing : names.fresh).push_back(name);
  }
  return names;
}

} // namespace npar::engine
