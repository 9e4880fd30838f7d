// From --from FILE to a model with a plan that the compiler takes, with what was understood of the file.
#pragma once

#include "tools/npar/foreign/ForeignRun.h"
#include "tools/npar/model/ModelOptions.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace npar::driver {

struct ForeignFlags {
  std::string from;                       ///< empty: the command is of a model of npar's
  std::optional<std::string> modelConfig; ///< config.json, or a folder that has it
  std::optional<ForeignFormat> format;
  int64_t world = 0; ///< 0: as the file says it
  bool printPlan = false;

  void addTo(CLI::App &app);
  /// Usage errors: which flags go together.
  ExitCode check(const ModelOptions &model) const;
};

class TemporaryText;

struct ForeignModel {
  ForeignRun run;
  std::string import;                  ///< its model: one of the standard library
  std::string text;                    ///< of the plan
  ModelOptions options;                ///< that lead to it
  std::shared_ptr<TemporaryText> file; ///< where `options` find it, as long as this lives
};

/// What is said beside the file in place of its own.
struct RunChanges {
  int64_t batch = 0;   ///< 0: the file's
  std::string compute; ///< empty: the file's
};

/// `devices`: how many --hosts have; 0: not given. `given` has settings and the machine.
Outcome<ForeignModel> modelOfRun(const ForeignFlags &flags, const ModelOptions &given, int64_t devices, const RunChanges &changes = {});

/// What was understood, what was assumed, what was not taken. `compiled`: the plan is, so its order was checked.
std::string foreignText(const ForeignFlags &flags, const ForeignModel &model, bool compiled = true);
nlohmann::ordered_json foreignJson(const ForeignFlags &flags, const ForeignModel &model);

} // namespace npar::driver
