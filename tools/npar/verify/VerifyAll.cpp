// Prints the plans of each model with their results.
#include "tools/npar/verify/VerifyAll.h"

#include "engine/json/Json.h"
#include "engine/readable/TableRow.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/verify/VerifyInJob.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <map>

namespace npar::driver {

using verify::ModelOutline;
using verify::ModelPlans;
using verify::PlanDraft;
using verify::PlanResult;
using verify::PlanSelection;

namespace {

/// The flags that make the same plans again.
std::string drawing(const PlanSelection &selection) {
  if (selection.combine.empty())
    return fmt::format("--seed {} --plans {}", selection.seed, selection.plans);
  std::string text;
  for (const std::string &list : selection.combine)
    text += (text.empty() ? "--combine " : " --combine ") + shellQuoted(list);
  return text;
}

/// Counts the kinds of plans: `1 without features, 19 with one feature alone, 20 drawn at random`.
std::string kindsOf(const std::vector<PlanDraft> &drafts) {
  std::string text;
  for (auto [prefix, words] : {std::pair("plain", "without features"), std::pair("only_", "with one feature alone"),
                               std::pair("random_", "drawn at random"), std::pair("combined_", "as asked for")})
    if (size_t count =
            std::count_if(drafts.begin(), drafts.end(), [&](const PlanDraft &draft) { return draft.name.rfind(prefix, 0) == 0; }))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, words);
  return text;
}

/// The command that repeats a result, to be run in the folder of the model's text if that imports its neighbours.
std::string reproduction(const ModelOutline &model, const PlanDraft &draft, const PlanSelection &selection) {
  std::string own, flags = modelFlags(model.options);
  for (const auto &[key, value] : draft.settings)
    own += " --set " + shellQuoted(key + "=" + value);
  return fmt::format("npar verify --all {}{} {} --print-plan {} > {}.npar && npar verify {}.npar --plan {}{}{}{}",
                     shellQuoted(model.options.model), flags, drawing(selection), draft.name, draft.name, draft.name, draft.name, own,
                     flags, selection.seed == 1 ? "" : fmt::format(" --seed {}", selection.seed));
}

void printResult(const ModelPlans &plans, size_t index, const PlanSelection &selection) {
  const PlanDraft &draft = plans.drafts[index];
  const PlanResult &result = plans.results[index];
  std::string error = result.error ? fmt::format("{:.1e}", *result.error) : "", mesh;
  for (const auto &[axis, size] : draft.mesh)
    mesh += fmt::format("{}{} = {}", mesh.empty() ? "" : ", ", axis, size);
  std::cout << readable::TableRow(2)
                   .left(result.verdict == verify::Verdict::Failed ? "FAILED" : verify::nameOf(result.verdict), 8)
                   .left(draft.name, 18)
                   .right(error, 8)
                   .text(fmt::format("  {:>3} rank{}  {}{}", draft.world, draft.world == 1 ? " " : "s", fmt::join(draft.features, " "),
                                     mesh.empty() ? "" : " (" + mesh + ")"))
                   .str();
  if (result.verdict != verify::Verdict::Ok)
    std::cout << fmt::format("          {}{}\n", result.at.empty() ? "" : "'" + result.at + "': ", result.reason);
  if (result.verdict == verify::Verdict::Failed)
    std::cout << "          again: " << reproduction(plans.model, draft, selection) << '\n';
  std::cout.flush();
}

void printSummary(const ModelPlans &plans) {
  double largest = 0;
  std::map<std::string, std::pair<size_t, std::string>> reasons;
  for (size_t i = 0; i < plans.results.size(); ++i) {
    const PlanResult &result = plans.results[i];
    if (result.verdict == verify::Verdict::Ok)
      largest = std::max(largest, result.error.value_or(0));
    if (result.verdict != verify::Verdict::Refused)
      continue;
    auto &[times, example] = reasons[verify::reasonKind(result.reason)];
    if (times++ == 0)
      example = plans.drafts[i].name;
  }
  std::cout << fmt::format("{}: {} plans, {} ok (largest error {:.1e}), {} refused, {} failed\n", plans.model.name, plans.results.size(),
                           plans.count(verify::Verdict::Ok), largest, plans.count(verify::Verdict::Refused),
                           plans.count(verify::Verdict::Failed));
  for (const auto &[reason, found] : reasons)
    std::cout << fmt::format("  refused {} time{} (such as '{}'): {}\n", found.first, found.first == 1 ? "" : "s", found.second, reason);
}

OrderedJson planJson(const ModelPlans &plans, size_t index, const PlanSelection &selection) {
  const PlanDraft &draft = plans.drafts[index];
  const PlanResult &result = plans.results[index];
  OrderedJson mesh = OrderedJson::object(), settings = OrderedJson::object(), json;
  for (const auto &[axis, size] : draft.mesh)
    mesh[axis] = size;
  for (const auto &[key, value] : draft.settings)
    settings[key] = value;
  json["name"] = draft.name;
  json["features"] = draft.features;
  json["mesh"] = mesh;
  json["world"] = draft.world;
  json["settings"] = settings;
  json["verdict"] = verify::nameOf(result.verdict);
  json["max_relative_error"] = result.error && result.verdict == verify::Verdict::Ok ? OrderedJson(*result.error) : OrderedJson();
  json["reason"] = result.reason;
  json["rule"] = result.at;
  if (result.verdict == verify::Verdict::Failed)
    json["output"] = result.output, json["again"] = reproduction(plans.model, draft, selection);
  return json;
}

OrderedJson reportJson(const std::vector<ModelPlans> &all, const PlanSelection &selection, bool good) {
  OrderedJson json, models = OrderedJson::array();
  for (const ModelPlans &plans : all) {
    OrderedJson list = OrderedJson::array();
    for (size_t i = 0; i < plans.results.size(); ++i)
      list.push_back(planJson(plans, i, selection));
    models.push_back(OrderedJson{{"model", plans.model.name},
                                 {"ok", plans.count(verify::Verdict::Ok)},
                                 {"refused", plans.count(verify::Verdict::Refused)},
                                 {"failed", plans.count(verify::Verdict::Failed)},
                                 {"plans", list}});
  }
  json["ok"] = good;
  json["seed"] = selection.seed;
  json["models"] = models;
  return json;
}

/// The text of one plan on standard output, and how to check it.
ExitCode printPlan(const std::vector<ModelPlans> &all, const AllFlags &flags) {
  for (const ModelPlans &plans : all)
    for (const PlanDraft &draft : plans.drafts)
      if (draft.name == flags.printPlan) {
        uint32_t line = 0;
        std::cout << verify::wholeText(plans.text, draft, line);
        return ExitCode::Good;
      }
  return fail(ExitCode::Usage, "no plan '" + flags.printPlan + "' is among those of " + drawing(flags.selection));
}

} // namespace

ExitCode verifyAll(const AllFlags &flags) {
  std::vector<ModelPlans> all;
  for (const ModelOptions &options : flags.models) {
    if (options.isCompiled())
      return fail(ExitCode::Usage, "'" + options.model + "' is a compiled program: --all needs the model file (.npar)");
    Outcome<ModelPlans> plans = reported(verify::draftPlans(options, flags.selection, terminal()));
    if (!plans.ok())
      return plans.code();
    all.push_back(std::move(*plans));
  }
  if (!flags.printPlan.empty())
    return printPlan(all, flags);
  bool good = true;
  letSignalsStopChecks();
  for (ModelPlans &plans : all) {
    if (!flags.json)
      std::cout << fmt::format("{}, {} plan{} ({}), {}\n", plans.model.name, plans.drafts.size(), plans.drafts.size() == 1 ? "" : "s",
                               kindsOf(plans.drafts), drawing(flags.selection))
                << std::flush;
    engine::Status checked = checkPlans(plans.model, plans.text, plans.drafts, flags.check, [&](size_t index, const PlanResult &result) {
      plans.results.push_back(result);
      if (!flags.json)
        printResult(plans, index, flags.selection);
    });
    if (!checked.ok() || plans.results.size() < plans.drafts.size()) // nothing reads the output any more
      return reported(checked);
    good &= plans.count(verify::Verdict::Failed) == 0;
    if (!flags.json)
      printSummary(plans);
  }
  if (flags.json)
    printJson(reportJson(all, flags.selection, good));
  return good ? ExitCode::Good : ExitCode::CheckFailed;
}

} // namespace npar::driver
