// Applies a program's checkpoint rules: name patterns, and the mapping between the tensors of weight files and the model's parameters.
#pragma once

#include "engine/program/Program_generated.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::program {

/// The name pattern of a Rename or an Ignore rule. '*' matches any text; braces ("{i}") match a number, the same number at every
/// occurrence. A Rename whose `model` has an axis in braces that `file` lacks, "mlp.up" to "experts.{expert}.up", reads a tensor as each
/// index of a parameter.
class NamePattern {
public:
  explicit NamePattern(const std::string &text);
  bool matches(const std::string &text) const { return rewrite(text, NamePattern("")).has_value(); }
  /// `target` with its wildcards replaced by what they matched in `text`; nothing if this pattern does not match the whole text. A wildcard
  /// that only `target` has stays as it is.
  std::optional<std::string> rewrite(const std::string &text, const NamePattern &target) const;
  /// True if every wildcard of the other pattern also occurs in this one.
  bool hasAll(const NamePattern &other) const { return missing(other).empty(); }
  /// The wildcards of the other pattern that do not occur in this one.
  std::vector<std::string> missing(const NamePattern &other) const;
  /// Number of wildcard parts. A rule has at most `most`, which bounds the ways to match.
  size_t count() const;
  static constexpr size_t most = 4;

private:
  struct Part {
    std::string text;
    bool stands = false; ///< true for a wildcard: "*", "{i}"
  };
  using Meant = std::map<std::string, std::string_view>; ///< parts of the text that is matched
  bool match(size_t part, std::string_view text, size_t at, Meant &meant) const;
  std::vector<Part> parts;
};

/// The text that the '*' of a pattern matches in `text`, empty for a pattern without one; nothing if the pattern does not match the whole
/// text.
std::optional<std::string> matchedPart(const std::string &pattern, const std::string &text);

/// The parameter that a tensor of a file belongs to, by the first Rename that matches; the tensor's own name if none does.
std::string parameterOf(const Program &program, const std::string &tensor);

/// The parameter whose indices are all copies of a tensor of a file, by the first Rename to an axis that matches.
std::optional<std::string> copiedParameterOf(const Program &program, const std::string &tensor);

/// The name of a parameter in files of the family, by the first Rename that leads to the parameter and maps the name back to it; the
/// parameter's own name if none does.
std::string tensorOf(const Program &program, const std::string &parameter);

/// The first rule of a kind whose pattern (`file`, of Fresh `model`) matches; null when none does.
const CheckpointRule *findRule(const Program &program, CheckpointRuleKind kind, const std::string &name);

/// Empty, or what is wrong with a rule: an unknown kind, a second '*', a parameter that the program does not have.
std::string wrongCheckpointRule(const Program &program);

} // namespace npar::program
