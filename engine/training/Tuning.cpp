// Runs the programs in turn and compares the medians of their steps.
#include "engine/training/Tuning.h"

#include "engine/tables/Tables.h"
#include "engine/training/TuningTimes_generated.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::training {

using engine::Result;
using engine::Status;

namespace {

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

} // namespace

TunedTime tunedTimeOf(std::vector<double> seconds) {
  TunedTime time{medianOf(seconds), 0};
  for (double &each : seconds)
    each = std::abs(each - time.seconds);
  time.spread = medianOf(std::move(seconds));
  return time;
}

size_t fastestOf(const std::vector<TunedTime> &times) {
  auto best = std::min_element(times.begin(), times.end(), [](const TunedTime &a, const TunedTime &b) { return a.seconds < b.seconds; });
  const TunedTime &own = times.front();
  bool isFaster = own.seconds - best->seconds > std::max(0.01 * own.seconds, own.spread + best->spread);
  return isFaster ? static_cast<size_t>(best - times.begin()) : 0;
}

Status Tuning::planFor(int64_t steps, const std::string &lengthFlag) {
  if (!wanted())
    return {};
  const auto count = static_cast<int64_t>(programs.size());
  turns = std::min(steps / count - 1, mostTurns);
  if (turns < leastTurns)
    return Status::badInput(
        fmt::format("tuning compares {} programs in {} steps at least, but this run has {}\nnpar: help: give more {}, or "
                    "leave out --tune",
                    count, count * (leastTurns + 1), steps, lengthFlag));
  seconds.resize(programs.size());
  return {};
}

std::vector<program::ProgramPointer> Tuning::guests() const {
  std::vector<program::ProgramPointer> all;
  for (size_t i = 1; i < programs.size(); ++i)
    all.push_back(programs[i].program);
  return all;
}

Status Tuning::open(job::Processes &processes, const engine::SessionOptions &options, const engine::Session &host) {
  if (!wanted())
    return {};
  engine::SessionOptions own = options;
  own.initialise = false;
  own.guests.clear(), own.host = &host;
  own.trace = nullptr, own.onPhase = nullptr, own.onRemark = nullptr;
  sessions.resize(programs.size());
  for (size_t i = 1; i < programs.size(); ++i) {
    Result<std::unique_ptr<engine::Session>> made = processes.createSession(programs[i].program, own);
    TRY_STATUS(processes.agree(made.status()));
    sessions[i] = std::move(*made);
  }
  return {};
}

Status Tuning::setRun(engine::Session &host, const engine::RunLength &length) {
  for (const std::unique_ptr<engine::Session> &session : sessions)
    if (session)
      TRY_STATUS(session->setRun(length));
  return host.setRun(length);
}

Result<bool> Tuning::record(const engine::Session &host, double duration) {
  if (!wanted() || over)
    return false;
  if (turn > 0)
    seconds[current].push_back(duration);
  current = (current + 1) % programs.size();
  turn += current == 0;
  if (turn <= turns)
    return false;
  TRY_STATUS(decide(host));
  return true;
}

Status Tuning::decide(const engine::Session &host) {
  wire::TuningTimesT own;
  for (const std::vector<double> &each : seconds)
    own.seconds.insert(own.seconds.end(), each.begin(), each.end());
  TRY(std::vector<std::vector<uint8_t>> all, host.gather(tables::pack(own)));
  std::vector<double> slowest(own.seconds.size());
  for (const std::vector<uint8_t> &bytes : all) {
    wire::TuningTimesT other;
    if (!tables::unpack(bytes, other) || other.seconds.size() != slowest.size())
      return Status::internal("the times of tuned programs of another process are damaged");
    for (size_t i = 0; i < slowest.size(); ++i)
      slowest[i] = std::max(slowest[i], other.seconds[i]);
  }
  for (auto begin = slowest.begin(); begin != slowest.end(); begin += turns)
    found.push_back(tunedTimeOf({begin, begin + turns}));
  over = true;
  current = fastestOf(found);
  for (size_t i = 0; i < sessions.size(); ++i)
    if (i != current)
      sessions[i].reset();
  return {};
}

} // namespace npar::training
