// Turns another program's settings file into a model and a plan for the compiler.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/foreign/ForeignRun.h"
#include "tools/lib/models/ModelOptions.h"

#include <memory>

namespace npar::foreign {

struct ForeignRequest {
  std::string from;                               ///< path of the file
  std::optional<std::string> modelConfig;         ///< config.json, or a folder that has it
  const ForeignProgram *program = nullptr;        ///< whose file it is; null: recognized by its content
  int64_t world = 0;                              ///< number of devices; 0: as in the file
  int64_t otherwise = 0;                          ///< number of devices if the file does not give it; 0: unknown
  std::map<std::string, std::string> environment; ///< values for variables that a shell script leaves open
};

class TemporaryText;

struct ForeignModel {
  ForeignRun run;
  std::string import;                  ///< name of its model in the standard library
  std::string text;                    ///< the plan's text
  models::ModelOptions options;        ///< refer to model and plan
  std::shared_ptr<TemporaryText> file; ///< holds the text that `options` name; removed with the last owner
};

/// Values that override the file's.
struct RunChanges {
  int64_t batch = 0;   ///< 0: the file's
  std::string compute; ///< empty: the file's
};

/// `devices`: number of devices on all hosts; 0: unknown. `given` contributes settings and the machine. `observer` gets warnings.
engine::Result<ForeignModel> modelOfRun(const ForeignRequest &request, const models::ModelOptions &given, int64_t devices,
                                        engine::Observer &observer, const RunChanges &changes = {});

/// Lists the settings that were understood, assumed or ignored. `compiled`: the plan was compiled, so its order is checked.
std::string foreignText(const ForeignRequest &request, const ForeignModel &model, bool compiled = true);
OrderedJson foreignJson(const ForeignRequest &request, const ForeignModel &model);

} // namespace npar::foreign
