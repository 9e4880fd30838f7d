// Formats measures under their names as JSON, log rows and text.
#include "engine/training/EvaluationReport.h"

#include "engine/json/Json.h"
#include "engine/program/Words.h"

#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace npar::training {

namespace {

/// True for one loss over tokens, which has a perplexity and bits per token: any other loss is listed as a measure.
bool isOfTokens(const Evaluation &evaluation) { return !evaluation.hasMeasures() && evaluation.hasLoss(); }

/// The mean loss per token, converted from nats to bits.
double bitsOf(const Evaluation &evaluation) { return evaluation.loss() / std::log(2.0); }

} // namespace

const char *bitsName(const std::string &tokens) { return tokens == "bytes" ? "bits_per_byte" : "bits_per_token"; }

OrderedJson jsonOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples) {
  OrderedJson json;
  if (evaluation.hasLoss())
    json["loss"] = evaluation.loss();
  if (evaluation.productOrder())
    json["products"] = program::wordOf(*evaluation.productOrder());
  if (isOfTokens(evaluation)) {
    json["perplexity"] = std::exp(evaluation.loss());
    json["tokens"] = evaluation.counted();
    json["metrics"][bitsName(tokens)] = bitsOf(evaluation);
    return json;
  }
  for (const Measured &measure : evaluation.measures()) {
    if (measure.name.empty())
      continue;
    std::optional<double> value = measure.sum.value();
    const char *kind = measure.kind == program::MeasureKind::Loss ? "losses" : "metrics";
    json[kind][measure.name] = value ? OrderedJson(*value) : OrderedJson();
    json["counted"][measure.name] = measure.sum.counted();
  }
  json["samples"] = samples;
  return json;
}

engine::EvaluationRecord recordOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples) {
  engine::EvaluationRecord record;
  record.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  if (evaluation.hasLoss())
    record.values = {{"loss", evaluation.loss()}};
  if (isOfTokens(evaluation)) {
    record.values.emplace_back("perplexity", std::exp(evaluation.loss()));
    record.values.emplace_back(bitsName(tokens), bitsOf(evaluation));
    record.values.emplace_back("tokens", static_cast<double>(evaluation.counted()));
    return record;
  }
  for (const Measured &measure : evaluation.measures())
    if (!measure.name.empty())
      record.values.emplace_back(measure.name, measure.sum.value().value_or(std::nan("")));
  record.values.emplace_back("samples", static_cast<double>(samples));
  return record;
}

std::vector<std::string> namesOf(const engine::EvaluationRecord &record) {
  std::vector<std::string> names;
  for (const auto &value : record.values)
    names.push_back(value.first);
  return names;
}

std::string textOf(const Evaluation &evaluation, const std::string &tokens, int64_t samples) {
  std::string text = evaluation.hasLoss() ? fmt::format("loss {:.6f}", evaluation.loss()) : "";
  if (isOfTokens(evaluation))
    return fmt::format("{}, perplexity {:.6g}, {:.4f} bits per {} over {} tokens", text, std::exp(evaluation.loss()), bitsOf(evaluation),
                       tokens == "bytes" ? "byte" : "token", evaluation.counted());
  for (const Measured &measure : evaluation.measures())
    if (std::optional<double> value = measure.sum.value(); !measure.name.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", measure.name, value ? fmt::format("{:.6g}", *value) : "without a value");
  return fmt::format("{} {} sample{}", text.empty() ? "outputs of" : text + " over", samples, samples == 1 ? "" : "s");
}

} // namespace npar::training
