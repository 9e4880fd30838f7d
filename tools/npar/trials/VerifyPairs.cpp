// Every pair of features of the plan language on one model, at a small size: equal to one rank, or refused with the reason.
#include "tools/npar/trials/VerifyPairs.h"

#include "engine/files/AtomicFile.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

using Json = nlohmann::ordered_json;

/// Two features of a model, or one alone where both are the same, and what became of their plan.
struct Pair {
  size_t row, column;
  int64_t world = 0; ///< 0: there is no plan with both
  PlanResult result;
};

struct Table {
  SmallModel model;
  std::vector<const Feature *> features;
  std::vector<Pair> pairs; ///< row by row, up to the diagonal
};

/// The features to pair, those that the model cannot have left out.
Outcome<std::vector<const Feature *>> chosenFeatures(const PairFlags &flags, const SmallModel &model) {
  std::vector<const Feature *> chosen;
  if (!flags.features.empty()) {
    if (Outcome<std::vector<const Feature *>> named = featuresNamed(flags.features); named.ok())
      chosen = *named;
    else
      return named.code();
  } else {
    for (const Feature &feature : features())
      chosen.push_back(&feature);
  }
  for (const Feature *feature : chosen)
    if (!flags.features.empty() && !applies(*feature, model))
      return fail(ExitCode::Usage, "model '" + model.name + "' has nothing for '" + feature->name + "'");
  chosen.erase(std::remove_if(chosen.begin(), chosen.end(), [&](const Feature *one) { return !applies(*one, model); }), chosen.end());
  return chosen;
}

std::string mark(const Pair &pair, std::vector<std::string> &notes) {
  if (pair.result.verdict == Verdict::Ok)
    return "ok";
  std::string note = (pair.result.at.empty() ? "" : "'" + pair.result.at + "': ") + pair.result.reason;
  if (pair.world == 0) // the table names the two
    note = note.substr(0, note.find(": "));
  auto known = std::find(notes.begin(), notes.end(), note);
  std::string number = std::to_string(known - notes.begin() + 1);
  if (known == notes.end())
    notes.push_back(note);
  return (pair.result.verdict == Verdict::Failed ? "!" : "") + number;
}

size_t count(const Table &table, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(table.pairs.begin(), table.pairs.end(), [&](const Pair &pair) { return pair.result.verdict == verdict; }));
}

std::string again(const Table &table, const Pair &pair) {
  std::string list = table.features[pair.column]->name + (pair.row == pair.column ? "" : "," + table.features[pair.row]->name);
  return fmt::format("npar verify --all {}{} --combine {}", shellQuoted(table.model.options.model), modelFlags(table.model.options), list);
}

void printTable(const Table &table) {
  std::cout << fmt::format("{}: {} features, alone and in pairs: {} ok, {} refused, {} failed\n\n  {:<22}", table.model.name,
                           table.features.size(), count(table, Verdict::Ok), count(table, Verdict::Refused), count(table, Verdict::Failed),
                           "");
  for (size_t i = 0; i < table.features.size(); ++i)
    std::cout << fmt::format("{:>4}", static_cast<char>('a' + i % 26) + std::string(i / 26, '\''));
  std::vector<std::string> notes;
  for (const Pair &pair : table.pairs) {
    if (pair.column == 0)
      std::cout << fmt::format("\n  {:<2} {:<19}", static_cast<char>('a' + pair.row % 26) + std::string(pair.row / 26, '\''),
                               table.features[pair.row]->name);
    std::cout << fmt::format("{:>4}", mark(pair, notes));
  }
  std::cout << "\n\n  ok: same results as one rank in float64; a number: refused for the reason with that number; !: failed\n";
  for (size_t i = 0; i < notes.size(); ++i)
    std::cout << fmt::format("  {:>3}  {}\n", i + 1, notes[i]);
  for (const Pair &pair : table.pairs)
    if (pair.result.verdict == Verdict::Failed)
      std::cout << fmt::format("  failed: {}\n{}", again(table, pair), pair.result.output);
}

Json tableJson(const Table &table) {
  Json json, pairs = Json::array(), names = Json::array();
  for (const Feature *feature : table.features)
    names.push_back(feature->name);
  for (const Pair &pair : table.pairs) {
    pairs.push_back(
        Json{{"features", {table.features[pair.column]->name, table.features[pair.row]->name}},
             {"world", pair.world ? Json(pair.world) : Json()},
             {"verdict", nameOf(pair.result.verdict)},
             {"max_relative_error", pair.result.error && pair.result.verdict == Verdict::Ok ? Json(*pair.result.error) : Json()},
             {"reason", pair.result.reason},
             {"rule", pair.result.at}});
    if (pair.result.verdict == Verdict::Failed)
      pairs.back()["output"] = pair.result.output, pairs.back()["again"] = again(table, pair);
  }
  json["model"] = table.model.name;
  json["ok"] = count(table, Verdict::Failed) == 0;
  json["features"] = names;
  json["pairs"] = pairs;
  return json;
}

} // namespace

ExitCode verifyPairs(const PairFlags &flags) {
  if (flags.model.plan)
    return fail(ExitCode::Usage, "--pairs makes its own plans: remove --plan");
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage, "'" + flags.model.model + "' is a compiled program: give the model file (.npar)");
  Outcome<SmallModel> model = smallModel(flags.model);
  if (!model.ok())
    return model.code();
  Outcome<std::vector<const Feature *>> chosen = chosenFeatures(flags, *model);
  if (!chosen.ok())
    return chosen.code();
  engine::Result<std::vector<uint8_t>> text = program::readFile(model->file);
  if (!text.ok())
    return fail(text.status());

  Table table{std::move(*model), std::move(*chosen), {}};
  std::vector<PlanDraft> drafts;
  std::vector<size_t> places; // of the drafts among the pairs
  for (size_t row = 0; row < table.features.size(); ++row)
    for (size_t column = 0; column <= row; ++column) {
      std::vector<const Feature *> both = {table.features[column], table.features[row]};
      both.resize(row == column ? 1 : 2);
      table.pairs.push_back({row, column, 0, {}});
      Pair &pair = table.pairs.back();
      if (std::optional<PlanDraft> draft = draftPlan(table.model, both, fmt::format("pair_{}_{}", row, column), {}, &pair.result.reason)) {
        pair.world = draft->world;
        drafts.push_back(std::move(*draft));
        places.push_back(table.pairs.size() - 1);
      } else {
        pair.result.verdict = Verdict::Refused;
      }
    }
  PlanCheckOptions options = flags.check;
  options.modelText.assign(text->begin(), text->end());
  if (ExitCode code = checkPlans(table.model, drafts, options,
                                 [&](size_t index, const PlanResult &result) { table.pairs[places[index]].result = result; });
      code != ExitCode::Good)
    return code;
  if (flags.json)
    std::cout << tableJson(table).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  else
    printTable(table);
  return count(table, Verdict::Failed) == 0 ? ExitCode::Good : ExitCode::CheckFailed;
}

} // namespace npar::driver
