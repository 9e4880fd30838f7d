// Tries programs that compute the same bits in the first steps of a run, all in the training's memory, and keeps the fastest.
#pragma once

#include "engine/job/Processes.h"
#include "engine/runtime/Session.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace npar::training {

struct TunedProgram {
  std::string name; ///< of what differs: "bucket 8 MiB"
  program::ProgramPointer program;
};

/// How long the steps of a program took. A step is as long as in the slowest process.
struct TunedTime {
  double seconds = 0; ///< median
  double spread = 0;  ///< median distance from that median
};

/// Median and spread of some durations.
TunedTime tunedTimeOf(std::vector<double> seconds);

/// The program to keep: the fastest one, or the first if it is not slower by more than 1 % and by more than the spread of both.
size_t fastestOf(const std::vector<TunedTime> &times);

/// Every program runs a step in turn, so that a machine that becomes slower or faster affects all of them. The first turn does not count.
/// All programs store the training's parameters and states at the same places: a program continues where the one before it stopped, and
/// no step is lost. Without programs to try, nothing happens.
class Tuning {
public:
  static constexpr int64_t mostTurns = 5, leastTurns = 2; ///< that count

  Tuning() = default;
  /// The first program is the training's own.
  explicit Tuning(std::vector<TunedProgram> programs) : programs(std::move(programs)) {}

  bool wanted() const { return programs.size() > 1; }
  /// Chooses the number of turns for a run of `steps` steps. BadInput if there are too few.
  engine::Status planFor(int64_t steps, const std::string &lengthFlag = "--steps");
  /// The programs other than the training's own, for which its session must have room.
  std::vector<program::ProgramPointer> guests() const;
  /// Starts a session for each of them in the memory of `host`, the training's own. Call it before parameters are loaded.
  engine::Status open(job::Processes &processes, const engine::SessionOptions &options, const engine::Session &host);
  /// Session::setRun for the sessions of all programs, of which `host` runs the first.
  engine::Status setRun(engine::Session &host, const engine::RunLength &length);

  /// The session that runs the next step: `host`, or one in its memory.
  engine::Session &runs(engine::Session &host) const { return sessions.empty() || !sessions[current] ? host : *sessions[current]; }
  /// Takes the duration of the step that has just run. True if that ended the tuning; all processes then agree on the program that is kept,
  /// and the sessions of the others end.
  engine::Result<bool> record(const engine::Session &host, double seconds);
  bool isOver() const { return over; }
  /// The place of the program that runs the next step.
  size_t turnOf() const { return current; }

  /// After the end: the programs, their times and the place of the one that is kept.
  const std::vector<TunedProgram> &tried() const { return programs; }
  const std::vector<TunedTime> &times() const { return found; }
  size_t kept() const { return current; }
  /// Steps that the tuning takes.
  int64_t steps() const { return static_cast<int64_t>(programs.size()) * (turns + 1); }

private:
  engine::Status decide(const engine::Session &host);

  std::vector<TunedProgram> programs;
  std::vector<std::unique_ptr<engine::Session>> sessions; ///< by program; null: the host
  std::vector<std::vector<double>> seconds;               ///< by program, of the turns that count
  std::vector<TunedTime> found;
  size_t current = 0;
  int64_t turns = 0, turn = 0; ///< turns that count; the current one, 0: does not count
  bool over = false;
};

} // namespace npar::training
