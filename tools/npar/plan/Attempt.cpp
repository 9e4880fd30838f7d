// Tries each plan in a process of its own and reads its prediction, or its first message, back.
#include "tools/npar/plan/Attempt.h"

#include "dsl/machine/Hosts.h"
#include "engine/program/Ranks.h"
#include "tools/lib/annotate/RepeatedBlocks.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/plan/Children.h"
#include "tools/npar/plan/Lanes.h"
#include "tools/npar/simulate/HostRooms.h"
#include "tools/npar/simulate/Prediction.h"
#include "tools/npar/terminal/Talk.h"

#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

/// The blocks of each stage, and the kinds of hosts that it stands on.
nlohmann::ordered_json stagesJson(const std::vector<size_t> &blocks, const Prediction &prediction) {
  nlohmann::ordered_json stages;
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    stages.push_back({{"blocks", blocks[stage]}, {"kinds", nlohmann::ordered_json::array()}});
    for (const KindShare &kind : prediction.kinds)
      if (kind.stages.count(static_cast<uint32_t>(stage)))
        stages.back()["kinds"].push_back(kind.name);
  }
  return stages;
}

/// Prints the prediction of a plan as JSON, or what refuses it.
ExitCode tryPlan(const ModelOptions &model, const AttemptOptions &options) {
  Outcome<ElaboratedModel> text = elaborateModel(model);
  if (!text.ok())
    return text.code();
  int64_t ranks = 1;
  for (const dsl::MeshAxis &axis : text->program.plan.mesh)
    ranks *= axis.size;
  if (int64_t needed = dsl::hostsFor(options.machine, ranks);
      options.hosts != 0 && needed != options.hosts) // before it takes time to compile
    return fail(ExitCode::BadInput, fmt::format("takes {} host{}", needed, needed == 1 ? "" : "s"));
  if (options.hosts != 0 && ranks != dsl::placesOf(options.machine, options.hosts))
    return fail(ExitCode::BadInput, fmt::format("{} ranks leave places on the last host empty", ranks));
  Outcome<ProgramPointer> compiled = reported(text->compilation->compile(text->program, /*withoutKernels=*/true));
  if (!compiled.ok())
    return compiled.code();
  const program::Program &program = (*compiled)->root();
  Outcome<std::vector<program::HostRoom>> rooms = roomsFor(options.machine, ranks, options.hosts);
  if (!rooms.ok())
    return rooms.code();
  engine::Result<std::vector<std::vector<int64_t>>> places = placeOnHosts(program, program::placeOf(program), *rooms);
  if (!places.ok())
    return fail(places.status());
  engine::Result<Prediction> prediction = predict(program, options.machine, *places);
  if (!prediction.ok())
    return fail(prediction.status());
  nlohmann::ordered_json json = predictionJson(program, *prediction);
  json["fullest_bytes"] = prediction->fullest;
  if (dsl::isUneven(options.machine))
    json["stages"] = stagesJson(annotate::blocksOfStages(program, text->program.model.repeats), *prediction);
  if (options.lanes)
    json["lanes"] = lanesOf(program, prediction->simulation);
  std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return ExitCode::Good;
}

std::optional<double> numberIn(const nlohmann::json &json, const char *key) {
  return json.contains(key) && json[key].is_number() ? std::optional(json[key].get<double>()) : std::nullopt;
}

StepFigures figuresIn(const nlohmann::json &json) {
  StepFigures figures;
  figures.ranks = json["ranks"], figures.hosts = json["hosts"];
  figures.seconds = json["seconds_per_step"], figures.memory = json["memory_bytes"], figures.fullest = json["fullest_bytes"];
  if (json.contains("stages"))
    for (const nlohmann::json &stage : json["stages"])
      figures.stages.push_back({stage["blocks"].get<size_t>(), stage["kinds"].get<std::vector<std::string>>()});
  if (json.contains("lanes"))
    figures.lanes = json["lanes"].get<std::vector<std::string>>();
  figures.mfu = numberIn(json, "mfu"), figures.hfu = numberIn(json, "hfu"), figures.dollars = numberIn(json, "dollars_per_step");
  if (std::optional<double> room = numberIn(json, "device_bytes"))
    figures.room = *room - json["fragmentation_bytes"].get<double>();
  if (json["fits"].is_boolean())
    figures.fits = json["fits"].get<bool>();
  figures.bubble = json["bubble"], figures.exposed = json["exposed_communication"];
  figures.flops = json["model_flops"];
  return figures;
}

/// The first error's words; whether it stands at the key of a setting: then nothing knows that key.
std::string firstMessage(const std::string &errors, bool &atKey) {
  size_t begin = errors.find("error: ");
  if (begin == std::string::npos)
    return "";
  size_t line = errors.rfind('\n', begin);
  line = line == std::string::npos ? 0 : line + 1;
  atKey = errors.compare(line, 10, "--set:1:1:") == 0;
  return errors.substr(begin + 7, errors.find('\n', begin) - begin - 7);
}

Attempt attemptOf(const ChildResult &child) {
  Attempt attempt;
  if (!child.crash.empty()) {
    attempt.reason = "crashed: " + child.crash;
    return attempt;
  }
  if (child.code == ExitCode::Good) {
    nlohmann::json json = nlohmann::json::parse(child.output, nullptr, /*allow_exceptions=*/false);
    if (json.is_object())
      attempt.figures = figuresIn(json);
    else
      attempt.reason = "there is no place for what it says: is the disk of temporary files full?";
    return attempt;
  }
  bool atKey = false;
  attempt.reason = firstMessage(child.errors, atKey);
  attempt.isUsage = child.code == ExitCode::Usage || atKey;
  if (attempt.reason.empty())
    attempt.reason = fmt::format("exit code {} without a message", static_cast<int>(child.code));
  return attempt;
}

} // namespace

ExitCode tryPlans(const std::vector<ModelOptions> &plans, const AttemptOptions &options,
                  const std::function<bool(size_t, const Attempt &)> &done) {
  return inChildren(
      plans.size(), options.jobs, [&](size_t index) { return tryPlan(plans[index], options); },
      [&](size_t index, const ChildResult &result) { return done(index, attemptOf(result)); });
}

} // namespace npar::driver
