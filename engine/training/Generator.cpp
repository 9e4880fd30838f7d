// Fills batches with tokens, reads the logits of the last ones, and checks that later tokens change none of them.
#include "engine/training/Generator.h"

#include "engine/program/Kept.h"
#include "engine/program/Program_generated.h"
#include "engine/runtime/Batch.h"

#include <algorithm>
#include <cmath>

namespace npar::training {

using engine::Result;
using engine::Status;

/// Returns true if the program keeps keys and values from step to step.
static bool keepsKeys(const program::Program &program) {
  return std::any_of(program.variables()->begin(), program.variables()->end(),
                     [](const program::Variable *variable) { return variable->name()->str() == program::keptPositions; });
}

Result<GeneratorShape> GeneratorShape::of(const program::Program &program) {
  engine::BatchShape inputs = engine::BatchShape::of(program);
  if (inputs.inputs.size() != 1 || inputs.inputs[0].role != program::InputRole::Stream)
    return Status::badInput("npar generate needs a model whose logits depend only on a stream of tokens, not on " + inputs.names());
  const engine::InputShape &tokens = inputs.inputs[0];
  const program::LogicalResult &logits = *program.results()->Get(0);
  bool alike =
      logits.axes()->size() == 3 && (logits.axes()->Get(1)->str() == tokens.axes[1] || (keepsKeys(program) && logits.shape()->Get(1) == 1));
  if (!alike) {
    std::string axes;
    for (const auto *axis : *logits.axes())
      axes += (axes.empty() ? "" : ", ") + axis->str();
    return Status::badInput("the model's logits are over [" + axes + "]; npar generate needs [batch, " + tokens.axes[1] +
                            ", CLASSES]: scores of the next token at each position");
  }
  return GeneratorShape{inputs.rows, tokens.shape[1], logits.shape()->Get(2), logits.shape()->Get(1), tokens.range.classes};
}

Generator::Generator(GeneratorPart whole, const Prompts &prompts)
    : parts{whole}, length(whole.shape.positions), keeps(false), sequences(prompts.size()) {
  for (size_t i = 0; i < prompts.size(); ++i)
    sequences[i].tokens = prompts[i];
}

Generator::Generator(std::vector<GeneratorPart> parts, int64_t length, const Prompts &prompts) : Generator(parts.front(), prompts) {
  this->parts = std::move(parts), this->length = length, keeps = true;
}

void Generator::Sequence::limit(int64_t length) {
  int64_t start = std::max<int64_t>(0, static_cast<int64_t>(tokens.size()) - length);
  if (start != begin)
    begin = start, known = 0, remembered.clear();
}

Status Generator::step(const GeneratorPart &part, const Prompts &rows) {
  std::vector<int32_t> values;
  for (size_t i = 0; i < static_cast<size_t>(part.shape.rows); ++i)
    values.insert(values.end(), rows[i % rows.size()].begin(), rows[i % rows.size()].end());
  Result<engine::StepResult> done = part.session->step({std::move(values)}, steps++);
  return done.ok() ? Status() : done.status();
}

Result<std::vector<double>> Generator::scoresAt(const GeneratorPart &part, size_t sequence, int64_t place) const {
  auto classes = static_cast<uint64_t>(part.shape.classes);
  uint64_t first = sequence * static_cast<uint64_t>(part.shape.scored) + static_cast<uint64_t>(place);
  return part.session->readResult("logits", first * classes, classes);
}

//===- The whole sequence for each token ------------------------------------------------------------------------------------===//

Status Generator::readWithOthers() {
  const GeneratorPart &part = parts[0];
  int64_t all = part.shape.positions;
  if (part.shape.tokens == 1)
    return {};
  auto same = [&](const Sequence &sequence) { return sequence.left() < all ? sequence.left() : all / 2; };
  int64_t kinds = part.shape.tokens > 1 ? std::min<int64_t>(part.shape.tokens, INT32_MAX) : 2;
  Prompts rows;
  for (const Sequence &sequence : sequences) {
    std::vector<int32_t> &row = rows.emplace_back(sequence.tokens.begin() + sequence.begin, sequence.tokens.end());
    row.resize(static_cast<size_t>(all));
    for (int64_t i = same(sequence); i < all; ++i) // every token changes: adds 1 to kinds - 1, stepped by a prime
      row[static_cast<size_t>(i)] = static_cast<int32_t>((row[static_cast<size_t>(i)] + 1 + 7919 * i % (kinds - 1)) % kinds);
  }
  if (Status status = step(part, rows); !status.ok())
    return status;
  constexpr int64_t most = 8; // places to compare, including the last one
  for (size_t i = 0; i < sequences.size(); ++i)
    for (int64_t place = same(sequences[i]) - 1, stride = std::max<int64_t>(1, (place + 1) / most); place >= 0; place -= stride) {
      Result<std::vector<double>> scores = scoresAt(part, i, place);
      if (!scores.ok())
        return scores.status();
      sequences[i].remembered[place] = std::move(*scores);
    }
  return {};
}

Status Generator::compare(size_t sequence) {
  for (const auto &[place, before] : sequences[sequence].remembered) {
    Result<std::vector<double>> now = scoresAt(parts[0], sequence, place);
    if (!now.ok())
      return now.status();
    auto isSame = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (!std::equal(before.begin(), before.end(), now->begin(), now->end(), isSame))
      return Status::badInput("the model cannot generate: its scores after " + std::to_string(place + 1) +
                              (place == 0 ? " token" : " tokens") +
                              " change with later tokens, which are not yet known\nnpar: help: make no position depend on later ones, as "
                              "attention(..., causal = true) does");
  }
  sequences[sequence].remembered.clear();
  return {};
}

Status Generator::advanceWhole() {
  if (steps == 0)
    if (Status status = readWithOthers(); !status.ok())
      return status;
  Prompts rows;
  for (const Sequence &sequence : sequences) // the tokens after the sequence can be any: a causal model ignores them
    rows.emplace_back(sequence.tokens.begin() + sequence.begin, sequence.tokens.end()).resize(static_cast<size_t>(length));
  if (Status status = step(parts[0], rows); !status.ok())
    return status;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (Status status = compare(i); !status.ok())
      return status;
    Result<std::vector<double>> last = scores(i);
    if (!last.ok())
      return last.status();
    sequences[i].remembered[sequences[i].left() - 1] = std::move(*last);
  }
  return {};
}

//===- Keys and values kept -------------------------------------------------------------------------------------------------===//

Status Generator::compute(const GeneratorPart &part, int64_t spared) {
  Prompts rows;
  std::vector<int64_t> counts;
  for (const Sequence &sequence : sequences) {
    auto next = sequence.tokens.begin() + sequence.begin + sequence.known;
    counts.push_back(std::clamp<int64_t>(sequence.left() - spared, 0, part.shape.positions));
    // The tokens after these can be any: a causal model ignores them, and the next tokens overwrite their cache entries.
    rows.emplace_back(next, next + counts.back()).resize(static_cast<size_t>(part.shape.positions));
  }
  std::vector<double> positions;
  for (size_t i = 0; i < static_cast<size_t>(part.shape.rows); ++i)
    for (int64_t place = 0; place < part.shape.positions; ++place)
      positions.push_back(static_cast<double>(sequences[i % sequences.size()].known + place));
  if (Status status = part.session->write(program::keptPositions, positions); !status.ok())
    return status;
  if (Status status = step(part, rows); !status.ok())
    return status;
  for (size_t i = 0; i < sequences.size(); ++i)
    sequences[i].known += counts[i];
  return {};
}

Status Generator::advanceKept() {
  auto isLong = [](const Sequence &sequence) { return sequence.left() > 1; };
  while (std::any_of(sequences.begin(), sequences.end(), isLong))
    if (Status status = compute(parts.front(), 1); !status.ok())
      return status;
  return compute(parts.back(), 0);
}

Status Generator::advance() {
  for (Sequence &sequence : sequences)
    sequence.limit(length);
  return keeps ? advanceKept() : advanceWhole();
}

Result<std::vector<double>> Generator::scores(size_t sequence) const {
  return scoresAt(parts.back(), sequence, keeps ? 0 : sequences[sequence].left() - 1);
}

} // namespace npar::training
