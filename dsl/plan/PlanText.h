// The context for reading a clause of a plan: the plan's constants, the settings that override its text, and the reporter of errors.
#pragma once

#include "dsl/constants/Settings.h"

namespace npar::dsl {

struct PlanText {
  Evaluator &evaluator;
  Settings &settings;
  Reporter &reporter;
  Scope scope = Scope(); ///< holds the plan's constants

  /// A word of the text, or the text that a constant of this name holds; empty for what is no word.
  std::string word(const ast::Expression &expression);
  /// A number with a unit, such as `24 GiB`, in bytes. Throws Stop after reporting.
  int64_t bytes(const ast::Quantity &quantity);
  /// The same of a setting, such as `bucket=24MiB`; 0 for `none`. Throws Stop after reporting.
  int64_t bytes(const Setting &setting);
};

} // namespace npar::dsl
