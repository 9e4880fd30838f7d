#include "engine/training/PredictedLabels.h"

#include "engine/files/Ending.h"
#include "engine/json/Json.h"
#include "engine/readable/CsvRow.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::training {

using engine::Result;
using engine::Status;

namespace {

/// The probability of the largest of some scores, by softmax, and its place. Nothing if a score is not finite.
std::optional<std::pair<int64_t, double>> likeliest(const double *scores, uint64_t count) {
  if (!std::all_of(scores, scores + count, [](double score) { return std::isfinite(score); }))
    return std::nullopt;
  const double *best = std::max_element(scores, scores + count);
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += std::exp(scores[i] - *best);
  return std::pair(best - scores, 1 / sum);
}

} // namespace

std::string labelText(const PredictedLabel &label) { return label.className.empty() ? std::to_string(label.label) : label.className; }

OrderedJson jsonOf(const PredictedLabel &label) {
  OrderedJson json = {{"sample", label.sample}};
  if (!label.name.empty())
    json["name"] = label.name;
  json["label"] = label.label;
  if (!label.className.empty())
    json["class"] = label.className;
  json["probability"] = label.probability;
  if (!label.texts.empty())
    json["texts"] = label.texts;
  return json;
}

Result<LabelReader> LabelReader::create(const program::Program &program, const std::string &output, std::vector<std::string> names) {
  const program::Prediction *chosen = nullptr;
  std::string others;
  bool isKnown = false;
  for (uint32_t i = 0; program.predictions() && i < program.predictions()->size(); ++i) {
    const program::Prediction *each = program.predictions()->Get(i);
    isKnown |= each->name()->str() == output;
    const bool isLabels = each->scores() && program.results()->Get(each->result())->shape()->size() == 2;
    if (!isLabels || (!output.empty() && each->name()->str() != output))
      continue;
    if (chosen)
      return Status::usage(fmt::format("model '{}' has scores of classes in the outputs '{}' and '{}': choose one with --output NAME",
                                       program.model()->str(), chosen->name()->str(), each->name()->str()));
    chosen = each;
  }
  if (!chosen && !output.empty() && !isKnown)
    return Status::badInput(fmt::format("model '{}' has no output '{}'", program.model()->str(), output));
  if (!chosen)
    return Status::badInput(fmt::format(
        "{} of model '{}' {} one score per class for each sample, which a cross entropy compares with labels, so there are no labels to "
        "predict\nnpar: help: write `output NAME` for such scores in the model; --outputs FILE.safetensors writes outputs of any kind",
        output.empty() ? "no output" : "output '" + output + "'", program.model()->str(), output.empty() ? "has" : "does not have"));
  const program::LogicalResult &result = *program.results()->Get(chosen->result());
  const auto classes = static_cast<uint64_t>(result.shape()->Get(1));
  if (!names.empty() && names.size() > classes)
    return Status::badInput(
        fmt::format("output '{}' has scores for {} classes, but {} have names", chosen->name()->str(), classes, names.size()));
  return LabelReader(result.name()->str(), classes, std::move(names));
}

Result<std::vector<PredictedLabel>> LabelReader::read(const engine::Session &session, const engine::OncePass *data, int64_t first,
                                                      int64_t samples) const {
  TRY(const std::vector<double> scores, session.readResult(result, 0, classes * static_cast<uint64_t>(samples)));
  std::vector<PredictedLabel> labels;
  for (int64_t i = 0; i < samples; ++i) {
    PredictedLabel label;
    label.sample = first + i;
    const auto found = likeliest(scores.data() + static_cast<uint64_t>(i) * classes, classes);
    if (!found)
      return Status::runFailed(fmt::format("the scores of sample {} are not finite", label.sample));
    std::tie(label.label, label.probability) = *found;
    if (static_cast<size_t>(label.label) < names.size())
      label.className = names[static_cast<size_t>(label.label)];
    if (data)
      label.name = data->nameOf(label.sample), label.texts = data->textsOf(label.sample);
    labels.push_back(std::move(label));
  }
  return labels;
}

Status LabelFile::checkName(const std::string &path) {
  if (files::endsWith(path, ".csv") || files::endsWith(path, ".jsonl"))
    return {};
  return Status::usage("--predict writes a FILE.csv or a FILE.jsonl, and '" + path + "' has neither ending");
}

Result<LabelFile> LabelFile::create(const std::string &path) {
  TRY(files::OutputFile opened, files::OutputFile::create(path));
  return LabelFile(std::move(opened), files::endsWith(path, ".csv"));
}

Status LabelFile::add(const PredictedLabel &label) {
  std::string row;
  if (!isTable) {
    row = jsonOf(label).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  } else {
    if (count == 0)
      row = label.texts.size() > 1 ? "sample,name,label,probability,text,pair\n"
            : label.texts.empty()  ? "sample,name,label,probability\n"
                                   : "sample,name,label,probability,text\n";
    row += fmt::format("{},{},{},{:.6g}", label.sample, readable::csvField(label.name), readable::csvField(labelText(label)),
                       label.probability);
    for (const std::string &text : label.texts)
      row += "," + readable::csvField(text);
  }
  row += '\n';
  TRY_STATUS(file.write(offset, row.data(), row.size()));
  offset += row.size(), ++count;
  return {};
}

Status LabelFile::commit() { return file.commit(); }

} // namespace npar::training
