// Maps configuration files of other programs (Hugging Face's config.json) to models and back, by the families that .npar texts declare:
// finds the settings of a model that a file asks for, and the file that describes a model with its settings.
#pragma once

#include "dsl/Frontend.h"

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace npar::dsl {

/// Null, a plain value of JSON, or a list of numbers or texts.
using ConfigValue = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

/// One entry of a configuration file. The key of an entry in a nested object starts with the object's key: "rope_parameters.rope_theta".
struct ConfigEntry {
  /// Family: an entry that a line of the family must cover, unless it is null, false or empty. General: an entry found in files of any
  /// family, which does not affect the computation unless a line covers it. Absent: a feature that no model has unless a line covers it;
  /// `text` is then its description in the file.
  enum class Scope { Family, General, Absent };
  std::string key;
  ConfigValue value;
  std::string text;  ///< as messages show it
  bool plain = true; ///< else an empty object, or a list of several kinds of values, which equals no value
  Scope scope = Scope::Family;
  // These describe a configuration to write.
  std::vector<std::string> otherKeys = {};   ///< further names of the key
  std::vector<ConfigValue> otherValues = {}; ///< values that mean the same, which a file keeps
  bool optional = false;                     ///< a file without the key means the same

  /// Null, false, and what has no entries: the feature of this name is not used.
  bool isOff() const {
    const bool *truth = std::get_if<bool>(&value);
    return text == "null" || text == "{}" || text == "[]" || (truth && !*truth);
  }
};

/// A configuration as its family's text reads it.
struct FamilyCall {
  std::string model;                                         ///< the name of the model that the family is for
  std::vector<std::pair<std::string, std::string>> settings; ///< constant and value, as `--set` takes them
  std::map<std::string, std::string> constants;              ///< by the first key of their line
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
/// nothing if the text has an error.
std::optional<FamilyCall> callOf(const FrontendOptions &options, const std::string &family, const std::vector<std::string> &architectures,
                                 const std::vector<ConfigEntry> &config, Sources &sources, Diagnostics &diagnostics);

/// The configuration of model `model`, with the settings of `options`, by the first family that is for the model and has a class with these
/// settings. Returns nothing, without an error, if no family fits.
std::optional<FamilyConfig> configOf(const FrontendOptions &options, const std::string &model, Sources &sources, Diagnostics &diagnostics);

/// Classes of the family of that name, which `familiesOf` has, in the order of its lines.
std::vector<std::string> classesOf(const FrontendOptions &options, const std::string &family, Sources &sources, Diagnostics &diagnostics);

/// Configurations that the text, or what it imports, declares: their names, each with the name of its model.
std::vector<std::pair<std::string, std::string>> configurationsOf(const FrontendOptions &options, Sources &sources,
                                                                  Diagnostics &diagnostics);

} // namespace npar::dsl
