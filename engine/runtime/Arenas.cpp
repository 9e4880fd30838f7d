// Every rank's arena: exactly the planned bytes, and how many of them the program really binds.
#include "engine/runtime/Arenas.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

Arenas::~Arenas() {
  for (size_t i = 0; i < ranks.size(); ++i)
    backend.release(ranks[i].arena, sizes[i]);
}

Status Arenas::allocate(const Program &program, const std::vector<int64_t> &which) {
  uint64_t total = 0;
  for (int64_t rank : which) {
    uint64_t bytes = program.classes()->Get(classOf(program, rank))->arena_bytes();
    Result<DeviceAddress> arena = backend.allocate(bytes);
    if (!arena.ok())
      return Status(arena.status().code(), "rank " + std::to_string(rank) + ": " + arena.status().message() + "; " + std::to_string(total) +
                                               " bytes were allocated for " + std::to_string(ranks.size()) + " ranks before it");
    ranks.push_back({rank, *arena});
    sizes.push_back(bytes);
    total += bytes;
  }
  return {};
}

uint64_t highWaterMark(const Program &program, const RankClass &rankClass) {
  uint64_t mark = 0;
  auto bind = [&](uint64_t offset, uint64_t bytes) { mark = std::max(mark, (offset + bytes + 63) / 64 * 64); };
  for (const Task *task : *rankClass.tasks())
    for (const Operand *operand : *rankClass.fragments()->Get(task->fragment())->operands())
      bind(rankClass.bases()->Get(task->first_base() + operand->region()) + operand->offset(), operand->bytes());
  for (const Piece *piece : *rankClass.pieces())
    bind(piece->offset(), piece->bytes());
  for (const Input *input : *rankClass.inputs()) {
    const Region *region = rankClass.regions()->Get(input->region());
    uint64_t last = region->offset() + region->bytes() * static_cast<uint64_t>(std::max<int64_t>(program.micro_count(), 1) - 1);
    bind(last + input->offset(), elementsOf(*input) * sizeOf(input->type()));
  }
  for (const Output *output : *rankClass.outputs())
    bind(output->offset(), 8);
  return std::min(mark, rankClass.arena_bytes());
}

} // namespace npar::engine
