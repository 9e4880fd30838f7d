// The neighbours of a part in the chain, looked up once per schedule.
#include "compiler/schedules/Needs.h"

namespace npar::schedules {

Needs::Needs(const Schedule &schedule) : placement(schedule.placement), placeOf(schedule.stages()) {
  for (size_t place = 0; place < placement.size(); ++place) {
    std::vector<int> &parts = placeOf[placement[place]];
    chunkAt.push_back(static_cast<int>(parts.size()));
    parts.push_back(static_cast<int>(place));
  }
}

std::vector<Need> Needs::of(int stage, const Task &task) const {
  auto at = [&](Phase phase, int place) { return Need{placement[place], {phase, task.micro, chunkAt[place]}}; };
  int place = placeOf[stage][task.chunk], last = static_cast<int>(placement.size()) - 1;
  std::vector<Need> needs;
  if (task.phase == Phase::W)
    needs.push_back(at(Phase::B, place));
  if (task.phase == Phase::B)
    needs.push_back(at(Phase::F, place));
  if (task.phase == Phase::F && place > 0)
    needs.push_back(at(Phase::F, place - 1));
  if (task.phase == Phase::B && place < last)
    needs.push_back(at(Phase::B, place + 1));
  return needs;
}

} // namespace npar::schedules
