// Computes the bytes that move between members in a collective or a transfer, and the bytes that are added up.
#include "engine/comm/process/Geometry.h"

#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"

#include <algorithm>

namespace npar::engine {

using program::CollectiveKind;

Region::Region(uint64_t base, uint64_t run, Loops given, std::shared_ptr<const RunEnds> givenEnds)
    : base(base), run(run), ends(std::move(givenEnds)) {
  // Goes from the innermost loop outwards: a loop that continues the run lengthens it; a loop that continues the loop within it is merged.
  size_t kept = loops.size();
  for (size_t i = given.size(); i-- > 0;) {
    const RegionLoop &loop = given[i];
    bool first = kept == loops.size();
    if (loop.count == 1)
      continue;
    if (first && !ends && loop.stride == this->run)
      this->run *= loop.count;
    else if (!first && loop.stride == loops[kept].stride * loops[kept].count)
      loops[kept].count *= loop.count;
    else
      loops[--kept] = loop;
  }
}

uint64_t Region::placeOfRun(uint64_t number) const {
  uint64_t place = base;
  for (size_t i = loops.size(); i-- > 0; number /= loops[i].count)
    place += number % loops[i].count * loops[i].stride;
  return place;
}

Stream::Stream(std::vector<Block> given) {
  for (Block &block : given) {
    uint64_t bytes = block.from.bytes();
    if (bytes == 0)
      continue;
    ends.push_back(this->bytes() + bytes);
    blocks.push_back(std::move(block));
  }
}

void Stream::update() {
  uint64_t end = 0;
  for (size_t i = 0; i < blocks.size(); ++i)
    ends[i] = end += blocks[i].from.bytes();
}

size_t Stream::find(uint64_t place) const { return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), place) - ends.begin()); }

namespace {

/// Places of a member's share of a row that are no padding.
uint64_t validOf(const Operation &operation, uint32_t member) {
  uint64_t begin = member * operation.split;
  return begin < operation.whole ? std::min(operation.split, operation.whole - begin) : 0;
}

void addGathered(const Operation &operation, uint32_t part, const Group &group, const Party &from, const Party &to,
                 std::vector<Block> &blocks) {
  uint64_t unit = operation.inner * program::sizeOf(operation.type);
  uint64_t row = operation.whole ? operation.whole : group.members.size() * operation.split;
  for (uint32_t source : from.members) {
    uint64_t run = (operation.whole ? validOf(operation, source) : operation.split) * unit;
    Region given(0, run, {{{1, 0}, {1, 0}, {operation.outer, operation.split * unit}}});
    Region taken(source * operation.split * unit, run, {{{1, 0}, {1, 0}, {operation.outer, row * unit}}});
    blocks.push_back({part, source, to.members, given, taken, {}});
  }
}

/// Adds blocks of an exchange. Between `outer` and `inner`, blocks have two dimensions. One is longer in the input and the other in the
/// output, in the order that `concatFirst` selects; lengths are in blocks.
void addExchanged(const Operation &operation, uint32_t part, const Group &group, const Party &from, const Party &to, bool counted,
                  std::vector<Block> &blocks) {
  uint64_t n = group.members.size();
  uint64_t first = operation.concatFirst ? operation.concat : operation.split;
  uint64_t second = operation.concatFirst ? operation.split : operation.concat;
  uint64_t run = second * operation.inner * program::sizeOf(operation.type);
  uint64_t pieces = counted && operation.places ? second / operation.places : 1;
  // The block's place along (first, second), and how long these are, in blocks: in the input, in the output.
  auto region = [&](uint64_t atFirst, uint64_t atSecond, uint64_t lengthFirst, uint64_t lengthSecond, std::shared_ptr<RunEnds> ends) {
    uint64_t middle = lengthSecond * run, row = operation.middle * middle, outer = lengthFirst * first * row;
    return Region(atFirst * first * row + atSecond * run, run / pieces,
                  {{{operation.outer, outer}, {first, row}, {operation.middle, middle}, {pieces, run / pieces}}}, std::move(ends));
  };
  for (uint32_t source : from.members)
    for (uint32_t target : to.members) {
      std::shared_ptr<RunEnds> ends;
      if (counted && operation.places) {
        ends = std::make_shared<RunEnds>(operation.outer * first * operation.middle * pieces);
        for (size_t i = 0; i < ends->size(); ++i)
          (*ends)[i] = (i + 1) * (run / pieces);
      }
      blocks.push_back({part,
                        source,
                        {target},
                        operation.concatFirst ? region(0, target, 1, n, ends) : region(target, 0, n, 1, ends),
                        operation.concatFirst ? region(source, 0, n, 1, ends) : region(0, source, 1, n, ends),
                        ends});
    }
}

void addWhole(const Operation &operation, uint32_t part, uint32_t source, uint32_t target, const Party &to, std::vector<Block> &blocks) {
  Region all(0, operation.count * program::sizeOf(operation.type));
  if (std::binary_search(to.members.begin(), to.members.end(), target))
    blocks.push_back({part, source, {target}, all, all, {}});
}

} // namespace

bool addsUp(const Operation &operation) {
  return !operation.transfers() && (operation.kind == CollectiveKind::AllReduce || operation.kind == CollectiveKind::ReduceScatter);
}

std::vector<Block> movedBlocks(const Operation &operation, const Group &group, size_t fromParty, size_t toParty, bool counted) {
  std::vector<Block> blocks;
  const Party &from = group.parties[fromParty], &to = group.parties[toParty];
  uint32_t part = 0;
  for (const Operation *each = &operation; each; each = each->next, ++part) {
    if (operation.transfers()) {
      if (from.members.front() == 0)
        addWhole(*each, part, 0, 1, to, blocks);
      continue;
    }
    switch (operation.kind) {
    case CollectiveKind::AllGather:
      addGathered(*each, part, group, from, to, blocks);
      break;
    case CollectiveKind::AllToAll:
      addExchanged(*each, part, group, from, to, counted, blocks);
      break;
    case CollectiveKind::Permute:
      for (uint32_t source : from.members)
        addWhole(*each, part, source, (source + each->shift) % static_cast<uint32_t>(group.members.size()), to, blocks);
      break;
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
      break; // sumsOf
    }
  }
  return blocks;
}

std::vector<Block> sumsOf(const Operation &operation, const Group &group, size_t party) {
  std::vector<Block> blocks;
  const Party &own = group.parties[party];
  uint64_t n = group.members.size(), parties = group.parties.size();
  uint32_t part = 0;
  for (const Operation *each = &operation; each; each = each->next, ++part) {
    uint64_t size = program::sizeOf(each->type);
    if (operation.kind == CollectiveKind::AllReduce) {
      uint64_t begin = program::sliceBegin(each->count, parties, party), end = program::sliceBegin(each->count, parties, party + 1);
      Region slice(begin * size, (end - begin) * size);
      blocks.push_back({part, 0, own.members, slice, slice, {}});
      continue;
    }
    for (uint32_t target : own.members) {
      uint64_t run = (each->whole ? validOf(*each, target) : each->split * each->inner) * size;
      uint64_t piece = each->split * each->inner * size;
      Region from(target * piece, run, {{{1, 0}, {1, 0}, {each->whole ? 1 : each->outer, n * piece}}});
      blocks.push_back({part, 0, {target}, from, Region(0, from.bytes()), {}});
    }
  }
  return blocks;
}

std::vector<Padding> paddingOf(const Operation &operation, const Group &group, size_t party) {
  std::vector<Padding> all;
  if (operation.transfers() || operation.kind != CollectiveKind::ReduceScatter)
    return all;
  uint32_t part = 0;
  for (const Operation *each = &operation; each; each = each->next, ++part)
    for (uint32_t target : group.parties[party].members)
      if (uint64_t valid = validOf(*each, target); each->whole && valid < each->split) {
        uint64_t size = program::sizeOf(each->type);
        all.push_back({part, target, valid * size, (each->split - valid) * size});
      }
  return all;
}

} // namespace npar::engine
