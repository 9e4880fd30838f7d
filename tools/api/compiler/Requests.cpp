#include "tools/api/compiler/Requests.h"
#include "tools/api/Texts.h"

#include "dsl/SourceProvider.h"
#include "tools/lib/foreign/ImportConfig.h"
#include "tools/lib/models/DeviceTargets.h"
#include "tools/lib/planner/machine/MachineFile.h"

#include <map>

namespace npar::api {

using engine::Result;
using engine::Status;

void RequestObserver::tell(npar_event_kind kind, const std::string &text) {
  npar_event event = {sizeof event, kind, strOf(text), 0, 0, nullptr, nullptr};
  tell(event);
}

void RequestObserver::tell(const npar_event &event) { stopped = (host.call && host.call(host.user, &event) != 0) || stopped; }

/// The model of a folder, as `npar train FOLDER` finds it.
static Status followFolder(const std::string &path, models::ModelOptions &options, engine::Observer &observer) {
  TRY(models::FolderModel folder, foreign::modelOfFolder(path, observer));
  folder.select(options);
  return {};
}

Result<models::ModelOptions> modelOf(const npar_request &request, engine::Observer &observer) {
  models::ModelOptions options;
  options.kind = request.kind == NPAR_EVALUATION   ? program::ProgramKind::Evaluation
                 : request.kind == NPAR_GENERATION ? program::ProgramKind::Generation
                                                   : program::ProgramKind::Training;
  auto given = [](npar_str value) { return value.len ? std::optional(textOf(value)) : std::nullopt; };
  options.plan = given(request.plan), options.train = given(request.train), options.config = given(request.config);
  for (size_t i = 0; i < request.setting_count; ++i)
    options.settings.push_back(textOf(request.settings[i].key) + "=" + textOf(request.settings[i].value));
  for (size_t i = 0; i < request.target_count; ++i)
    options.targets.push_back(textOf(request.targets[i]));
  TRY_STATUS(models::checkTargets(options.targets));
  std::map<std::string, std::string> texts;
  options.model = textOf(request.file);
  if (request.text.ptr) {
    options.model = request.name.len ? textOf(request.name) : "<text>";
    texts[options.model] = textOf(request.text);
  }
  if (std::string machine = textOf(request.machine); machine.find('{') != std::string::npos) {
    options.machine = "<machine>";
    texts["<machine>"] = std::move(machine);
  } else if (!machine.empty()) {
    TRY(options.machine, planner::machineFile(machine, observer));
  }
  std::vector<dsl::TextsPointer> layers = {std::make_shared<const dsl::MemoryTexts>(std::move(texts))};
  if (request.import)
    layers.push_back(std::make_shared<const dsl::HostTexts>([import = request.import, user = request.import_user](const std::string &name) {
      npar_str found = {};
      return import(user, strOf(name), &found) ? std::optional(textOf(found)) : std::nullopt;
    }));
  layers.push_back(dsl::installedTexts());
  options.texts = std::make_shared<const dsl::LayeredTexts>(std::move(layers));
  if (request.folder.len > 0)
    TRY_STATUS(followFolder(textOf(request.folder), options, observer));
  return options;
}

} // namespace npar::api
