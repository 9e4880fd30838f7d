// Placements of the parts of the chain on the stages.
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

Placement loopPlacement(int stages, int chunks) {
  Placement placement;
  for (int place = 0; place < stages * chunks; ++place)
    placement.push_back(place % stages);
  return placement;
}

Placement vPlacement(int stages) {
  Placement placement;
  for (int place = 0; place < 2 * stages; ++place)
    placement.push_back(place < stages ? place : 2 * stages - 1 - place);
  return placement;
}

int Schedule::place(int stage, int chunk) const {
  for (size_t place = 0; place < placement.size(); ++place)
    if (placement[place] == stage && chunk-- == 0)
      return static_cast<int>(place);
  return -1;
}

int Schedule::chunkAt(int place) const {
  int chunk = 0;
  for (int before = 0; before < place; ++before)
    chunk += placement[before] == placement[place];
  return chunk;
}

} // namespace npar::schedules
