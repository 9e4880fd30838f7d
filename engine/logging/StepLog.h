// One JSON object per training step, a line each, for tools that follow a run.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace npar::engine {

struct StepRecord {
  int64_t step = 0;
  double loss = 0, gradNorm = 0, learningRate = 0;
  int64_t amount = 0; ///< of this step, in `unit`
  double perSecond = 0;
  double lossScale = 0;                              ///< fp16's; 0: none, and then nothing about it is written
  bool skipped = false;                              ///< the step changed no parameter; written where it is so, with fp16 always
  std::optional<int64_t> validTokens = std::nullopt; ///< targets that count in the loss; absent where all do
  std::string unit = "tokens";                       ///< what is counted: tokens, or samples where no stream of tokens is fed
  std::string batchHash = {};                        ///< of the step's samples, to compare what two runs saw; empty: not written
  std::optional<int64_t> epoch = std::nullopt;       ///< of the step's first sample; absent where data have no end
  int64_t sample = 0;                                ///< its place in that epoch
};

/// Appends to a fresh file and flushes each line, so that the file can be followed and survives a crash. A file that cannot be written is
/// wrong input.
class StepLog {
public:
  /// To an open file, which stays the caller's; `path` is its name in messages.
  static Result<std::unique_ptr<StepLog>> open(int descriptor, const std::string &path);
  static Result<std::unique_ptr<StepLog>> open(const std::string &path);
  ~StepLog();
  StepLog(const StepLog &) = delete;
  Status append(const StepRecord &record);
  Status close();

private:
  StepLog(std::FILE *file, std::string path) : file(file), path(std::move(path)) {}
  std::FILE *file;
  std::string path;
};

/// The line without its end: {"step":0,"loss":...,"grad_norm":...,"lr":...,"tokens":...,"tokens_per_second":...}, with fp16 also
/// "loss_scale":...,"skipped":false, without it "skipped":true after a step that changed nothing, with "valid_tokens", "epoch" with
/// "sample", and "batch_hash" at the end where they are known; another unit stands in place of "tokens"; NaN and infinity are null.
std::string stepLine(const StepRecord &record);

} // namespace npar::engine
