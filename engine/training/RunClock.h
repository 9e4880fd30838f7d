// The length of a training run, and where it is in steps and in epochs.
#pragma once

#include "engine/data/DataSource.h"
#include "engine/runtime/RunLength.h"

#include <cstdint>
#include <optional>
#include <string>

namespace npar::training {

/// The period of something that a run repeats, in steps or in epochs.
struct Interval {
  Interval() = default;
  explicit Interval(int64_t steps) : count(static_cast<double>(steps)) {}
  static Interval epochs(double count);
  /// Reads "20", "1 epoch" or "0.5epochs"; anything else is Usage, with `flag` as its subject.
  static engine::Result<Interval> read(const std::string &flag, const std::string &text);

  bool isGiven() const { return count > 0; }
  bool isInEpochs() const { return inEpochs; }
  double times() const { return count; }

private:
  double count = 0; ///< 0: never
  bool inEpochs = false;
};

/// Counts an epoch's steps from the start of the first run. After a resumed step with a batch of another size, epochs continue where the
/// data do, and steps are those of the present batch.
class RunClock {
public:
  /// A run up to `steps`, or over `epochs` passes of the data if they are given.
  explicit RunClock(int64_t steps, std::optional<double> epochs = std::nullopt) : lastStep(steps), asked(epochs) {}

  /// Learns the data, at the position where step `first` will read `rows` samples; call it again if another checkpoint is used. BadInput if
  /// the data have no epochs and the run is to last some. `data` must outlive this object.
  engine::Status start(const engine::DataSource &data, int64_t rows, int64_t first);

  /// Steps done at the end of the run. With epochs known after `start` only.
  int64_t steps() const { return lastStep; }
  std::optional<double> epochs() const { return asked; }
  bool hasEpochs() const { return perEpoch > 0; }
  double stepsPerEpoch() const { return perEpoch; }
  /// Passes over the data after `steps` steps, with a fraction.
  double epochsAfter(int64_t steps) const;
  /// True if `interval` ends with step number `done`, counted from 1.
  bool isDue(const Interval &interval, int64_t done) const {
    return interval.isGiven() && countOf(interval, done) > countOf(interval, done - 1);
  }
  /// Number of intervals that end after `from` steps and not after `to`.
  int64_t dueBetween(const Interval &interval, int64_t from, int64_t to) const {
    return interval.isGiven() ? countOf(interval, to) - countOf(interval, from) : 0;
  }
  engine::RunLength length() const;

private:
  int64_t stepsFor(double epochs) const;
  int64_t countOf(const Interval &interval, int64_t steps) const;

  int64_t lastStep;
  std::optional<double> asked;
  const engine::DataSource *data = nullptr;
  int64_t rows = 1, first = 0;
  double perEpoch = 0;
};

} // namespace npar::training
