// Writes the result of a verification as JSON.
#include "tools/lib/verify/VerifyReport.h"

#include "engine/json/Json.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"

namespace npar::verify {

namespace {

OrderedJson warningJson(const RoundingWarning &warning, const dsl::Sources &sources) {
  OrderedJson json;
  json["file"] = warning.location.file < sources.size() ? sources.name(warning.location.file) : "";
  json["line"] = warning.location.line;
  json["column"] = warning.location.column;
  json["operation"] = warning.operation;
  json["error"] = warning.error; // infinite if a number left the type's range
  json["error_without"] = warning.without;
  json["message"] = warning.text();
  return json;
}

OrderedJson flipJson(const FlippedChoice &flip) {
  return OrderedJson{{"batch", flip.batch},   {"sample", flip.sample},         {"position", flip.position},
                     {"chosen", flip.chosen}, {"in_place_of", flip.inPlaceOf}, {"scores", {flip.score, flip.scoreInPlaceOf}},
                     {"margin", flip.margin}};
}

OrderedJson choicesJson(const ChoiceReport &report) {
  OrderedJson json, layers = OrderedJson::array();
  for (const LayerChoices &one : report.layers) {
    OrderedJson examples = OrderedJson::array();
    for (const FlippedChoice &flip : one.examples)
      examples.push_back(flipJson(flip));
    layers.push_back(OrderedJson{{"layer", one.layer},
                                 {"place", one.place},
                                 {"axis", one.axis},
                                 {"choices", one.choices},
                                 {"flipped", one.flipped},
                                 {"largest_margin", one.largestMargin},
                                 {"score_error", one.largestScoreError},
                                 {"examples", std::move(examples)}});
  }
  json["type"] = report.type;
  json["batches"] = report.batches;
  json["choices"] = report.choices();
  json["flipped"] = report.flipped();
  if (report.hasLoss) {
    json["loss_bound"] = report.lossBound;
    json["loss_by_choices"] = report.lossByChoices;
    json["loss_error"] = report.lossError;
  }
  json["layers"] = std::move(layers);
  return json;
}

} // namespace

VerifyReport reportOf(const program::Program &program, std::vector<Check> checks) {
  return {program.model() ? program.model()->str() : "", program.plan() ? program.plan()->str() : "", program::worldOf(program),
          program.parameters(), std::move(checks)};
}

OrderedJson jsonOf(const VerifyReport &report) {
  OrderedJson json, list = OrderedJson::array();
  for (const Check &check : report.checks) {
    OrderedJson one;
    one["name"] = check.name;
    one["ok"] = check.ok;
    if (check.maxRelativeError)
      one["max_relative_error"] = *check.maxRelativeError;
    one["detail"] = check.detail;
    if (check.isOfOneRank)
      one["one_rank_too"] = true;
    list.push_back(one);
  }
  json["ok"] = report.good();
  json["plan"] = report.plan;
  json["checks"] = list;
  json["warnings"] = OrderedJson::array();
  if (report.rounding && report.rounding->warning)
    json["warnings"].push_back(warningJson(*report.rounding->warning, report.texts));
  if (report.rounding)
    json["rounding_error"] = report.rounding->error;
  if (report.products)
    json["products"] = program::wordOf(*report.products);
  if (report.choices)
    json["choices"] = choicesJson(*report.choices);
  return json;
}

} // namespace npar::verify
