// Turns lengths in epochs and shares of the run into steps.
#include "engine/runtime/RunLength.h"

#include "engine/program/RateWords.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::engine {

using program::LearningRate;
using program::LengthUnit;
using program::RateLength;
using program::RateSchedule;

namespace {

bool hasEnd(const LearningRate &rate) { return rate.schedule() == RateSchedule::Linear || rate.schedule() == RateSchedule::Cosine; }
bool hasFactor(const LearningRate &rate) { return rate.schedule() == RateSchedule::Step || rate.schedule() == RateSchedule::Exponential; }

/// The lengths that the schedule of a rate uses.
std::vector<const RateLength *> lengthsOf(const LearningRate &rate) {
  std::vector<const RateLength *> lengths = {rate.warmup()};
  if (hasEnd(rate))
    lengths.push_back(rate.steps());
  if (hasFactor(rate))
    lengths.push_back(rate.every());
  return lengths;
}

bool uses(const LearningRate &rate, LengthUnit unit) {
  const std::vector<const RateLength *> lengths = lengthsOf(rate);
  return std::any_of(lengths.begin(), lengths.end(), [&](const RateLength *each) { return each->unit() == unit; });
}

/// What a rate is once the run is known; lengths in steps of its batch.
struct KnownRate {
  double offset = 0, warmup = 0, steps = 0, every = 1;
};

Result<KnownRate> knownRate(const LearningRate &rate, const RunLength &run) {
  if (uses(rate, LengthUnit::Epochs) && !run.stepsPerEpoch)
    return Status::badInput("the learning rate has lengths in epochs, but there are no epochs in random data, nor in data that a program "
                            "gives step by step\nnpar: help: write its lengths in steps, or train on files");
  if (uses(rate, LengthUnit::Run) && !run.steps)
    return Status::badInput("the learning rate has lengths in shares of the run, but the number of its steps is not known\n"
                            "npar: help: write its lengths in steps, such as `steps = 1000`");
  KnownRate known;
  // Shares of the run alone follow the number of the step, whatever the batch was before.
  known.offset = uses(rate, LengthUnit::Epochs) ? run.offset : 0;
  auto stepsOf = [&](const RateLength &length) {
    switch (length.unit()) {
    case LengthUnit::Steps:
      break;
    case LengthUnit::Epochs:
      return length.count() * *run.stepsPerEpoch;
    case LengthUnit::Run:
      return length.count() * (*run.steps + known.offset);
    }
    return length.count();
  };
  known.warmup = wholeSteps(stepsOf(*rate.warmup()));
  if (hasEnd(rate))
    known.steps = wholeSteps(stepsOf(*rate.steps()));
  if (hasFactor(rate))
    known.every = stepsOf(*rate.every()); // an epoch need not be a whole number of steps, and errors would add up
  return known;
}

/// "12 steps", with "(0.1 epochs)" if the text has another unit.
std::string lengthText(double steps, const RateLength &length) {
  std::string text = fmt::format("{:.6g} step{}", steps, steps == 1 ? "" : "s");
  if (length.unit() == LengthUnit::Epochs)
    text += fmt::format(" ({} epoch{})", length.count(), length.count() == 1 ? "" : "s");
  if (length.unit() == LengthUnit::Run)
    text += length.count() == 1 ? " (the run)" : fmt::format(" ({} of the run)", length.count());
  return text;
}

std::string rateText(const LearningRate &rate, const KnownRate &known, int64_t batch) {
  std::string text = rate.schedule() == RateSchedule::Constant
                         ? "learning rate"
                         : fmt::format("{} learning rate, {}", program::wordOf(rate.schedule()), hasFactor(rate) ? "at first" : "from");
  text += fmt::format(" {:.6g}", rate.peak());
  if (rate.per() > 0)
    text += fmt::format(" ({} x batch {} / {})", rate.scaled(), batch, rate.per());
  if (hasFactor(rate))
    text += fmt::format(", times {} every {}", rate.factor(), lengthText(known.every, *rate.every()));
  if (hasEnd(rate))
    text += fmt::format(" to {:.6g} within {}", rate.final_rate(), lengthText(known.steps, *rate.steps()));
  if (known.warmup > 0)
    text += fmt::format(", warm-up {}", lengthText(known.warmup, *rate.warmup()));
  return text;
}

template <typename Function> Status forEachRate(const program::Program &program, const RunLength &length, Function function) {
  for (uint32_t i = 0; program.rates() && i < program.rates()->size(); ++i) {
    const LearningRate &rate = *program.rates()->Get(i);
    TRY(KnownRate known, knownRate(rate, length));
    TRY_STATUS(function(rate, known));
  }
  return {};
}

} // namespace

double wholeSteps(double count) { return std::ceil(count - 1e-9 * std::max(1.0, count)); }

bool needsRunLength(const program::Program &program) { return program::runWordsOf(program) > 0; }

Result<std::vector<double>> runWords(const program::Program &program, const RunLength &length) {
  std::vector<double> words;
  TRY_STATUS(forEachRate(program, length, [&](const LearningRate &rate, const KnownRate &known) -> Status {
    if (rate.word() >= 0)
      words.insert(words.end(), {known.offset, known.warmup, known.steps, known.every});
    return {};
  }));
  return words;
}

Status checkRates(const program::Program &program, const RunLength &length) {
  return forEachRate(program, length, [](const LearningRate &rate, const KnownRate &known) -> Status {
    if (!hasEnd(rate) || known.steps > known.warmup)
      return {};
    return Status::badInput(fmt::format("the schedule of the learning rate ends after {}, within its warm-up of {}\n"
                                        "npar: help: make the warm-up shorter, or the run longer",
                                        lengthText(known.steps, *rate.steps()), lengthText(known.warmup, *rate.warmup())));
  });
}

std::vector<std::string> rateTexts(const program::Program &program, const RunLength &length) {
  std::vector<std::string> texts;
  (void)forEachRate(program, length, [&](const LearningRate &rate, const KnownRate &known) -> Status {
    std::string text = rateText(rate, known, program.batch());
    if ((rate.word() >= 0 || rate.per() > 0) && std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(text);
    return {};
  });
  return texts;
}

} // namespace npar::engine
