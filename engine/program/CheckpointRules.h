// The names in files with weights, as a program's checkpoint rules say them: patterns, and what a tensor of a file is to the model.
#pragma once

#include "engine/program/Program_generated.h"

#include <optional>
#include <string>

namespace npar::program {

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
