// The scalars that a program computes in a step: loss, norms, learning rate, counts.
#pragma once

#include "engine/program/Loader.h"
#include "engine/runtime/LocalRanks.h"
#include "engine/runtime/Session.h"
#include "engine/runtime/Variables.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace npar::engine {

class StepOutputs {
public:
  /// Finds the outputs of these ranks; none if the backend does not compute. `gather` reaches the sessions of other ranks; null if there
  /// are none. The other arguments must outlive this object.
  StepOutputs(const program::LoadedProgram &loaded, const std::vector<LocalRank> &ranks, Backend &backend, GatherBytes gather);
  /// The outputs of the step that has just run. All sessions call it together; each gets the `note` (SessionOptions) of every one.
  Result<StepResult> read(int64_t step, const std::function<std::vector<uint8_t>(int64_t)> &note) const;

private:
  struct Place {
    int64_t rank = -1; ///< the first of the world that has it; -1: it is not in this session
    DeviceAddress memory;
  };
  /// An output that a rank reports for a step. Of ranks with the same output, only the lowest in the world reports it, in whichever session
  /// it is. So most sessions report nothing, and all reports together stay as small as in a small job.
  struct ReportedOutput {
    int64_t rank = -1; ///< -1: the ranks of this session do not report it
    double value = 0;
  };

  Place find(const std::string &name, const std::vector<LocalRank> &ranks) const;
  /// Collects from all sessions their outputs, each reported by the lowest rank that has it, and their notes.
  Status gatherAll(int64_t step, std::vector<ReportedOutput> &reported, std::vector<std::vector<uint8_t>> &notes) const;

  const program::LoadedProgram &loaded;
  Backend &backend;
  GatherBytes gather;
  std::vector<std::string> losses; ///< names of several losses
  std::vector<std::string> logged; ///< names of the numbers that the model logs
  std::vector<Place> places;       ///< by output
};

} // namespace npar::engine
