// What a run logs, and the formats that it is logged in: each turns rows into bytes, and knows which bytes of a log are of rows before a
// step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace npar::engine {

/// One of several losses of a step.
struct LossRecord {
  double value = 0;
  std::optional<int64_t> counted = std::nullopt; ///< positions that count in it; nothing where all do
};

/// A training step.
struct StepRecord {
  int64_t step = 0;
  double loss = 0, gradNorm = 0, learningRate = 0;
  int64_t amount = 0; ///< of this step, in the log's unit
  double perSecond = 0;
  double lossScale = 0;                              ///< fp16's; 0: none, and then nothing about it is written
  bool skipped = false;                              ///< the step changed no parameter; written where it is so, with fp16 always
  std::optional<int64_t> validTokens = std::nullopt; ///< targets that count in the loss; absent where all do
  std::string batchHash = {};                        ///< of the step's samples, to compare what two runs saw; empty: not written
  std::optional<int64_t> epoch = std::nullopt;       ///< of the step's first sample; absent where data have no end
  int64_t sample = 0;                                ///< its place in that epoch
  double flopsPerSecond = 0;                         ///< of the model's products; 0: unknown, and not written
  double peakShare = 0;                              ///< of what the machine's products reach; 0: unknown, and not written
  std::vector<double> groupNorms = {};               ///< of the gradients of each of the log's groups
  std::vector<LossRecord> losses = {};               ///< each of the log's losses
  double time = 0;                                   ///< seconds since 1970, for formats that have them
};

/// An evaluation after so many training steps.
struct EvaluationRecord {
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> values; ///< "loss", "perplexity" and others, by name
  double time = 0;
};

/// A checkpoint of so many training steps that could not be written.
struct FailedSaveRecord {
  int64_t step = 0;
  std::string why;
  double time = 0;
};

/// What all rows of a log have in common.
struct LogShape {
  std::string unit = "tokens";            ///< what is counted: tokens, or samples where no tokens are predicted
  std::vector<std::string> groups;        ///< of parameters, whose gradients' norms are logged; empty: none but that of all
  std::vector<std::string> losses{};      ///< names of several losses; empty: there is one, without a name
  std::vector<std::string> evaluations{}; ///< names of the values of evaluations, for formats that have columns
};

/// How rows are written: pure functions to bytes. A row is whole or, where a run was killed, the last one is cut off.
class LogFormat {
public:
  virtual ~LogFormat() = default;
  /// What an empty file begins with.
  virtual std::string head(const LogShape &) const { return {}; }
  virtual std::string row(const LogShape &shape, const StepRecord &record) const = 0;
  virtual std::string row(const LogShape &shape, const EvaluationRecord &record) const = 0;
  virtual std::string row(const LogShape &shape, const FailedSaveRecord &record) const = 0;
  /// Bytes of the head and of the rows that come before training step `step`, as far as they are whole and the steps follow each other: an
  /// evaluation after `step` steps is one of them, and a save that failed then. 0 where the log is none of this shape.
  virtual size_t bytesBefore(const std::string &log, const LogShape &shape, int64_t step) const = 0;
};

/// One JSON object per line.
const LogFormat &jsonLines();
/// Columns, separated by commas, under a line with their names; what a row does not have is empty.
const LogFormat &commaSeparated();
/// TensorBoard's event files.
const LogFormat &tensorBoardEvents();

/// By the file's name: events where it has "tfevents" in it, columns for ".csv", else lines of JSON.
const LogFormat &logFormatOf(const std::string &path);

/// The line of a step without its end: {"step":0,"loss":...,"grad_norm":...,"lr":...,"tokens":...,"tokens_per_second":...}, then
/// "flops_per_second", "peak_share", "grad_norms" of groups, "losses" and "counted" of several losses by their names, with fp16
/// "loss_scale":...,"skipped":false, without it "skipped":true after a step that changed nothing, "valid_tokens", "epoch" with "sample",
/// and "batch_hash" where they are known; another unit replaces "tokens"; NaN and infinity are null.
std::string stepLine(const StepRecord &record, const LogShape &shape = {});

/// Whether a row of training step `row` may follow `last` in a log that is cut before `step`; keeps the new last one.
bool followsBefore(int64_t row, int64_t step, std::optional<int64_t> &last);

} // namespace npar::engine
