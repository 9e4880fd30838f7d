// The model that a command works on, with its plan, train block and settings.
#pragma once

#include "dsl/Frontend.h"
#include "engine/checkpoint/OtherSettings.h"
#include "engine/program/Enums_generated.h"
#include "engine/status/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::models {

struct ModelOptions {
  std::string model; ///< a path, or the name of a model of the standard library
  std::optional<std::string> plan, train, config;
  std::vector<std::string> settings;                          ///< `key=value`
  std::optional<std::string> machine;                         ///< path or name of the machine to plan for; empty: the reference machine
  int64_t devices = 0;                                        ///< of each of its hosts; 0: all
  int64_t world = 0;                                          ///< FrontendOptions::world
  std::optional<std::string> place;                           ///< on an uneven machine: the order of hosts, overriding the plan
  program::ProgramKind kind = program::ProgramKind::Training; ///< command that the program is compiled for
  bool damped = false;                                        ///< FrontendOptions::damped
  bool outputsAlone = false;                                  ///< Evaluation computes the outputs only, neither losses nor metrics
  bool movesWork = true;                                      ///< CompileOptions::movesWork
  std::vector<std::string> targets;                           ///< further devices to compile for, such as "cuda:sm_90"
  dsl::TextsPointer texts = nullptr; ///< where texts come from; null: the disk and the standard library inside this program
  std::string importFolder;          ///< searched for imports after the text's own folder and before the standard library; may be empty

  /// The model is a compiled program (.npx), so plan and settings cannot change it any more.
  bool isCompiled() const;
  /// A plan, train block, configuration, machine or setting was given.
  bool hasTextFlags() const { return plan || train || config || machine || !settings.empty(); }
  /// The settings to compare with those of a checkpoint; nothing: a compiled program has none.
  std::optional<engine::GivenSettings> given() const;
  /// Usage, with the flag's name, if one of the fields that only a text can follow is set.
  engine::Status refuseTextFlags() const;
  /// The path of the file that `model` names; `model` itself if there is no such file.
  std::string file() const;
  /// Finds the text and splits the settings. BadInput: there is no such file; Usage: a setting is not KEY=VALUE.
  engine::Result<dsl::FrontendOptions> frontend() const;
};

/// The folder of a file, "." for a name without a folder.
std::string folderOf(const std::string &file);

/// BadInput for a path that `import "..."` cannot hold: texts have no escapes and are UTF-8 without control characters.
engine::Status checkImportable(const std::string &path);

/// Splits `key=value`; nothing if the text does not have that form.
std::optional<std::pair<std::string, std::string>> settingOf(const std::string &text);

/// Removes all settings of `key` and returns the value of the last one, which is the effective one.
std::optional<std::string> takeSetting(std::vector<std::string> &settings, const std::string &key);

/// Names of the texts in a folder of the standard library, such as "models", ascending.
std::vector<std::string> libraryTexts(const std::string &folder);

/// The path of a text of the standard library by its folder and name; nothing if the library lacks it.
std::optional<std::string> libraryText(const std::string &folder, const std::string &name);

/// The folder of the standard library: $NPAR_STDLIB, else share/npar/stdlib of the installation, else the sources of this build, which a
/// developer edits, else the copy inside this program (dsl/SourceProvider.h).
std::string standardLibrary();

} // namespace npar::models
