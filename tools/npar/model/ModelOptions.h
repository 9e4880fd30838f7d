// The flags that name a model, its plan, its train block and settings: common to every subcommand.
#pragma once

#include "dsl/Frontend.h"
#include "engine/program/Enums_generated.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

struct ModelOptions {
  std::string model; ///< as given: a path, or the name of a model of the standard library
  std::optional<std::string> plan, train, config;
  std::vector<std::string> settings;  ///< `key=value`
  std::optional<std::string> machine; ///< the text of the machine that times are planned for; nothing: the reference machine
  std::optional<std::string> place; ///< on an uneven machine, in place of what the plan says: times are planned for the hosts of each stage
  program::ProgramKind kind = program::ProgramKind::Training; ///< what the program is compiled for
  bool damped = false;                                        ///< optimizers as in FrontendOptions::damped
  bool outputsAlone = false;                                  ///< for Evaluation: of a text its outputs, neither losses nor metrics
  std::vector<std::string> targets;                           ///< devices that a text is compiled for besides this processor, "cuda:sm_90"
  std::string importFolder; ///< searched before the standard library, besides the text's own folder; may be empty

  void addTo(CLI::App &app);
  /// The flag --for as well, for commands that show programs of any kind.
  void addKindTo(CLI::App &app);

  /// The model is a compiled program (.npx), so plan and settings cannot change it any more.
  bool isCompiled() const;
  /// A plan, train block, configuration, machine or setting was given.
  bool hasTextFlags() const { return plan || train || config || machine || !settings.empty(); }
  /// For compiled programs: an error when a flag is given that only a text can follow.
  ExitCode refuseTextFlags() const;
  /// The file that `model` names: a path, or a model of the standard library; as given when there is none.
  std::string file() const;
  /// Finds the text and splits the settings.
  Outcome<dsl::FrontendOptions> frontend() const;
};

/// The folder that a file is in, "." for one that is named without a folder: what a text written elsewhere has for its `importFolder`.
std::string folderOf(const std::string &file);

/// Refuses a path that `import "..."` cannot hold: a text has no escapes, and is UTF-8 without control characters.
ExitCode checkImportable(const std::string &path);

/// `key=value` taken apart; nothing when it is not of that form.
std::optional<std::pair<std::string, std::string>> settingOf(const std::string &text);

/// Takes the settings of `key` out; the value of the last one, which is the one that holds.
std::optional<std::string> takeSetting(std::vector<std::string> &settings, const std::string &key);

/// Names of the standard library's models, ascending.
std::vector<std::string> libraryModels();

/// The folder of the standard library: $NPAR_STDLIB, else the one beside the sources this driver was built from.
std::string standardLibrary();

} // namespace npar::driver
