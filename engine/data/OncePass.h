// Passes over a data set once, in its own order, for evaluations.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/data/TokenFile.h"
#include "engine/runtime/Batch.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

/// A batch, and a byte, 0 or 1, for each position for which the program leaves a loss, samples first: 1 if it counts. Positions of padding
/// samples do not count, nor do targets that the program ignores. `samples`: number of real samples, which come first.
struct CountedBatch {
  Batch batch;
  std::vector<uint8_t> counts;
  int64_t samples = 0;
};

/// Results depend only on the arguments. Thread-safe.
class OncePass {
public:
  virtual ~OncePass() = default;
  virtual int64_t steps() const = 0;
  /// Number of samples of all batches together.
  virtual int64_t samples() const = 0;
  virtual CountedBatch batch(int64_t step) const = 0;
  /// From now on, batches hold only these of their samples, ascending: for one of several processes. Other samples are not read, except for
  /// targets if some do not count; `counts` still covers all samples.
  void keepRows(std::vector<int64_t> rows) { kept = std::move(rows); }
  /// Number of threads that may compute samples of one batch at the same time, the calling one included; 0: as many as there are
  /// processors.
  void useWorkers(int count) { workers = count; }
  /// The files that it reads.
  const std::vector<std::string> &paths() const { return read; }
  /// The name of a sample, counted over all batches, that is a file, or its place in a file of texts; otherwise empty.
  virtual std::string nameOf(int64_t) const { return ""; }
  /// The texts that a sample's tokens were made of; empty if the data have none.
  virtual std::vector<std::string> textsOf(int64_t) const { return {}; }
  /// The names of the classes that folders of pictures or columns state, by number; empty if they state none.
  virtual std::vector<std::string> classes() const { return {}; }
  /// An error once a file could not be read any more: later batches are not valid data.
  virtual Status intact() const = 0;
  /// Remarks on legal but surprising data, a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }

  /// A stream of tokens: each except the first is the target of one position. Samples are cut as in DataSource::openTokens; an incomplete
  /// last one is padded. `positions`: number of losses that the program leaves per sample. Refuses what checkTokenValues refuses, a program
  /// with inputs that a stream does not feed, and a file of fewer than two tokens.
  static Result<std::unique_ptr<OncePass>> openTokens(const std::string &path, TokenFormat format, const BatchShape &shape,
                                                      uint64_t positions);
  /// The files of a plan, and of its split the part that it names: every sample once, file after file. openTokens reads one stream without
  /// mask, documents and split to its last token, unless `wholeSamples`. Refuses what openSamples refuses.
  static Result<std::unique_ptr<OncePass>> open(const DataPlan &plan, const BatchShape &shape, uint64_t positions,
                                                bool wholeSamples = false);
  /// A safetensors file with a tensor for each input, the samples first.
  static Result<std::unique_ptr<OncePass>> openTensors(const std::string &path, const BatchShape &shape, uint64_t positions);

protected:
  /// The rows that batches hold, out of `rows`.
  std::vector<int64_t> keptOf(int64_t rows) const;
  int workers = 1;

private:
  std::vector<std::string> read;
  std::optional<std::vector<int64_t>> kept; ///< nothing: all
};

} // namespace npar::engine
