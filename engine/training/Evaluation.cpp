// Sums up measures in data order, so that the result does not depend on which ranks computed the values.
#include "engine/training/Evaluation.h"

#include <algorithm>

namespace npar::training {

using engine::Result;
using engine::Status;
using program::MeasureKind;

Evaluation::Evaluation(const program::Program &program) : program(&program) {
  if (!hasMeasures()) {
    if (program.results()->Get(0)->name()->str() == "losses")
      all.push_back({"", MeasureKind::Loss, 1, MeasureSum(MeasureKind::Loss)});
    return;
  }
  for (const program::Measure *measure : *program.measures())
    all.push_back({measure->name()->str(), measure->kind(), measure->weight(), MeasureSum(measure->kind())});
}

bool Evaluation::hasLoss() const {
  return std::any_of(all.begin(), all.end(), [](const Measured &measure) { return measure.kind == MeasureKind::Loss; });
}

uint64_t Evaluation::elementsOfSample(const program::LogicalResult &result) {
  uint64_t elements = 1;
  for (uint32_t i = 1; i < result.shape()->size(); ++i)
    elements *= static_cast<uint64_t>(result.shape()->Get(i));
  return elements;
}

Status Evaluation::add(engine::Session &session, const engine::CountedBatch &batch) {
  std::vector<std::vector<double>> read(program->results()->size());
  auto values = [&](uint32_t index) -> Result<const std::vector<double> *> {
    const program::LogicalResult &result = *program->results()->Get(index);
    if (read[index].empty()) {
      Result<std::vector<double>> got =
          session.readResult(result.name()->str(), 0, elementsOfSample(result) * static_cast<uint64_t>(program->batch()));
      if (!got.ok())
        return got.status();
      read[index] = std::move(*got);
    }
    return &read[index];
  };
  if (all.empty())
    return {};
  if (!hasMeasures()) {
    Result<const std::vector<double> *> losses = values(0);
    for (size_t i = 0; losses.ok() && i < (*losses)->size(); ++i)
      if (batch.counts[i])
        all[0].sum.add((**losses)[i]);
    return losses.ok() ? Status() : losses.status();
  }
  for (uint32_t m = 0; m < program->measures()->size(); ++m) {
    const program::Measure &measure = *program->measures()->Get(m);
    const std::vector<double> *operands[2] = {nullptr, nullptr}, *counted = nullptr;
    for (uint32_t i = 0; i < measure.values()->size(); ++i) {
      Result<const std::vector<double> *> got = values(measure.values()->Get(i));
      if (!got.ok())
        return got.status();
      operands[i] = *got;
    }
    if (measure.counted() >= 0) {
      Result<const std::vector<double> *> got = values(static_cast<uint32_t>(measure.counted()));
      if (!got.ok())
        return got.status();
      counted = *got;
    }
    uint64_t there = elementsOfSample(*program->results()->Get(measure.values()->Get(0))) * static_cast<uint64_t>(batch.samples);
    for (uint64_t i = 0; i < there; ++i)
      if (!counted || (*counted)[i] != 0)
        all[m].sum.add((*operands[0])[i], operands[1] ? (*operands[1])[i] : 0);
  }
  return {};
}

Status Evaluation::run(engine::Session &session, const engine::OncePass &data,
                       const std::function<Status(int64_t first, int64_t samples)> &each) {
  order = session.productOrder();
  int64_t first = 0;
  for (int64_t step = 0; step < data.steps(); ++step) {
    engine::CountedBatch batch = data.batch(step);
    if (Status status = data.intact(); !status.ok()) { // the file was cut: missing data must not be evaluated
      session.abandon(status);
      return status;
    }
    if (Result<engine::StepResult> done = session.step(batch.batch, step); !done.ok())
      return done.status();
    if (Status status = add(session, batch); !status.ok())
      return status;
    if (Status status = each(first, batch.samples); !status.ok())
      return status;
    first += batch.samples;
  }
  return {};
}

double Evaluation::loss() const {
  double total = 0;
  for (const Measured &measure : all)
    if (measure.kind == MeasureKind::Loss)
      total += measure.weight * measure.sum.value().value_or(0);
  return total;
}

int64_t Evaluation::counted() const {
  int64_t total = 0;
  for (const Measured &measure : all)
    if (measure.kind == MeasureKind::Loss)
      total += measure.sum.counted();
  return total;
}

} // namespace npar::training
