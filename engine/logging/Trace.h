// A timeline of every step of every rank as Chrome/Perfetto JSON, with the plan's ids so that plan and measurement can be joined.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

/// One interval. Ids are the program's: task and step index of the rank's class.
struct TraceEvent {
  uint32_t rank = 0, lane = 0, label = 0;
  uint32_t task = 0, step = 0, micro = 0;
  int64_t trainingStep = 0;
  double begin = 0, end = 0; ///< seconds of the session's clock
};

/// Records from any number of threads without locks; memory is taken in blocks of a thread's own, never more than `capacity` events in
/// all: later ones are counted and left out. Training steps from number `trainingSteps` on are not recorded.
class Trace {
public:
  explicit Trace(size_t capacity = size_t{4} << 20, int64_t trainingSteps = std::numeric_limits<int64_t>::max());
  ~Trace();
  /// Names shown for ids, registered before anything is recorded.
  uint32_t addLane(const std::string &name);
  uint32_t addLabel(const std::string &text, const std::string &source);
  /// The name of task `task` of a rank, such as "B0:1".
  void addTask(uint32_t rank, uint32_t task, const std::string &name);

  void record(const TraceEvent &event);

  size_t dropped() const;
  /// All events by rank and begin; call when nothing records.
  std::vector<TraceEvent> events() const;
  /// The JSON text: pid = rank, tid = lane, ts and dur in microseconds from the first event; args: task, step, micro, training step,
  /// source.
  std::string json() const;
  /// Everything in it, for another process.
  std::vector<uint8_t> pack() const;
  /// Adds what another process has packed, whose ranks are others, with `seconds` added to its times. Call when nothing records.
  Status add(const std::vector<uint8_t> &packed, double seconds);
  /// Writes json() atomically.
  Status write(const std::string &path) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace npar::engine
