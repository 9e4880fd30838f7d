// Logs as lines of JSON, which any tool can follow.
#include "engine/logging/LogFormat.h"

#include "engine/json/Document.h"
#include "engine/logging/Json.h"

namespace npar::engine {

/// The first member of every line, after its bracket.
static std::string beginning() { return "{\"schema\":" + std::to_string(json::schemaNumber); }

/// The values and counts of named losses; empty if no loss has a name.
static std::string lossesText(const StepRecord &record, const LogShape &shape) {
  std::string values, counts;
  for (size_t i = 0; i < shape.losses.size() && i < record.losses.size(); ++i) {
    values += (values.empty() ? "" : ",") + jsonString(shape.losses[i]) + ":" + jsonNumber(record.losses[i].value);
    if (record.losses[i].counted)
      counts += (counts.empty() ? "" : ",") + jsonString(shape.losses[i]) + ":" + std::to_string(*record.losses[i].counted);
  }
  return (values.empty() ? "" : ",\"losses\":{" + values + "}") + (counts.empty() ? "" : ",\"counted\":{" + counts + "}");
}

/// The numbers that the model logs, by their names; empty if the model logs no number.
static std::string loggedText(const StepRecord &record, const LogShape &shape) {
  std::string values;
  for (size_t i = 0; i < shape.logged.size() && i < record.logged.size(); ++i)
    values += (values.empty() ? "" : ",") + jsonString(shape.logged[i]) + ":" + jsonNumber(record.logged[i]);
  return values.empty() ? "" : ",\"logged\":{" + values + "}";
}

std::string stepLine(const StepRecord &record, const LogShape &shape) {
  auto known = [](const char *name, double value) { return value == 0 ? "" : ",\"" + std::string(name) + "\":" + jsonNumber(value); };
  std::string norms;
  for (size_t i = 0; i < shape.groups.size() && i < record.groupNorms.size(); ++i)
    norms += (i ? "," : "") + jsonString(shape.groups[i]) + ":" + jsonNumber(record.groupNorms[i]);
  return beginning() + ",\"step\":" + std::to_string(record.step) + ",\"loss\":" + jsonNumber(record.loss) +
         ",\"grad_norm\":" + jsonNumber(record.gradNorm) + ",\"lr\":" + jsonNumber(record.learningRate) + ",\"" + shape.unit +
         "\":" + std::to_string(record.amount) + ",\"" + shape.unit + "_per_second\":" + jsonNumber(record.perSecond) +
         known("flops_per_second", record.flopsPerSecond) + known("peak_share", record.peakShare) +
         (norms.empty() ? "" : ",\"grad_norms\":{" + norms + "}") + lossesText(record, shape) + loggedText(record, shape) +
         known("loss_scale", record.lossScale) +
         (record.lossScale == 0 && !record.skipped ? "" : std::string(",\"skipped\":") + (record.skipped ? "true" : "false")) +
         (record.validTokens ? ",\"valid_tokens\":" + std::to_string(*record.validTokens) : "") +
         (record.epoch ? ",\"epoch\":" + std::to_string(*record.epoch) + ",\"sample\":" + std::to_string(record.sample) : "") +
         (record.dataWait ? ",\"data_wait_seconds\":" + jsonNumber(*record.dataWait) : "") +
         (record.batchHash.empty() ? "" : ",\"batch_hash\":" + jsonString(record.batchHash)) +
         (record.products.empty() ? "" : ",\"products\":" + jsonString(record.products)) + "}";
}

std::vector<std::pair<std::string, double>> epochValues(const EpochRecord &record, const LogShape &shape) {
  return {{"epoch_done", record.epoch},
          {"epoch_steps", static_cast<double>(record.steps)},
          {"epoch_loss", record.loss},
          {"epoch_seconds", record.seconds},
          {"epoch_" + shape.unit + "_per_second", record.perSecond}};
}

bool RowOrder::keeps(int64_t row, bool trains) {
  if (!trains || row >= step)
    return row < step + (trains ? 0 : 1);
  if (last && row <= *last)
    why = "step " + std::to_string(row) + " follows step " + std::to_string(*last);
  else
    last = row;
  return why.empty();
}

namespace {

class JsonLines final : public LogFormat {
public:
  std::string row(const LogShape &shape, const StepRecord &record) const override { return stepLine(record, shape) + "\n"; }

  /// {"schema":1,"step":20,"eval_loss":...,"eval_perplexity":...}
  std::string row(const LogShape &, const EvaluationRecord &record) const override {
    std::string line = beginning() + ",\"step\":" + std::to_string(record.step);
    for (const auto &[name, value] : record.values)
      line += "," + jsonString("eval_" + name) + ":" + jsonNumber(value);
    return line + "}\n";
  }

  /// {"schema":1,"step":20,"epoch_done":1,"epoch_loss":...,"eval_loss":...,"best":true}
  std::string row(const LogShape &shape, const EpochRecord &record) const override {
    std::string line = beginning() + ",\"step\":" + std::to_string(record.step);
    for (const auto &[name, value] : epochValues(record, shape))
      line += "," + jsonString(name) + ":" + jsonNumber(value);
    for (const auto &[name, value] : record.values)
      line += "," + jsonString("eval_" + name) + ":" + jsonNumber(value);
    return line + (record.values.empty() ? "" : std::string(",\"best\":") + (record.best ? "true" : "false")) + "}\n";
  }

  /// {"schema":1,"step":20,"checkpoint_error":"..."}
  std::string row(const LogShape &, const FailedSaveRecord &record) const override {
    return beginning() + ",\"step\":" + std::to_string(record.step) + ",\"checkpoint_error\":" + jsonString(record.why) + "}\n";
  }

  KeptRows rowsBefore(const std::string &log, const LogShape &, int64_t step) const override {
    size_t size = 0, number = 1;
    RowOrder order(step);
    for (size_t end; (end = log.find('\n', size)) != std::string::npos; size = end + 1, ++number) {
      Json line = Json::parse(log.begin() + static_cast<int64_t>(size), log.begin() + static_cast<int64_t>(end), nullptr,
                              /*allow_exceptions=*/false);
      if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
        return {size, "line " + std::to_string(number) + " is not a row of a log"};
      if (!order.keeps(line["step"].get<int64_t>(), line.contains("loss")))
        return {size, order.fault()};
    }
    return {size};
  }
};

bool hasEnding(const std::string &path, const std::string &ending) {
  return path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

} // namespace

const LogFormat &jsonLines() {
  static const JsonLines format;
  return format;
}

const LogFormat &logFormatOf(const std::string &path) {
  if (path.find("tfevents", path.rfind('/') == std::string::npos ? 0 : path.rfind('/')) != std::string::npos)
    return tensorBoardEvents();
  return hasEnding(path, ".csv") ? commaSeparated() : jsonLines();
}

} // namespace npar::engine
