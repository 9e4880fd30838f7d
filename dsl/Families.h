// Configuration files of other programs (Hugging Face's config.json) beside the families that .npar texts declare: which settings of a
// model a file asks for, and which file a model with its settings would have.
#pragma once

#include "dsl/Frontend.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace npar::dsl {

/// Null, or a plain value of JSON.
using ConfigValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

/// One entry of a configuration file. Those of objects inside have the object's key before their own: "rope_parameters.rope_theta".
struct ConfigEntry {
  /// Family: for a family's lines to read. General: in files of any family, says nothing of what is computed unless a line speaks of it.
  /// Absent: what no model is unless a line speaks of it; `text` is then what the file says of it.
  enum class Scope { Family, General, Absent };
  std::string key;
  ConfigValue value;
  std::string text;  ///< as messages show it
  bool plain = true; ///< else a list, or an empty object, which equals no value
  Scope scope = Scope::Family;
};

/// A configuration as its family's text reads it.
struct FamilyCall {
  std::string model;                                         ///< the name of the model that the family is for
  std::vector<std::pair<std::string, std::string>> settings; ///< constant and value, as `--set` takes them
  std::vector<std::string> skipped;                          ///< keys that say nothing of what is computed
  std::vector<std::string> wrong;                            ///< what npar lacks or would compute differently, by key and value
};

/// The configuration that a model's settings make.
struct FamilyConfig {
  std::string family, architecture; ///< the latter empty where the family names no class
  std::vector<ConfigEntry> entries; ///< in the order of the family's lines
};

/// Names of the families that the text, or what it imports, declares. Errors are in `diagnostics`.
std::vector<std::string> familiesOf(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics);

/// Reads a configuration by the family of that name, which `familiesOf` has. `architectures`: the file's classes; none is any. Returns
/// nothing when the text has an error.
std::optional<FamilyCall> callOf(const FrontendOptions &options, const std::string &family, const std::vector<std::string> &architectures,
                                 const std::vector<ConfigEntry> &config, Sources &sources, Diagnostics &diagnostics);

/// The configuration of model `model`, with the settings of `options`, by the first family that is for it and has a class of
/// these settings; nothing, without an error, where there is no such family.
std::optional<FamilyConfig> configOf(const FrontendOptions &options, const std::string &model, Sources &sources, Diagnostics &diagnostics);

} // namespace npar::dsl
