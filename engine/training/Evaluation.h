// Evaluates a forward-only program: one pass over the data, each sample once, with all measures summed up.
#pragma once

#include "engine/data/OncePass.h"
#include "engine/runtime/Session.h"
#include "engine/training/MeasureSum.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace npar::training {

/// A measure and its running sum. A program that lists no measures but computes losses gets an unnamed one, the loss over the tokens that
/// the data mark as counting.
struct Measured {
  std::string name;
  program::MeasureKind kind = program::MeasureKind::Loss;
  double weight = 1;
  MeasureSum sum;
};

class Evaluation {
public:
  explicit Evaluation(const program::Program &program);

  /// Runs all batches. Calls `each` after every batch, while its results can be read, with its first sample and number of samples.
  engine::Status run(engine::Session &session, const engine::OncePass &data,
                     const std::function<engine::Status(int64_t first, int64_t samples)> &each);

  /// Adds the results of the session's last step, whose batch it was.
  engine::Status add(engine::Session &session, const engine::CountedBatch &batch);

  const std::vector<Measured> &measures() const { return all; }
  /// The weighted sum of the losses; a loss without counting positions adds nothing.
  double loss() const;
  /// Counting positions, summed over all losses; 0: there is nothing to evaluate.
  int64_t counted() const;
  /// True if the program lists its measures. Otherwise it computes one loss over the tokens of a text, or only outputs.
  bool hasMeasures() const { return program->measures() && program->measures()->size() > 0; }
  /// True if the program measures or predicts per sample, so that an incomplete sample cannot be used.
  bool takesWholeSamples() const { return hasMeasures() || (program->predictions() && program->predictions()->size() > 0); }
  /// True if a loss is among the measures.
  bool hasLoss() const;
  /// The order of the products of bf16; nothing for a program without them, or if nothing was run.
  std::optional<program::ProductOrder> productOrder() const { return order; }
  /// Number of elements that a result has per sample.
  static uint64_t elementsOfSample(const program::LogicalResult &result);

private:
  const program::Program *program;
  std::vector<Measured> all;
  std::optional<program::ProductOrder> order;
};

} // namespace npar::training
