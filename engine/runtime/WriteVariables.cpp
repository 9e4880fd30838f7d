// Scatters a logical tensor over the pieces of ranks, block by block and from several threads, so the whole tensor is never in memory.
#include "engine/device/ParallelFor.h"
#include "engine/numbers/Convert.h"
#include "engine/program/Elements.h"
#include "engine/runtime/Variables.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <oneapi/tbb/enumerable_thread_specific.h>

namespace npar::engine {

using program::ElementType;

namespace {

/// Elements of the logical tensor per task: they and their converted values fit into a processor's own cache.
constexpr uint64_t blockElements = uint64_t{1} << 17;
/// Largest gap between two wanted ranges, in elements, that is read with them: up to a page or two, reading costs less than another call.
constexpr uint64_t smallGap = 2048;

struct ElementRange {
  uint64_t begin, end;
};

/// Room of one worker, taken once: memory that comes and goes with each block would be cleared by the system each time.
struct Room {
  std::vector<uint8_t> values, piece;
};
uint8_t *atLeast(std::vector<uint8_t> &room, uint64_t bytes) {
  if (room.size() < bytes)
    room.resize(bytes);
  return room.data();
}

/// Sorts the ranges that several pieces need and joins those with small gaps between them.
std::vector<ElementRange> joined(std::vector<ElementRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ElementRange &a, const ElementRange &b) { return a.begin < b.begin; });
  std::vector<ElementRange> result;
  for (const ElementRange &range : ranges)
    if (!result.empty() && range.begin <= result.back().end + smallGap)
      result.back().end = std::max(result.back().end, range.end);
    else
      result.push_back(range);
  return result;
}

/// Visits the parts of a piece's runs that are inside a block.
template <typename Visit> void forEachRunIn(const PieceRuns &runs, const ElementRange &block, Visit visit) {
  for (uint64_t i = runs.from(block.begin); i < runs.size(); ++i) {
    ElementRun run = runs.at(i);
    if (run.logical >= block.end)
      return;
    uint64_t begin = std::max(run.logical, block.begin), end = std::min(run.logical + run.count, block.end);
    visit(ElementRun{begin, run.local + (begin - run.logical), end - begin});
  }
}

} // namespace

Status Variables::write(const std::vector<uint32_t> &variables, const ElementSource &source) {
  uint64_t elements = entries[variables.front()].elements, blocks = (elements + blockElements - 1) / blockElements;
  std::mutex mutex;
  Status failure;
  std::atomic<uint64_t> failed{UINT64_MAX}; // the first block that failed: the same whatever the threads do
  tbb::enumerable_thread_specific<Room> rooms;
  parallelFor(blocks, [&](uint64_t block) {
    if (failed < block)
      return;
    backend.enterThread();
    Room &room = rooms.local();
    Status status =
        writeBlock(variables, source, block * blockElements, std::min(elements, (block + 1) * blockElements), room.values, room.piece);
    std::lock_guard<std::mutex> lock(mutex);
    if (!status.ok() && block < failed)
      failed = block, failure = status;
  });
  return failure;
}

Status Variables::writeBlock(const std::vector<uint32_t> &variables, const ElementSource &source, uint64_t begin, uint64_t end,
                             std::vector<uint8_t> &values, std::vector<uint8_t> &piece) {
  ElementRange block = {begin, end};
  std::vector<ElementRange> wanted;
  for (uint32_t variable : variables)
    for (const Placement &placement : entries[variable].placements)
      forEachRunIn(placement.runs, block, [&](const ElementRun &run) {
        if (!wanted.empty() && wanted.back().end == run.logical)
          wanted.back().end += run.count;
        else
          wanted.push_back({run.logical, run.logical + run.count});
      });
  uint64_t size = sizeOf(source.type);
  uint8_t *elements = atLeast(values, (end - begin) * size);
  for (const ElementRange &range : joined(std::move(wanted)))
    if (Status status = source.read(range.begin, range.end - range.begin, elements + (range.begin - begin) * size); !status.ok())
      return status;
  for (uint32_t variable : variables)
    for (const Placement &placement : entries[variable].placements)
      if (Status status = writePart(placement, entries[variable].type, source.type, elements, begin, end, piece); !status.ok())
        return status;
  return {};
}

Status Variables::writePart(const Placement &placement, ElementType type, ElementType from, const uint8_t *values, uint64_t begin,
                            uint64_t end, std::vector<uint8_t> &piece) {
  uint64_t size = sizeOf(type);
  uint8_t *room = atLeast(piece, (end - begin) * size);
  uint64_t used = 0, sent = 0, next = 0; // elements in `piece`, of them on their way, and where the next one would follow them
  auto send = [&] {
    if (used > sent)
      backend.copyIn(placement.memory + (next - (used - sent)) * size, room + sent * size, (used - sent) * size);
    sent = used;
  };
  forEachRunIn(placement.runs, {begin, end}, [&](const ElementRun &run) {
    if (run.local != next)
      send();
    uint8_t *to = room + used * size;
    withType(from, [&](auto given) {
      const uint8_t *source = values + (run.logical - begin) * sizeof(given);
      withType(type,
               [&](auto kept) { convert<decltype(kept), decltype(given)>(reinterpret_cast<decltype(kept) *>(to), source, run.count); });
    });
    used += run.count, next = run.local + run.count;
  });
  send();
  return used > 0 ? waitUntilDone(backend) : Status();
}

} // namespace npar::engine
