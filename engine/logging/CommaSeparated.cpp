// Logs as columns, for spreadsheets and data frames.
#include "engine/logging/LogFormat.h"

#include "engine/logging/Json.h"
#include "engine/readable/CsvRow.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace npar::engine {
namespace {

/// Empty where it is not finite.
std::string number(double value) {
  std::string text = jsonNumber(value);
  return text == "null" ? "" : text;
}

class CommaSeparated final : public LogFormat {
public:
  std::string head(const LogShape &shape) const override { return line(columns(shape)); }

  std::string row(const LogShape &shape, const StepRecord &record) const override {
    auto known = [](double value) { return value == 0 ? "" : number(value); };
    std::map<std::string, std::string> values = {
        {"step", std::to_string(record.step)},
        {"kind", "train"},
        {"loss", number(record.loss)},
        {"grad_norm", number(record.gradNorm)},
        {"lr", number(record.learningRate)},
        {shape.unit, std::to_string(record.amount)},
        {shape.unit + "_per_second", number(record.perSecond)},
        {"flops_per_second", known(record.flopsPerSecond)},
        {"peak_share", known(record.peakShare)},
        {"loss_scale", known(record.lossScale)},
        {"skipped", record.skipped ? "1" : "0"},
        {"valid_tokens", record.validTokens ? std::to_string(*record.validTokens) : ""},
        {"epoch", record.epoch ? std::to_string(*record.epoch) : ""},
        {"sample", record.epoch ? std::to_string(record.sample) : ""},
        {"batch_hash", record.batchHash},
    };
    for (size_t i = 0; i < shape.losses.size() && i < record.losses.size(); ++i) {
      values["loss " + shape.losses[i]] = number(record.losses[i].value);
      values["counted " + shape.losses[i]] = record.losses[i].counted ? std::to_string(*record.losses[i].counted) : "";
    }
    for (size_t i = 0; i < shape.logged.size() && i < record.logged.size(); ++i)
      values["log " + shape.logged[i]] = number(record.logged[i]);
    for (size_t i = 0; i < shape.groups.size() && i < record.groupNorms.size(); ++i)
      values["grad_norm " + shape.groups[i]] = number(record.groupNorms[i]);
    return line(shape, values);
  }

  std::string row(const LogShape &shape, const EvaluationRecord &record) const override {
    std::map<std::string, std::string> values = {{"step", std::to_string(record.step)}, {"kind", "eval"}};
    for (const auto &[name, value] : record.values)
      values["eval_" + name] = number(value);
    return line(shape, values);
  }

  std::string row(const LogShape &shape, const EpochRecord &record) const override {
    std::map<std::string, std::string> values = {{"step", std::to_string(record.step)}, {"kind", "epoch"}};
    for (const auto &[name, value] : epochValues(record, shape))
      values[name] = number(value);
    for (const auto &[name, value] : record.values)
      values["eval_" + name] = number(value);
    if (!record.values.empty())
      values["best"] = record.best ? "1" : "0";
    return line(shape, values);
  }

  /// The reason has no column: logs of runs without checkpoints have none either, and the columns must not differ.
  std::string row(const LogShape &shape, const FailedSaveRecord &record) const override {
    return line(shape, {{"step", std::to_string(record.step)}, {"kind", failedSave}});
  }

  /// No field of a row has a line end in it, and the head, where names of groups may, is compared whole.
  KeptRows rowsBefore(const std::string &log, const LogShape &shape, int64_t step) const override {
    std::string first = head(shape);
    if (log.compare(0, first.size(), first) != 0)
      return {0, first.compare(0, log.size(), log) == 0 ? "" : difference(readable::firstCsvRow(log), columns(shape))};
    size_t size = first.size();
    RowOrder order(step);
    for (size_t end; (end = log.find('\n', size)) != std::string::npos; size = end + 1) {
      const KeptRows unreadable{size, "the row after byte " + std::to_string(size) + " is not a row of a log"};
      size_t comma = log.find(',', size);
      if (comma >= end || comma == size || comma - size > 18 || log.find_first_not_of("0123456789", size) != comma)
        return unreadable;
      int64_t number = std::stoll(log.substr(size, comma - size));
      bool trains = log.compare(comma + 1, 6, "train,") == 0;
      bool known = trains || log.compare(comma + 1, 5, "eval,") == 0 || log.compare(comma + 1, 6, "epoch,") == 0 ||
                   log.compare(comma + 1, std::strlen(failedSave) + 1, std::string(failedSave) + ",") == 0;
      if (!known)
        return unreadable;
      if (!order.keeps(number, trains))
        return {size, order.fault()};
    }
    return {size};
  }

private:
  static constexpr const char *failedSave = "checkpoint_error"; ///< a kind of rows

  static std::vector<std::string> columns(const LogShape &shape) {
    std::vector<std::string> names = {"step", "kind", "loss", "grad_norm", "lr", shape.unit, shape.unit + "_per_second"};
    for (const char *name : {"flops_per_second", "peak_share", "loss_scale", "skipped", "valid_tokens", "epoch", "sample", "batch_hash"})
      names.push_back(name);
    for (const std::string &loss : shape.losses)
      for (const char *what : {"loss ", "counted "})
        names.push_back(what + loss);
    for (const std::string &name : shape.logged)
      names.push_back("log " + name);
    for (const std::string &name : shape.evaluations)
      names.push_back("eval_" + name);
    for (const std::string &group : shape.groups)
      names.push_back("grad_norm " + group);
    if (!shape.epochs)
      return names;
    for (const auto &value : epochValues({}, shape))
      names.push_back(value.first);
    names.push_back("best");
    return names;
  }

  /// Names a column that a log and a run do not share.
  static std::string difference(const std::vector<std::string> &logged, const std::vector<std::string> &names) {
    auto firstWithout = [](const std::vector<std::string> &some, const std::vector<std::string> &others) {
      return std::find_if(some.begin(), some.end(), [&](const std::string &name) { return !contains(others, name); });
    };
    if (!contains(logged, "step") || !contains(logged, "kind"))
      return "it does not begin with the columns of a log";
    if (auto name = firstWithout(names, logged); name != names.end())
      return "it has no column '" + *name + "', which this run writes";
    auto name = firstWithout(logged, names);
    return name == logged.end() ? "its columns have another order" : "it has a column '" + *name + "', which this run does not write";
  }

  static bool contains(const std::vector<std::string> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  static std::string line(const std::vector<std::string> &fields) {
    std::string text;
    for (size_t i = 0; i < fields.size(); ++i)
      text += (i ? "," : "") + readable::csvField(fields[i]);
    return text + "\n";
  }

  static std::string line(const LogShape &shape, const std::map<std::string, std::string> &values) {
    std::vector<std::string> fields;
    for (const std::string &name : columns(shape)) {
      auto value = values.find(name);
      fields.push_back(value == values.end() ? "" : value->second);
    }
    return line(fields);
  }
};

} // namespace

const LogFormat &commaSeparated() {
  static const CommaSeparated format;
  return format;
}

} // namespace npar::engine
