// Checks the plans of each model and prints them with their outcome.
#include "tools/npar/trials/VerifyAll.h"

#include "engine/files/AtomicFile.h"
#include "engine/readable/TableRow.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

namespace npar::driver {

using readable::TableRow;

namespace {

using Json = nlohmann::ordered_json;

struct ModelReport {
  SmallModel model;
  std::vector<PlanDraft> drafts;
  std::vector<PlanResult> results;

  size_t count(Verdict verdict) const {
    return static_cast<size_t>(
        std::count_if(results.begin(), results.end(), [&](const PlanResult &result) { return result.verdict == verdict; }));
  }
};

/// The flags that make the same plans again.
std::string drawing(const MatrixFlags &flags) {
  if (flags.combine.empty())
    return fmt::format("--seed {} --plans {}", flags.seed, flags.plans);
  std::string text;
  for (const std::string &list : flags.combine)
    text += (text.empty() ? "--combine " : " --combine ") + shellQuoted(list);
  return text;
}

/// What is among the plans: `1 without features, 19 with one feature alone, 20 drawn at random`.
std::string kindsOf(const std::vector<PlanDraft> &drafts) {
  std::string text;
  for (auto [prefix, words] : {std::pair("plain", "without features"), std::pair("only_", "with one feature alone"),
                               std::pair("random_", "drawn at random"), std::pair("combined_", "as asked for")})
    if (size_t count =
            std::count_if(drafts.begin(), drafts.end(), [&](const PlanDraft &draft) { return draft.name.rfind(prefix, 0) == 0; }))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, words);
  return text;
}

Outcome<std::vector<PlanDraft>> draftsOf(const SmallModel &model, const MatrixFlags &flags) {
  if (flags.combine.empty())
    return draftMatrix(model, flags.plans, flags.seed);
  std::vector<PlanDraft> drafts;
  for (const std::string &list : flags.combine) {
    Outcome<PlanDraft> draft = draftNamed(model, list, "combined_" + std::to_string(drafts.size()));
    if (!draft.ok())
      return draft.code();
    drafts.push_back(std::move(*draft));
  }
  return drafts;
}

void printResult(const ModelReport &report, size_t index, const MatrixFlags &flags) {
  const PlanDraft &draft = report.drafts[index];
  const PlanResult &result = report.results[index];
  std::string error = result.error ? fmt::format("{:.1e}", *result.error) : "", mesh;
  for (const auto &[axis, size] : draft.mesh)
    mesh += fmt::format("{}{} = {}", mesh.empty() ? "" : ", ", axis, size);
  std::cout << TableRow(2)
                   .left(result.verdict == Verdict::Failed ? "FAILED" : nameOf(result.verdict), 8)
                   .left(draft.name, 18)
                   .right(error, 8)
                   .text(fmt::format("  {:>3} rank{}  {}{}", draft.world, draft.world == 1 ? " " : "s", fmt::join(draft.features, " "),
                                     mesh.empty() ? "" : " (" + mesh + ")"))
                   .str();
  if (result.verdict != Verdict::Ok)
    std::cout << fmt::format("          {}{}\n", result.at.empty() ? "" : "'" + result.at + "': ", result.reason);
  if (result.verdict == Verdict::Failed)
    std::cout << "          again: " << reproduction(report.model, draft, drawing(flags), flags.seed) << '\n';
  std::cout.flush();
}

void printSummary(const ModelReport &report) {
  double largest = 0;
  std::map<std::string, std::pair<size_t, std::string>> reasons;
  for (size_t i = 0; i < report.results.size(); ++i) {
    const PlanResult &result = report.results[i];
    if (result.verdict == Verdict::Ok)
      largest = std::max(largest, result.error.value_or(0));
    if (result.verdict != Verdict::Refused)
      continue;
    auto &[times, example] = reasons[reasonKind(result.reason)];
    if (times++ == 0)
      example = report.drafts[i].name;
  }
  std::cout << fmt::format("{}: {} plans, {} ok (largest error {:.1e}), {} refused, {} failed\n", report.model.name, report.results.size(),
                           report.count(Verdict::Ok), largest, report.count(Verdict::Refused), report.count(Verdict::Failed));
  for (const auto &[reason, found] : reasons)
    std::cout << fmt::format("  refused {} time{} (such as '{}'): {}\n", found.first, found.first == 1 ? "" : "s", found.second, reason);
}

Json planJson(const ModelReport &report, size_t index, const MatrixFlags &flags) {
  const PlanDraft &draft = report.drafts[index];
  const PlanResult &result = report.results[index];
  Json mesh = Json::object(), settings = Json::object(), json;
  for (const auto &[axis, size] : draft.mesh)
    mesh[axis] = size;
  for (const auto &[key, value] : draft.settings)
    settings[key] = value;
  json["name"] = draft.name;
  json["features"] = draft.features;
  json["mesh"] = mesh;
  json["world"] = draft.world;
  json["settings"] = settings;
  json["verdict"] = nameOf(result.verdict);
  json["max_relative_error"] = result.error && result.verdict == Verdict::Ok ? Json(*result.error) : Json();
  json["reason"] = result.reason;
  json["rule"] = result.at;
  if (result.verdict == Verdict::Failed)
    json["output"] = result.output, json["again"] = reproduction(report.model, draft, drawing(flags), flags.seed);
  return json;
}

Json reportJson(const std::vector<ModelReport> &reports, const MatrixFlags &flags, bool good) {
  Json json, models = Json::array();
  for (const ModelReport &report : reports) {
    Json plans = Json::array();
    for (size_t i = 0; i < report.results.size(); ++i)
      plans.push_back(planJson(report, i, flags));
    models.push_back(Json{{"model", report.model.name},
                          {"ok", report.count(Verdict::Ok)},
                          {"refused", report.count(Verdict::Refused)},
                          {"failed", report.count(Verdict::Failed)},
                          {"plans", plans}});
  }
  json["ok"] = good;
  json["seed"] = flags.seed;
  json["models"] = models;
  return json;
}

/// The text of one plan on standard output, and how to check it.
ExitCode printPlan(const std::vector<ModelReport> &reports, const MatrixFlags &flags, const std::vector<std::string> &texts) {
  for (size_t i = 0; i < reports.size(); ++i)
    for (const PlanDraft &draft : reports[i].drafts)
      if (draft.name == flags.printPlan) {
        uint32_t line = 0;
        std::cout << wholeText(texts[i], draft, line);
        return ExitCode::Good;
      }
  return fail(ExitCode::Usage, "no plan '" + flags.printPlan + "' is among those of " + drawing(flags));
}

} // namespace

ExitCode verifyAll(MatrixFlags flags) {
  std::vector<ModelReport> reports;
  std::vector<std::string> texts;
  for (const ModelOptions &options : flags.models) {
    if (options.isCompiled())
      return fail(ExitCode::Usage, "'" + options.model + "' is a compiled program: --all needs the model file (.npar)");
    Outcome<SmallModel> model = smallModel(options);
    if (!model.ok())
      return model.code();
    Outcome<std::vector<PlanDraft>> drafts = draftsOf(*model, flags);
    if (!drafts.ok())
      return drafts.code();
    engine::Result<std::vector<uint8_t>> text = program::readFile(model->file);
    if (!text.ok())
      return fail(text.status());
    texts.emplace_back(text->begin(), text->end());
    reports.push_back({std::move(*model), std::move(*drafts), {}});
  }
  if (!flags.printPlan.empty())
    return printPlan(reports, flags, texts);
  bool good = true;
  for (size_t i = 0; i < reports.size(); ++i) {
    ModelReport &report = reports[i];
    flags.check.modelText = texts[i];
    if (!flags.json)
      std::cout << fmt::format("{}, {} plan{} ({}), {}\n", report.model.name, report.drafts.size(), report.drafts.size() == 1 ? "" : "s",
                               kindsOf(report.drafts), drawing(flags))
                << std::flush;
    ExitCode checked = checkPlans(report.model, report.drafts, flags.check, [&](size_t index, const PlanResult &result) {
      report.results.push_back(result);
      if (!flags.json)
        printResult(report, index, flags);
    });
    if (checked != ExitCode::Good || report.results.size() < report.drafts.size()) // nobody reads on
      return checked;
    good &= report.count(Verdict::Failed) == 0;
    if (!flags.json)
      printSummary(report);
  }
  if (flags.json)
    std::cout << reportJson(reports, flags, good).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return good ? ExitCode::Good : ExitCode::CheckFailed;
}

} // namespace npar::driver
