// Fills batches with tokens, reads the logits of the last one, and checks that later tokens change none of them.
#include "engine/training/Generator.h"

#include "engine/program/Kept.h"
#include "engine/program/Program_generated.h"
#include "engine/runtime/Batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace npar::training {

using engine::Result;
using engine::Status;

Result<GeneratorShape> GeneratorShape::of(const program::Program &program) {
  engine::BatchShape inputs = engine::BatchShape::of(program);
  if (inputs.inputs.size() != 1 || inputs.inputs[0].role != program::InputRole::Stream)
    return Status::badInput("npar generate needs a model whose logits depend only on a stream of tokens, not on " + inputs.names());
  const engine::InputShape &tokens = inputs.inputs[0];
  const program::LogicalResult &logits = *program.results()->Get(0);
  bool alike = logits.axes()->size() == 3 && logits.axes()->Get(1)->str() == tokens.axes[1];
  if (!alike) {
    std::string axes;
    for (const auto *axis : *logits.axes())
      axes += (axes.empty() ? "" : ", ") + axis->str();
    return Status::badInput("the model's logits are over [" + axes + "]; npar generate needs [batch, " + tokens.axes[1] +
                            ", CLASSES]: scores of the next token at each position");
  }
  return GeneratorShape{inputs.rows, tokens.shape[1], logits.shape()->Get(2), tokens.range.classes};
}

Status Generator::compute(const GeneratorPart &part, int64_t first, int64_t end, int64_t position) {
  // The padding after these tokens can be any token: a causal model ignores it, and the next tokens overwrite its cache entries.
  std::vector<int32_t> row(static_cast<size_t>(part.shape.positions));
  std::copy(sequence.begin() + first, sequence.begin() + end, row.begin());
  if (keeps) {
    std::vector<double> positions(static_cast<size_t>(part.shape.positions));
    std::iota(positions.begin(), positions.end(), static_cast<double>(position));
    if (Status status = part.session->write(program::keptPositions, positions); !status.ok())
      return status;
  }
  return step(part, row);
}

Status Generator::step(const GeneratorPart &part, const std::vector<int32_t> &row) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < part.shape.rows; ++i)
    values.insert(values.end(), row.begin(), row.end());
  Result<engine::StepResult> done = part.session->step({std::move(values)}, steps++);
  return done.ok() ? Status() : done.status();
}

Result<std::vector<double>> Generator::scoresAt(const GeneratorPart &part, int64_t place) const {
  auto classes = static_cast<uint64_t>(part.shape.classes);
  return part.session->readResult("logits", static_cast<uint64_t>(place) * classes, classes);
}

Status Generator::readWithOthers(int64_t start, int64_t end) {
  const GeneratorPart &part = parts[0];
  int64_t size = end - start, all = part.shape.positions, same = size < all ? size : all / 2;
  if (same == 0 || part.shape.tokens == 1)
    return {};
  int64_t kinds = part.shape.tokens > 1 ? std::min<int64_t>(part.shape.tokens, INT32_MAX) : 2;
  std::vector<int32_t> row(static_cast<size_t>(all));
  std::copy(sequence.begin() + start, sequence.begin() + end, row.begin());
  for (int64_t i = same; i < all; ++i) // every token changes: adds 1 to kinds - 1, stepped by a prime
    row[static_cast<size_t>(i)] = static_cast<int32_t>((row[static_cast<size_t>(i)] + 1 + 7919 * i % (kinds - 1)) % kinds);
  if (Status status = step(part, row); !status.ok())
    return status;
  constexpr int64_t most = 8; // places to compare, including the last one
  int64_t stride = std::max<int64_t>(1, same / most);
  for (int64_t place = same - 1; place >= 0; place -= stride) {
    Result<std::vector<double>> scores = scoresAt(part, place);
    if (!scores.ok())
      return scores.status();
    remembered[place] = std::move(*scores);
  }
  return {};
}

Status Generator::compare() {
  for (const auto &[place, before] : remembered) {
    Result<std::vector<double>> now = scoresAt(parts[0], place);
    if (!now.ok())
      return now.status();
    auto isSame = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (!std::equal(before.begin(), before.end(), now->begin(), now->end(), isSame))
      return Status::badInput("the model cannot generate: its scores after " + std::to_string(place + 1) +
                              (place == 0 ? " token" : " tokens") +
                              " change with later tokens, which are not yet known\nnpar: help: make no position depend on later ones, as "
                              "attention(..., causal = true) does");
  }
  remembered.clear();
  return {};
}

Result<std::vector<double>> Generator::wholeScores(int64_t start, int64_t end) {
  if (start != begin)
    begin = start, remembered.clear();
  if (steps == 0)
    if (Status status = readWithOthers(start, end); !status.ok())
      return status;
  if (Status status = compute(parts[0], start, end, 0); !status.ok())
    return status;
  if (Status status = compare(); !status.ok())
    return status;
  Result<std::vector<double>> scores = scoresAt(parts[0], end - start - 1);
  if (scores.ok())
    remembered[end - start - 1] = *scores;
  return scores;
}

Result<std::vector<double>> Generator::scores() {
  int64_t end = static_cast<int64_t>(sequence.size()), start = std::max<int64_t>(0, end - length);
  if (!keeps)
    return wholeScores(start, end);
  if (start != begin) // the window moved, so every token has a new position
    begin = start, known = 0;
  for (;;) {
    int64_t left = end - begin - known;
    const GeneratorPart &part = left > 1 ? parts.front() : parts.back();
    int64_t count = std::min(left, part.shape.positions);
    if (Status status = compute(part, begin + known, begin + known + count, known); !status.ok())
      return status;
    known += count;
    if (begin + known == end)
      return scoresAt(part, count - 1);
  }
}

} // namespace npar::training
