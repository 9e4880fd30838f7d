// Fills a batch with the sequence and reads the logits of its last token.
#include "tools/npar/use/Generator.h"

#include "engine/program/Program_generated.h"
#include "engine/runtime/Batch.h"

#include <algorithm>

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

Result<std::vector<double>> Generator::scores() {
  // What comes after the sequence is any token: a causal model does not look there. The first row counts, the others are like it.
  int64_t known = std::min(static_cast<int64_t>(sequence.size()), shape.length);
  std::vector<int32_t> values(static_cast<size_t>(shape.rows * shape.length));
  for (int64_t row = 0; row < shape.rows; ++row)
    std::copy(sequence.end() - known, sequence.end(), values.begin() + row * shape.length);
  if (Result<engine::StepResult> done = session.step({std::move(values)}, steps++); !done.ok())
    return done.status();
  auto classes = static_cast<uint64_t>(shape.classes);
  return session.readResult("logits", static_cast<uint64_t>(known - 1) * classes, classes);
}

} // namespace npar::driver
