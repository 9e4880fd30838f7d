// `--set key=value`: overrides of constants, located in a pseudo file that holds their text.
#pragma once

#include "dsl/constants/Evaluate.h"

namespace npar::dsl {

struct Setting {
  std::string key;
  Location keyLocation;
  ast::ExpressionPtr value;
  bool used = false;
};

class Settings {
public:
  /// Parses all of them; reports what is no expression.
  Settings(const std::vector<std::pair<std::string, std::string>> &pairs, Sources &sources, Diagnostics &diagnostics);

  /// The last setting of `key`, null when there is none. Remembers `key` as one that exists.
  const Setting *find(const std::string &key);
  /// Whether the key is set. The look-up is not remembered.
  bool has(const std::string &key) const;
  /// Remembers a key that exists but has no effect here; whether it was set, and nothing else has asked for it.
  bool accept(const std::string &key);
  /// Reports settings with a key that no code has looked up.
  void reportUnknown(Reporter &reporter) const;

private:
  std::vector<Setting> list;
  std::vector<std::string> known;
};

/// The settings of train blocks and plans that are one word: no constant can have their names.
const std::vector<std::string> &settingNames();

/// The value of a setting: an expression over `scope`, a bare unknown word is a text (`schedule=gpipe`).
Value evaluateSetting(Evaluator &evaluator, const Setting &setting, Scope &scope);

/// Binds the constants of a declaration, in order: from its setting, else from `config` (may be null), else from its default. `what` names
/// the declaration in messages.
void bindConstants(Evaluator &evaluator, const std::vector<ast::Item> &parameters, Settings &settings, Scope &scope,
                   const std::string &what, const ast::Config *config = nullptr);

} // namespace npar::dsl
