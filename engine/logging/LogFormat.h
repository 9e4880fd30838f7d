// The rows that a run logs, and the formats of logs: each turns rows into bytes, and finds the bytes of a log that belong to rows before a
// given step.
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
  std::optional<int64_t> counted = std::nullopt; ///< number of positions that count in it; nothing if all do
};

/// A training step.
struct StepRecord {
  int64_t step = 0;
  double loss = 0, gradNorm = 0, learningRate = 0;
  int64_t amount = 0; ///< number of units in this step, in the log's unit
  double perSecond = 0;
  double lossScale = 0;                              ///< loss scale of fp16; 0: none, and not written
  bool skipped = false;                              ///< the step changed no parameter; written if true, and always with fp16
  std::optional<int64_t> validTokens = std::nullopt; ///< targets that count in the loss; absent if all do
  std::string batchHash = {};                        ///< hash of the step's samples, to compare the data of two runs; empty: not written
  std::optional<int64_t> epoch = std::nullopt;       ///< epoch of the step's first sample; absent for endless data
  int64_t sample = 0;                                ///< position of that sample in the epoch
  double flopsPerSecond = 0;                         ///< FLOP/s of the model's products; 0: unknown, and not written
  double peakShare = 0;                              ///< share of the speed that the machine's products reach; 0: unknown, and not written
  std::vector<double> groupNorms = {};               ///< norm of the gradients of each of the log's groups
  std::vector<LossRecord> losses = {};               ///< each of the log's losses
  std::vector<double> logged = {};                   ///< each of the numbers that the model logs
  double time = 0;                                   ///< seconds since 1970, for formats that have them
  std::optional<double> dataWait = std::nullopt;     ///< seconds spent waiting for the batch; absent: not measured
  std::string products = {};                         ///< order of products of bf16 from this step on; empty: not written
};

/// Results of an evaluation after `step` training steps.
struct EvaluationRecord {
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> values; ///< "loss", "perplexity" and others, by name
  double time = 0;
};

/// The end of an epoch, or of the run, after `step` training steps.
struct EpochRecord {
  int64_t step = 0;
  double epoch = 0;     ///< passes over the data; not whole if the run ends within one
  int64_t steps = 0;    ///< of this run since the end before
  double loss = 0;      ///< mean loss of these steps
  double perSecond = 0; ///< in the log's unit, waiting for data included, evaluations not
  double seconds = 0;
  bool best = false;                                  ///< the evaluation is the best so far
  std::vector<std::pair<std::string, double>> values; ///< of the evaluation at this step; empty: there is none
  double time = 0;
};

/// A checkpoint after `step` training steps that could not be written.
struct FailedSaveRecord {
  int64_t step = 0;
  std::string why;
  double time = 0;
};

/// The properties that all rows of a log share.
struct LogShape {
  std::string unit = "tokens";            ///< unit of amounts: tokens, or samples if no tokens are predicted
  std::vector<std::string> groups;        ///< parameter groups whose gradient norms are logged; empty: only the norm of all is
  std::vector<std::string> losses{};      ///< names of several losses; empty: the only loss has no name
  std::vector<std::string> evaluations{}; ///< names of the values of evaluations, for formats that have columns
  std::vector<std::string> logged{};      ///< names of the numbers that the model logs
  bool epochs = false;                    ///< there are rows of epochs
};

/// The part of a log that a run continues.
struct KeptRows {
  size_t bytes = 0;
  std::string fault = {}; ///< why rows after these, of steps that the run does not repeat, cannot be kept; empty: there are none
};

/// A format of rows: pure functions to bytes. Rows are complete, except that the last one may be cut off if a run was killed.
class LogFormat {
public:
  virtual ~LogFormat() = default;
  /// The beginning of an empty file.
  virtual std::string head(const LogShape &) const { return {}; }
  virtual std::string row(const LogShape &shape, const StepRecord &record) const = 0;
  virtual std::string row(const LogShape &shape, const EvaluationRecord &record) const = 0;
  virtual std::string row(const LogShape &shape, const EpochRecord &record) const = 0;
  virtual std::string row(const LogShape &shape, const FailedSaveRecord &record) const = 0;
  /// The head and the rows that come before training step `step`. An evaluation or the end of an epoch after `step` steps, and a failed
  /// save then, are among them. Steps may be missing: a run in between had no log. A log of another shape, a complete row that cannot be
  /// read and steps that do not ascend are faults.
  virtual KeptRows rowsBefore(const std::string &log, const LogShape &shape, int64_t step) const = 0;
};

/// One JSON object per line.
const LogFormat &jsonLines();
/// Columns, separated by commas, under a header line; values that a row does not have are empty.
const LogFormat &commaSeparated();
/// TensorBoard's event files.
const LogFormat &tensorBoardEvents();

/// The format by the file's name: events if it contains "tfevents", columns for ".csv", otherwise lines of JSON.
const LogFormat &logFormatOf(const std::string &path);

/// The line of a step without its end: {"schema":1,"step":0,"loss":...,"grad_norm":...,"lr":...,"tokens":...,"tokens_per_second":...}, then
/// "flops_per_second", "peak_share", "grad_norms" of groups, "losses" and "counted" of several losses by their names, "logged" numbers,
/// with fp16 "loss_scale":...,"skipped":false, without it "skipped":true after a step that changed nothing, "valid_tokens", "epoch" with
/// "sample", "data_wait_seconds", "batch_hash" and "products" where they are known; another unit replaces "tokens"; NaN and infinity are
/// null.
std::string stepLine(const StepRecord &record, const LogShape &shape = {});

/// The values of an epoch's row by their names, without those of its evaluation: "epoch_done", "epoch_steps", "epoch_loss",
/// "epoch_seconds", "epoch_tokens_per_second".
std::vector<std::pair<std::string, double>> epochValues(const EpochRecord &record, const LogShape &shape);

/// Finds the row at which a log is cut before a step.
class RowOrder {
public:
  explicit RowOrder(int64_t step) : step(step) {}
  /// True if the log keeps its next row, which belongs to `row`: the number of a training step, or of steps done.
  bool keeps(int64_t row, bool trains);
  /// Why a row that is not kept is one of a step before; empty: it is not.
  const std::string &fault() const { return why; }

private:
  int64_t step;
  std::optional<int64_t> last; ///< training step
  std::string why;
};

} // namespace npar::engine
