// Global batches of tokens and targets by step number: from a token file in some order, or random for checks.
#pragma once

#include "engine/data/TokenFile.h"

#include <optional>
#include <vector>

namespace npar::engine {

/// Row-major [batch, sequence], of the whole global batch; targets are the tokens shifted by one, or the value that a model ignores.
struct Batch {
  std::vector<int32_t> tokens, targets;
};

enum class Order { Shuffled, Sequential };

/// "shuffled" or "sequential"; anything else is refused with the list.
Result<Order> sampleOrder(const std::string &name);

/// Which targets of a token file do not count, and the value that they get.
struct TargetMask {
  std::string path; ///< of a MaskFile for the tokens
  int32_t ignore = 0;
};

/// Random targets that do not count, spread unevenly: every row loses another share of its targets, and where the batch has several
/// groups of `rows` rows one of them loses all, another one in each step.
struct RandomMask {
  int32_t ignore = 0;
  int64_t rows = 0;
};

/// Any batch can be asked for at any time; the answer depends on the arguments alone, never on the plan. Thread-safe.
class DataSource {
public:
  virtual ~DataSource() = default;
  virtual Batch batch(int64_t step) const = 0;
  /// How many samples there are before they repeat; 0: no end.
  virtual int64_t samples() const = 0;

  /// A file of n tokens has floor((n - 1) / sequence) samples; sample i is tokens [i * sequence, i * sequence + sequence). Batch k holds
  /// the samples at places k * batch ... k * batch + batch - 1 of the order, which goes round: file order, or a new permutation per epoch
  /// by seed.
  static Result<std::unique_ptr<DataSource>> open(const std::string &path, TokenFormat format, Order order, int64_t sequence, int64_t batch,
                                                  uint64_t seed, int64_t vocab, const std::optional<TargetMask> &mask = std::nullopt);
  /// Independent uniform tokens and targets, by seed and step.
  static std::unique_ptr<DataSource> random(int64_t sequence, int64_t batch, uint64_t seed, int64_t vocab,
                                            const std::optional<RandomMask> &mask = std::nullopt);
};

} // namespace npar::engine
