// The names in files with weights, as a program's checkpoint rules say them: patterns, and what a tensor of a file is to the model.
#pragma once

#include "engine/program/Program_generated.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::program {

/// A name of a Rename or an Ignore rule: a '*' stands for any text, what is in braces, "{i}", for a number, the same wherever it stands.
class NamePattern {
public:
  explicit NamePattern(const std::string &text);
  bool matches(const std::string &text) const { return rewrite(text, NamePattern("")).has_value(); }
  /// `target` with what this one's stand for in `text`; nothing where it does not match all of it.
  std::optional<std::string> rewrite(const std::string &text, const NamePattern &target) const;
  /// Whether all that stands for something in the other pattern stands in this one too.
  bool hasAll(const NamePattern &other) const;
  /// Of its parts, how many stand for something; a rule has at most `most`, which bounds the ways to match.
  size_t count() const;
  static constexpr size_t most = 4;

private:
  struct Part {
    std::string text;
    bool stands = false; ///< for something: "*", "{i}"
  };
  using Meant = std::map<std::string, std::string_view>; ///< parts of the text that is matched
  bool match(size_t part, std::string_view text, size_t at, Meant &meant) const;
  std::vector<Part> parts;
};

/// What the '*' of a pattern stands for in `text`, empty for a pattern without one; nothing where the pattern does not match all of it.
std::optional<std::string> matchedPart(const std::string &pattern, const std::string &text);

/// The parameter that a tensor of a file belongs to by the first Rename that matches; its own name where none does.
std::string parameterOf(const Program &program, const std::string &tensor);

/// What files of the family call a parameter: by the first Rename that leads to it and whose name means it again; its own name where none
/// does.
std::string tensorOf(const Program &program, const std::string &parameter);

/// The first rule of a kind whose pattern (`file`, of Fresh `model`) matches; null when none does.
const CheckpointRule *findRule(const Program &program, CheckpointRuleKind kind, const std::string &name);

/// Empty, or what is wrong with a rule: an unknown kind, a second '*', a parameter that the program does not have.
std::string wrongCheckpointRule(const Program &program);

} // namespace npar::program
