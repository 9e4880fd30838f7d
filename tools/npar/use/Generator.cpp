// Fills batches with tokens and reads the logits of the last one.
#include "tools/npar/use/Generator.h"

#include "engine/program/Kept.h"
#include "engine/program/Program_generated.h"
#include "engine/runtime/Batch.h"

#include <algorithm>
#include <numeric>

namespace npar::driver {

using engine::Result;
using engine::Status;

Result<GeneratorShape> GeneratorShape::of(const program::Program &program) {
  engine::BatchShape inputs = engine::BatchShape::of(program);
  if (inputs.inputs.size() != 1 || inputs.inputs[0].role != program::InputRole::Stream)
    return Status::badInput("generating takes a model whose logits depend on a stream of tokens alone, not on " + inputs.names());
  const engine::InputShape &tokens = inputs.inputs[0];
  const program::LogicalResult &logits = *program.results()->Get(0);
  bool alike = logits.axes()->size() == 3 && logits.axes()->Get(1)->str() == tokens.axes[1];
  if (!alike) {
    std::string axes;
    for (const auto *axis : *logits.axes())
      axes += (axes.empty() ? "" : ", ") + axis->str();
    return Status::badInput("the model's logits are over [" + axes + "]; generating takes [batch, " + tokens.axes[1] +
                            ", CLASSES]: scores of the next token at each position");
  }
  return GeneratorShape{inputs.rows, tokens.shape[1], logits.shape()->Get(2)};
}

Status Generator::compute(const GeneratorPart &part, int64_t first, int64_t end, int64_t position) {
  // What comes after these tokens is any token: a causal model does not look there, and what is kept of them the next ones replace.
  const GeneratorShape &shape = part.shape;
  std::vector<int32_t> values(static_cast<size_t>(shape.rows * shape.positions));
  for (int64_t row = 0; row < shape.rows; ++row)
    std::copy(sequence.begin() + first, sequence.begin() + end, values.begin() + row * shape.positions);
  if (keeps) {
    std::vector<double> positions(static_cast<size_t>(shape.positions));
    std::iota(positions.begin(), positions.end(), static_cast<double>(position));
    if (Status status = part.session->write(program::keptPositions, positions); !status.ok())
      return status;
  }
  Result<engine::StepResult> done = part.session->step({std::move(values)}, steps++);
  return done.ok() ? Status() : done.status();
}

Result<std::vector<double>> Generator::scores() {
  // The first row counts, the others are like it.
  auto scoresOf = [](const GeneratorPart &part, int64_t place) {
    auto classes = static_cast<uint64_t>(part.shape.classes);
    return part.session->readResult("logits", static_cast<uint64_t>(place) * classes, classes);
  };
  int64_t end = static_cast<int64_t>(sequence.size()), start = std::max<int64_t>(0, end - length);
  if (!keeps) {
    if (Status status = compute(parts[0], start, end, 0); !status.ok())
      return status;
    return scoresOf(parts[0], end - start - 1);
  }
  if (start != begin) // all stand elsewhere in what is looked at
    begin = start, known = 0;
  for (;;) {
    int64_t left = end - begin - known;
    const GeneratorPart &part = left > 1 ? parts.front() : parts.back();
    int64_t count = std::min(left, part.shape.positions);
    if (Status status = compute(part, begin + known, begin + known + count, known); !status.ok())
      return status;
    known += count;
    if (begin + known == end)
      return scoresOf(part, count - 1);
  }
}

} // namespace npar::driver
