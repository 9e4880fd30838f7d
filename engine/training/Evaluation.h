// What an evaluation comes to: every measure of a forward-only program over data gone through once, each sample once.
#pragma once

#include "engine/data/OncePass.h"
#include "engine/runtime/Session.h"
#include "engine/training/MeasureSum.h"

#include <functional>
#include <string>
#include <vector>

namespace npar::training {

/// A measure of the program with what was added up. A program without measures has one, the loss, which counts where the data say so.
struct Measured {
  std::string name;
  program::MeasureKind kind = program::MeasureKind::Loss;
  double weight = 1;
  MeasureSum sum;
};

class Evaluation {
public:
  explicit Evaluation(const program::Program &program);

  /// Runs all batches. `each` is told after each of them, when its results can be read: the first sample and how many there are.
  engine::Status run(engine::Session &session, const engine::OncePass &data,
                     const std::function<engine::Status(int64_t first, int64_t samples)> &each);

  const std::vector<Measured> &measures() const { return all; }
  /// The weighted sum of the losses; one in which nothing counts adds nothing.
  double loss() const;
  /// Positions that count in the losses together; 0: there is nothing to evaluate.
  int64_t counted() const;
  /// True if the program lists its measures. Otherwise it has one loss over the tokens of a text, or outputs alone.
  bool hasMeasures() const { return program->measures() && program->measures()->size() > 0; }
  /// True if something is measured or written of each sample, so that an incomplete one cannot count.
  bool takesWholeSamples() const { return hasMeasures() || (program->predictions() && program->predictions()->size() > 0); }
  /// True if a loss is among the measures.
  bool hasLoss() const;
  /// Elements of one sample of a result.
  static uint64_t elementsOfSample(const program::LogicalResult &result);

private:
  engine::Status addUp(engine::Session &session, const engine::CountedBatch &batch);

  const program::Program *program;
  std::vector<Measured> all;
};

} // namespace npar::training
