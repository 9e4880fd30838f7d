// Prints the table of pairs of features.
#include "tools/npar/verify/VerifyPairs.h"

#include "engine/json/Json.h"
#include "tools/lib/verify/ModelPlans.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/verify/VerifyInJob.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using verify::FeaturePair;
using verify::FeaturePairs;
using verify::PlanFeature;

namespace {

std::string mark(const FeaturePair &pair, std::vector<std::string> &notes) {
  if (pair.result.verdict == verify::Verdict::Ok)
    return "ok";
  std::string note = (pair.result.at.empty() ? "" : "'" + pair.result.at + "': ") + pair.result.reason;
  if (pair.world == 0) // the table names the two
    note = note.substr(0, note.find(": "));
  auto known = std::find(notes.begin(), notes.end(), note);
  std::string number = std::to_string(known - notes.begin() + 1);
  if (known == notes.end())
    notes.push_back(note);
  return (pair.result.verdict == verify::Verdict::Failed ? "!" : "") + number;
}

std::string again(const FeaturePairs &table, const FeaturePair &pair) {
  std::string list = table.features[pair.column]->name + (pair.row == pair.column ? "" : "," + table.features[pair.row]->name);
  return fmt::format("npar verify --all {}{} --combine {}", shellQuoted(table.model.options.model), modelFlags(table.model.options), list);
}

void printTable(const FeaturePairs &table) {
  std::cout << fmt::format("{}: {} features, alone and in pairs: {} ok, {} refused, {} failed\n\n  {:<22}", table.model.name,
                           table.features.size(), table.count(verify::Verdict::Ok), table.count(verify::Verdict::Refused),
                           table.count(verify::Verdict::Failed), "");
  for (size_t i = 0; i < table.features.size(); ++i)
    std::cout << fmt::format("{:>4}", static_cast<char>('a' + i % 26) + std::string(i / 26, '\''));
  std::vector<std::string> notes;
  for (const FeaturePair &pair : table.pairs) {
    if (pair.column == 0)
      std::cout << fmt::format("\n  {:<2} {:<19}", static_cast<char>('a' + pair.row % 26) + std::string(pair.row / 26, '\''),
                               table.features[pair.row]->name);
    std::cout << fmt::format("{:>4}", mark(pair, notes));
  }
  std::cout << "\n\n  ok: same results as one rank in float64; a number: refused for the reason with that number; !: failed\n";
  for (size_t i = 0; i < notes.size(); ++i)
    std::cout << fmt::format("  {:>3}  {}\n", i + 1, notes[i]);
  for (const FeaturePair &pair : table.pairs)
    if (pair.result.verdict == verify::Verdict::Failed)
      std::cout << fmt::format("  failed: {}\n{}", again(table, pair), pair.result.output);
}

OrderedJson tableJson(const FeaturePairs &table) {
  OrderedJson json, pairs = OrderedJson::array(), names = OrderedJson::array();
  for (const PlanFeature *feature : table.features)
    names.push_back(feature->name);
  for (const FeaturePair &pair : table.pairs) {
    pairs.push_back(
        OrderedJson{{"features", {table.features[pair.column]->name, table.features[pair.row]->name}},
                    {"world", pair.world ? OrderedJson(pair.world) : OrderedJson()},
                    {"verdict", verify::nameOf(pair.result.verdict)},
                    {"max_relative_error",
                     pair.result.error && pair.result.verdict == verify::Verdict::Ok ? OrderedJson(*pair.result.error) : OrderedJson()},
                    {"reason", pair.result.reason},
                    {"rule", pair.result.at}});
    if (pair.result.verdict == verify::Verdict::Failed)
      pairs.back()["output"] = pair.result.output, pairs.back()["again"] = again(table, pair);
  }
  json["model"] = table.model.name;
  json["ok"] = table.count(verify::Verdict::Failed) == 0;
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
  letSignalsStopChecks();
  auto check = [&](const auto &model, const auto &text, const auto &drafts, const auto &done) {
    return checkPlans(model, text, drafts, flags.check, done);
  };
  Outcome<FeaturePairs> pairs = reported(verify::checkPairs(flags.model, flags.features, check, terminal()));
  if (!pairs.ok())
    return pairs.code();
  if (flags.json)
    printJson(tableJson(*pairs));
  else
    printTable(*pairs);
  return pairs->count(verify::Verdict::Failed) == 0 ? ExitCode::Good : ExitCode::CheckFailed;
}

} // namespace npar::driver
