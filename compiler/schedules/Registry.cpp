// The schedules by the names that plans use, and their text form.
#include "compiler/schedules/Schedule.h"

#include "engine/program/Words.h"

#include <algorithm>
#include <sstream>

namespace npar::schedules {

const std::vector<ScheduleKind> &scheduleKinds() {
  static const std::vector<ScheduleKind> kinds = {
      {"naive", "Huang et al. 2019, figure 2b", 1, false, naive, estimateNaive, false, Worth::Never},
      {"gpipe", "Huang et al. 2019, figure 2c", 1, false, gpipe, estimateGPipe, false, Worth::Never},
      {"1f1b", "Narayanan et al. 2021, figure 4 top", 1, false, oneFOneB, estimateOneFOneB, false},
      {"interleaved", "Narayanan et al. 2021, figure 4 bottom", 2, true, interleaved, estimateInterleaved, false},
      {"backward_first", "Karakus et al. 2021, pipeline parallelism", 1, true, backwardFirst, estimateBackwardFirst, false, Worth::Limited,
       0, true},
      {"looped_bfs", "Lamy-Poirier 2022, figure 4d", 2, true, loopedBfs, estimateLoopedBfs, false, Worth::Never},
      {"zb_h1", "Qi et al. 2023, figure 2", 1, false, zbH1, estimateZbH1, true},
      {"zb_h2", "Qi et al. 2023, figure 3", 1, false, zbH2, estimateZbH2, true},
      {"zb_v", "Qi et al. 2023, section 6", 2, false, zbV, estimateZbV, true},
      {"zb_auto", "Qi et al. 2023, section 3", 0, true, zbAuto, estimateZbAuto, true, Worth::Always, 0, true},
      {"v_half", "Qi et al. 2024, section 3", 2, false, vHalf, estimateVHalf, true},
      {"v_min", "Qi et al. 2024, section 3", 2, false, vMin, estimateVMin, true},
      {"dualpipe_v", "DeepSeek-AI 2025, repository DualPipe", 2, false, dualPipeV, estimateDualPipeV, true, Worth::Always, 2},
  };
  return kinds;
}

const ScheduleKind *findSchedule(std::string_view name) {
  for (const ScheduleKind &kind : scheduleKinds())
    if (name == kind.name)
      return &kind;
  return nullptr;
}

Made makeSchedule(const ScheduleKind &kind, Request request) {
  auto refuse = [&](const std::string &reason) { return Made{{}, "schedule '" + std::string(kind.name) + "' " + reason}; };
  if (request.stages < 1 || request.micros < 1)
    return refuse("needs at least one stage and one micro-batch, not " + std::to_string(request.stages) + " and " +
                  std::to_string(request.micros));
  if (request.chunks == 0)
    request.chunks = kind.chunks;
  if (request.chunks < 0)
    return refuse("needs at least one chunk per stage, not " + std::to_string(request.chunks));
  if (request.chunks != kind.chunks && !kind.anyChunks)
    return refuse("has " + std::to_string(kind.chunks) + (kind.chunks == 1 ? " chunk" : " chunks") + " per stage, not " +
                  std::to_string(request.chunks));
  if (kind.keepsCap && request.memoryCap > 0 && request.memoryCap < 1) {
    std::ostringstream reason;
    reason << "needs a memory cap of at least 1 forward activation, not " << request.memoryCap;
    return refuse(reason.str());
  }
  if (request.micros < kind.microsPerStage * request.stages)
    return refuse("needs at least " + std::to_string(kind.microsPerStage * request.stages) + " micro-batches for " +
                  std::to_string(request.stages) + (request.stages == 1 ? " stage" : " stages") + ", not " +
                  std::to_string(request.micros));
  if (request.costs.empty())
    request.costs.assign(request.stages, {});
  return kind.make(request);
}

program::Phase seamOf(Phase phase) {
  switch (phase) {
  case Phase::F:
    return program::Phase::Forward;
  case Phase::B:
    return program::Phase::Backward;
  case Phase::W:
    break;
  }
  return program::Phase::Weight;
}

char letter(Phase phase) { return wordOf(seamOf(phase))[0]; }

std::string print(const TaskLists &lists) {
  bool chunks = false;
  for (const std::vector<Task> &tasks : lists)
    chunks |= std::any_of(tasks.begin(), tasks.end(), [](const Task &task) { return task.chunk != 0; });
  std::string text;
  for (const std::vector<Task> &tasks : lists) {
    for (const Task &task : tasks) {
      if (&task != &tasks.front())
        text += ' ';
      text += letter(task.phase) + std::to_string(task.micro);
      if (chunks)
        text += "." + std::to_string(task.chunk);
    }
    text += '\n';
  }
  return text;
}

} // namespace npar::schedules
