// Global batches of tokens and targets by step number: from a token file in some order, or random for checks.
#pragma once

#include "engine/data/BatchShape.h"
#include "engine/data/TokenFile.h"

#include <vector>

namespace npar::engine {

/// Row-major [batch, sequence], of the whole global batch; targets are the tokens shifted by one, or the value that a model ignores.
struct Batch {
  std::vector<int32_t> tokens, targets;
};

enum class Order { Shuffled, Sequential };

/// "shuffled" or "sequential"; anything else is refused with the list.
Result<Order> sampleOrder(const std::string &name);

/// Any batch can be asked for at any time; the answer depends on the arguments alone, never on the plan. Thread-safe.
class DataSource {
public:
  virtual ~DataSource() = default;
  virtual Batch batch(int64_t step) const = 0;
  /// How many samples there are before they repeat; 0: no end.
  virtual int64_t samples() const = 0;

  /// What is legal about the data but worth knowing, a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }

  /// A file of n tokens has floor((n - 1) / sequence) samples; sample i is tokens [i * sequence, i * sequence + sequence). Batch k holds
  /// the samples at places k * batch ... k * batch + batch - 1 of the order, which goes round: file order, or a new permutation per epoch
  /// by seed. `mask`: path of a MaskFile for the tokens, whose targets that do not count get `shape.ignore`, or empty. Refuses what
  /// checkData refuses.
  static Result<std::unique_ptr<DataSource>> open(const std::string &path, TokenFormat format, Order order, uint64_t seed,
                                                  const BatchShape &shape, const std::string &mask = "");
  /// Independent uniform tokens and targets of the values that they may have, by seed and step. `maskedRows` other than 0: of a program
  /// that ignores targets, some are ignored, spread unevenly: every row loses another share of its targets, and where the batch has
  /// several groups of `maskedRows` rows one of them loses all, another one in each step.
  static std::unique_ptr<DataSource> random(uint64_t seed, const BatchShape &shape, int64_t maskedRows = 0);
};

} // namespace npar::engine
