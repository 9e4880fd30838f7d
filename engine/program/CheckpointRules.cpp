// Matches names with the patterns of checkpoint rules, and checks the rules of a program.
#include "engine/program/CheckpointRules.h"

#include "engine/program/IndexedTensor.h"

#include <algorithm>
#include <cctype>

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

NamePattern::NamePattern(const std::string &text) {
  bool open = false; // true while the last part is plain text, which the next character extends
  for (size_t i = 0; i < text.size(); ++i) {
    size_t close = text[i] == '{' ? text.find('}', i) : std::string::npos;
    bool stands = text[i] == '*' || close != std::string::npos;
    if (stands || !open)
      parts.push_back({"", stands});
    open = !stands;
    parts.back().text += close == std::string::npos ? text.substr(i, 1) : text.substr(i, close - i + 1);
    if (close != std::string::npos)
      i = close;
  }
}

size_t NamePattern::count() const {
  return static_cast<size_t>(std::count_if(parts.begin(), parts.end(), [](const Part &part) { return part.stands; }));
}

std::vector<std::string> NamePattern::missing(const NamePattern &other) const {
  std::vector<std::string> result;
  for (const Part &part : other.parts)
    if (part.stands && std::none_of(parts.begin(), parts.end(), [&](const Part &own) { return own.stands && own.text == part.text; }))
      result.push_back(part.text);
  return result;
}

bool NamePattern::match(size_t part, std::string_view text, size_t at, Meant &meant) const {
  constexpr size_t mostDigits = 9; // beyond any number of blocks or tensors
  if (part == parts.size())
    return at == text.size();
  const std::string &pattern = parts[part].text;
  auto before = meant.find(pattern);
  if (!parts[part].stands || before != meant.end()) {
    const std::string_view exact = parts[part].stands ? before->second : pattern;
    return text.substr(at, exact.size()) == exact && match(part + 1, text, at + exact.size(), meant);
  }
  size_t least = pattern == "*" ? 0 : 1, size = pattern == "*" ? text.size() - at : 0;
  while (pattern != "*" && size < mostDigits && at + size < text.size() && std::isdigit(static_cast<unsigned char>(text[at + size])))
    ++size;
  for (size_t tried = size + 1; tried-- > least;) {
    meant[pattern] = text.substr(at, tried);
    if (match(part + 1, text, at + tried, meant))
      return true;
    meant.erase(pattern);
  }
  return false;
}

std::optional<std::string> NamePattern::rewrite(const std::string &text, const NamePattern &target) const {
  Meant meant;
  if (!match(0, text, 0, meant))
    return std::nullopt;
  std::string result;
  for (const Part &part : target.parts) {
    auto found = part.stands ? meant.find(part.text) : meant.end();
    result += found == meant.end() ? std::string_view(part.text) : found->second;
  }
  return result;
}

const CheckpointRule *findRule(const Program &program, CheckpointRuleKind kind, const std::string &name) {
  for (const CheckpointRule *rule : *program.checkpoint()) {
    const std::string pattern = (kind == CheckpointRuleKind::Fresh ? rule->model() : rule->file())->str();
    bool ofFile = kind == CheckpointRuleKind::Rename || kind == CheckpointRuleKind::Ignore;
    if (rule->kind() == kind && (ofFile ? NamePattern(pattern).matches(name) : matchedPart(pattern, name).has_value()))
      return rule;
  }
  return nullptr;
}

/// The name that the first Rename makes of a tensor's, among those to an axis or among the others.
static std::optional<std::string> renamed(const Program &program, const std::string &tensor, bool toAxis) {
  for (const CheckpointRule *rule : *program.checkpoint()) {
    if (rule->kind() != CheckpointRuleKind::Rename)
      continue;
    const NamePattern file(rule->file()->str()), own(rule->model()->str());
    if (std::optional<std::string> name = file.hasAll(own) == toAxis ? std::nullopt : file.rewrite(tensor, own))
      return name;
  }
  return std::nullopt;
}

std::string parameterOf(const Program &program, const std::string &tensor) { return renamed(program, tensor, false).value_or(tensor); }

std::optional<std::string> copiedParameterOf(const Program &program, const std::string &tensor) { return renamed(program, tensor, true); }

std::string tensorOf(const Program &program, const std::string &parameter) {
  for (const CheckpointRule *rule : *program.checkpoint()) {
    if (rule->kind() != CheckpointRuleKind::Rename)
      continue;
    const NamePattern file(rule->file()->str()), own(rule->model()->str());
    if (!own.hasAll(file) || !file.hasAll(own)) // many names lead to one parameter, or one tensor to all indices
      continue;
    std::optional<std::string> name = own.rewrite(parameter, file);
    if (name && parameterOf(program, *name) == parameter && !findRule(program, CheckpointRuleKind::Ignore, *name))
      return *name;
  }
  return parameter;
}

std::string wrongCheckpointRule(const Program &program) {
  auto isParameter = [&](const std::string &pattern) {
    return std::any_of(program.variables()->begin(), program.variables()->end(), [&](const Variable *variable) {
      return variable->kind() == VariableKind::Parameter && matchedPart(pattern, variable->name()->str());
    });
  };
  auto isAxis = [&](const std::vector<std::string> &wildcards) {
    return wildcards.size() == 1 && std::any_of(program.variables()->begin(), program.variables()->end(), [&](const Variable *variable) {
             return indexedTensor(*variable) && variable->name()->str().find(wildcards[0]) != std::string::npos;
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
    const NamePattern pattern(file);
    bool rename = rule->kind() == CheckpointRuleKind::Rename;
    const std::vector<std::string> missing = pattern.missing(NamePattern(model));
    if ((rename && !missing.empty() && !isAxis(missing)) || (!fresh && !same && pattern.count() > NamePattern::most))
      return "the checkpoint rule of '" + file + "' and '" + model + "' has a number that stands for nothing, or too many";
    if ((fresh || same) && !isParameter(model))
      return "a checkpoint rule is for parameter '" + model + "', which does not exist";
    if (same && std::any_of(program.variables()->begin(), program.variables()->end(),
                            [&](const Variable *variable) { return variable->name()->str() == model && indexedTensor(*variable); }))
      return "a checkpoint rule compares '" + file + "' with parameter '" + model + "', which is several tensors";
  }
  return "";
}

} // namespace npar::program
