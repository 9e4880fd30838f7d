// A data set gone through once, in its own order: what an evaluation adds up.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/data/TokenFile.h"
#include "engine/runtime/Batch.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

/// A batch, and which of the positions count for which the program leaves a loss: one byte each, 0 or 1, samples first. Those of a sample
/// that only fills the batch up do not, nor those of targets that the program ignores. `samples`: how many samples are there, which come
/// first.
struct CountedBatch {
  Batch batch;
  std::vector<uint8_t> counts;
  int64_t samples = 0;
};

/// The answer depends on the arguments alone. Thread-safe.
class OncePass {
public:
  virtual ~OncePass() = default;
  virtual int64_t steps() const = 0;
  /// Of all batches together.
  virtual int64_t samples() const = 0;
  virtual CountedBatch batch(int64_t step) const = 0;
  /// From now on batches hold these of their samples alone, ascending: for one of several processes. Of the others nothing is read but
  /// targets, where some do not count; `counts` is of all.
  void keepRows(std::vector<int64_t> rows) { kept = std::move(rows); }
  /// The files that it reads.
  const std::vector<std::string> &paths() const { return read; }
  /// Not good once a file could not be read any more: batches since then are not of the data.
  virtual Status intact() const = 0;
  /// What is legal about the data but worth knowing, a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }

  /// A stream of tokens: each but the first is the target of one position. Samples are cut as DataSource::openTokens cuts them; a last one
  /// that is not full is filled up. `positions`: how many losses the program leaves of a sample. Refuses what checkTokenValues refuses, a
  /// program with other inputs than a stream's and a file of fewer than two tokens.
  static Result<std::unique_ptr<OncePass>> openTokens(const std::string &path, TokenFormat format, const BatchShape &shape,
                                                      uint64_t positions);
  /// The files of a plan, of its split the part that it names: every sample once, file after file. openTokens
  /// reads one stream without mask, documents and split to its last token, unless `wholeSamples`. Refuses what openSamples refuses.
  static Result<std::unique_ptr<OncePass>> open(const DataPlan &plan, const BatchShape &shape, uint64_t positions,
                                                bool wholeSamples = false);
  /// A safetensors file with a tensor for each input, the samples first.
  static Result<std::unique_ptr<OncePass>> openTensors(const std::string &path, const BatchShape &shape, uint64_t positions);

protected:
  /// The rows that batches hold, of so many.
  std::vector<int64_t> keptOf(int64_t rows) const;

private:
  std::vector<std::string> read;
  std::optional<std::vector<int64_t>> kept; ///< nothing: all
};

} // namespace npar::engine
