// Matches names with the patterns of checkpoint rules, and checks the rules of a program.
#include "engine/program/CheckpointRules.h"

#include <algorithm>

namespace npar::program {

std::optional<std::string> matchedPart(const std::string &pattern, const std::string &text) {
  size_t star = pattern.find('*');
  if (star == std::string::npos)
    return pattern == text ? std::optional<std::string>("") : std::nullopt;
  size_t after = pattern.size() - star - 1;
  if (text.size() < star + after || text.compare(0, star, pattern, 0, star) != 0 ||
      text.compare(text.size() - after, after, pattern, star + 1, after) != 0)
    return std::nullopt;
  return text.substr(star, text.size() - star - after);
}

const CheckpointRule *findRule(const Program &program, CheckpointRuleKind kind, const std::string &name) {
  for (const CheckpointRule *rule : *program.checkpoint())
    if (rule->kind() == kind && matchedPart((kind == CheckpointRuleKind::Fresh ? rule->model() : rule->file())->str(), name))
      return rule;
  return nullptr;
}

std::string parameterOf(const Program &program, const std::string &tensor) {
  const CheckpointRule *rule = findRule(program, CheckpointRuleKind::Rename, tensor);
  if (!rule)
    return tensor;
  std::string name = rule->model()->str();
  if (size_t star = name.find('*'); star != std::string::npos)
    name.replace(star, 1, *matchedPart(rule->file()->str(), tensor));
  return name;
}

std::string tensorOf(const Program &program, const std::string &parameter) {
  for (const CheckpointRule *rule : *program.checkpoint()) {
    std::string name = rule->file()->str(), own = rule->model()->str();
    std::optional<std::string> part = rule->kind() == CheckpointRuleKind::Rename ? matchedPart(own, parameter) : std::nullopt;
    size_t star = name.find('*');
    bool lost = star != std::string::npos && own.find('*') == std::string::npos; // many names lead to one parameter
    if (!part || lost)
      continue;
    if (star != std::string::npos)
      name.replace(star, 1, *part);
    if (parameterOf(program, name) == parameter && !findRule(program, CheckpointRuleKind::Ignore, name))
      return name;
  }
  return parameter;
}

std::string wrongCheckpointRule(const Program &program) {
  auto isParameter = [&](const std::string &pattern) {
    return std::any_of(program.variables()->begin(), program.variables()->end(), [&](const Variable *variable) {
      return variable->kind() == VariableKind::Parameter && matchedPart(pattern, variable->name()->str());
    });
  };
  for (const CheckpointRule *rule : *program.checkpoint()) {
    if (rule->kind() < CheckpointRuleKind::MIN || rule->kind() > CheckpointRuleKind::MAX)
      return "a checkpoint rule of an unknown kind";
    bool fresh = rule->kind() == CheckpointRuleKind::Fresh, same = rule->kind() == CheckpointRuleKind::Same;
    std::string file = rule->file()->str(), model = rule->model()->str();
    auto filesStars = std::count(file.begin(), file.end(), '*'), modelsStars = std::count(model.begin(), model.end(), '*');
    if (filesStars > (same ? 0 : 1) || modelsStars > (fresh ? 1 : filesStars))
      return "the checkpoint rule of '" + file + "' and '" + model + "' has a '*' that stands for nothing";
    if ((fresh || same) && !isParameter(model))
      return "a checkpoint rule is for parameter '" + model + "', which does not exist";
  }
  return "";
}

} // namespace npar::program
