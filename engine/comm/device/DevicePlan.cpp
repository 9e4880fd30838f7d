// Plans one operation whose members are in several processes as commands for a device.
#include "engine/comm/device/DevicePlan.h"

#include "engine/program/Elements.h"

#include <algorithm>

namespace npar::engine {

namespace {

using Memory = DevicePlace::Memory;
using Message = ExchangeCommand::Message;

constexpr uint64_t alignment = 512; ///< alignment of pieces of scratch memory

uint64_t aligned(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// True if the library can execute this part of an operation, given a group for it.
bool fitsLibrary(const Operation &part, const Group &group) {
  if (part.transfers() || part.count == 0 || group.parties.size() != group.members.size())
    return false;
  for (size_t party = 0; party < group.parties.size(); ++party)
    if (group.parties[party].members.front() != party)
      return false;
  bool even = part.outer == 1 && (part.whole == 0 || part.whole == group.members.size() * part.split);
  switch (part.kind) {
  case program::CollectiveKind::AllReduce:
    return part.library;
  case program::CollectiveKind::ReduceScatter:
    return part.library && even;
  case program::CollectiveKind::AllGather:
    return even;
  case program::CollectiveKind::AllToAll:
  case program::CollectiveKind::Permute:
    break;
  }
  return false;
}

/// Adds commands to a plan. Each exchange reuses scratch memory from its beginning.
class Writer {
public:
  Writer(DevicePlan &plan, const Operation &operation, const Group &group, std::optional<size_t> library);
  void move();
  void add();

private:
  /// The given blocks or paddings, without those of parts that the library executes.
  template <typename Of> std::vector<Of> others(std::vector<Of> all) const {
    all.erase(std::remove_if(all.begin(), all.end(), [&](const Of &one) { return ofLibrary[one.part]; }), all.end());
    return all;
  }
  DevicePlace takeScratch(uint64_t bytes) {
    DevicePlace place{Memory::Scratch, 0, 0, used};
    used += aligned(bytes);
    plan.scratchBytes = std::max(plan.scratchBytes, used);
    return place;
  }
  /// A place where the bytes [begin, end) of a region are contiguous: their own, or a copy in scratch memory.
  DevicePlace gathered(Memory memory, uint32_t part, uint32_t member, const Region &region, uint64_t begin, uint64_t end);
  void copyRuns(const Block &block, uint32_t target);
  void spread(const Block &block);
  void addRound(const std::vector<std::vector<Block>> &sums, uint64_t chunk, uint64_t round);
  void sendSums(const std::vector<std::vector<Block>> &sums);

  DevicePlan &plan;
  const Operation &operation;
  const Group &group;
  std::vector<bool> ofLibrary; ///< by part
  uint64_t used = 0;
};

Writer::Writer(DevicePlan &plan, const Operation &operation, const Group &group, std::optional<size_t> library)
    : plan(plan), operation(operation), group(group) {
  LibraryCommand command{library.value_or(0), {}};
  uint32_t member = group.ownParty().members.front();
  for (const Operation *part = &operation; part; part = part->next) {
    auto number = static_cast<uint32_t>(ofLibrary.size());
    ofLibrary.push_back(library && fitsLibrary(*part, group));
    uint64_t count = part->kind == program::CollectiveKind::ReduceScatter ? part->count / group.members.size() : part->count;
    if (ofLibrary.back())
      command.collectives.push_back(
          {part->kind, part->type, {Memory::Input, number, member, 0}, {Memory::Output, number, member, 0}, count});
  }
  if (!command.collectives.empty())
    plan.commands.push_back(std::move(command));
}

DevicePlace Writer::gathered(Memory memory, uint32_t part, uint32_t member, const Region &region, uint64_t begin, uint64_t end) {
  if (region.isOneRun(begin, end))
    return {memory, part, member, region.placeOf(begin)};
  DevicePlace copy = takeScratch(end - begin);
  region.each(begin, end, [&](uint64_t place, uint64_t at, uint64_t length) {
    DevicePlace to = copy;
    to.offset += at - begin;
    plan.commands.push_back(CopyCommand{to, {memory, part, member, place}, length});
  });
  return copy;
}

/// Copies a block from the source's input to a target's output; both members are in this process.
void Writer::copyRuns(const Block &block, uint32_t target) {
  block.from.each(0, block.from.bytes(), [&](uint64_t from, uint64_t begin, uint64_t length) {
    block.to.each(begin, begin + length, [&](uint64_t to, uint64_t at, uint64_t run) {
      plan.commands.push_back(
          CopyCommand{{Memory::Output, block.part, target, to}, {Memory::Input, block.part, block.source, from + (at - begin)}, run});
    });
  });
}

/// Copies a block from its first target to the others.
void Writer::spread(const Block &block) {
  for (size_t i = 1; i < block.targets.size(); ++i)
    block.to.each(0, block.to.bytes(), [&](uint64_t place, uint64_t, uint64_t run) {
      plan.commands.push_back(
          CopyCommand{{Memory::Output, block.part, block.targets[i], place}, {Memory::Output, block.part, block.targets[0], place}, run});
    });
}

void Writer::move() {
  ExchangeCommand exchange;
  std::vector<std::pair<Block, DevicePlace>> received;
  for (size_t party = 0; party < group.parties.size(); ++party)
    if (party != group.own)
      for (const Block &block : others(movedBlocks(operation, group, group.own, party)))
        if (uint64_t bytes = block.from.bytes())
          exchange.messages.push_back({true, gathered(Memory::Input, block.part, block.source, block.from, 0, bytes), bytes, party});
  for (size_t party = 0; party < group.parties.size(); ++party)
    if (party != group.own)
      for (const Block &block : others(movedBlocks(operation, group, party, group.own)))
        if (uint64_t bytes = block.to.bytes()) {
          bool direct = block.to.isOneRun(0, bytes);
          DevicePlace place = direct ? DevicePlace{Memory::Output, block.part, block.targets[0], block.to.placeOf(0)} : takeScratch(bytes);
          exchange.messages.push_back({false, place, bytes, party});
          received.emplace_back(block, place);
        }
  if (!exchange.messages.empty())
    plan.commands.push_back(std::move(exchange));
  for (const auto &[block, place] : received) {
    if (place.memory == Memory::Scratch)
      block.to.each(0, block.to.bytes(),
                    [&, from = place, part = block.part, target = block.targets[0]](uint64_t to, uint64_t at, uint64_t run) {
                      DevicePlace source = from;
                      source.offset += at;
                      plan.commands.push_back(CopyCommand{{Memory::Output, part, target, to}, source, run});
                    });
    spread(block);
  }
  for (const Block &block : others(movedBlocks(operation, group, group.own, group.own)))
    for (uint32_t target : block.targets)
      copyRuns(block, target);
  for (const Padding &padding : others(paddingOf(operation, group, group.own)))
    plan.commands.push_back(ZeroCommand{{Memory::Output, padding.part, padding.target, padding.begin}, padding.bytes});
}

/// The piece of a party's sums that it adds up in a round; none: an empty one.
struct Piece {
  const Block *block = nullptr;
  uint64_t begin = 0, end = 0;
};

Piece pieceOf(const std::vector<Block> &blocks, uint64_t chunk, uint64_t round) {
  for (const Block &block : blocks) {
    uint64_t pieces = (block.from.bytes() + chunk - 1) / chunk;
    if (round < pieces)
      return {&block, round * chunk, std::min((round + 1) * chunk, block.from.bytes())};
    round -= pieces;
  }
  return {};
}

void Writer::addRound(const std::vector<std::vector<Block>> &sums, uint64_t chunk, uint64_t round) {
  used = 0;
  ExchangeCommand exchange;
  for (size_t party = 0; party < group.parties.size(); ++party)
    if (Piece piece = pieceOf(sums[party], chunk, round); piece.block && party != group.own)
      for (uint32_t member : group.ownParty().members)
        exchange.messages.push_back({true, gathered(Memory::Input, piece.block->part, member, piece.block->from, piece.begin, piece.end),
                                     piece.end - piece.begin, party});
  Piece own = pieceOf(sums[group.own], chunk, round);
  std::vector<DevicePlace> received(group.members.size());
  for (size_t party = 0; own.block && party < group.parties.size(); ++party)
    if (party != group.own)
      for (uint32_t member : group.parties[party].members) {
        received[member] = takeScratch(own.end - own.begin);
        exchange.messages.push_back({false, received[member], own.end - own.begin, party});
      }
  if (!exchange.messages.empty())
    plan.commands.push_back(std::move(exchange));
  if (!own.block)
    return;
  const Block &block = *own.block;
  block.from.each(own.begin, own.end, [&](uint64_t place, uint64_t at, uint64_t length) {
    SumCommand sum{block.part, received, {}, length};
    for (DevicePlace &source : sum.sources)
      source.offset += at - own.begin;
    for (uint32_t member : group.ownParty().members)
      sum.sources[member] = {Memory::Input, block.part, member, place};
    for (uint32_t target : block.targets)
      sum.targets.push_back({Memory::Output, block.part, target, block.to.placeOf(at)});
    plan.commands.push_back(std::move(sum));
  });
}

/// Sends each party's slices of an all_reduce to the other parties.
void Writer::sendSums(const std::vector<std::vector<Block>> &sums) {
  ExchangeCommand exchange;
  uint32_t first = group.ownParty().members.front();
  for (size_t party = 0; party < group.parties.size(); ++party) {
    bool own = party == group.own;
    for (const Block &block : sums[party])
      if (uint64_t bytes = block.to.bytes())
        for (size_t other = 0; other < group.parties.size(); ++other)
          if (own ? other != group.own : other == party)
            exchange.messages.push_back({own, {Memory::Output, block.part, first, block.to.placeOf(0)}, bytes, other});
  }
  if (!exchange.messages.empty())
    plan.commands.push_back(std::move(exchange));
  for (size_t party = 0; party < group.parties.size(); ++party)
    for (Block block : sums[party])
      if (party != group.own) {
        block.targets = group.ownParty().members;
        spread(block);
      }
}

void Writer::add() {
  std::vector<std::vector<Block>> sums;
  for (size_t party = 0; party < group.parties.size(); ++party)
    sums.push_back(others(sumsOf(operation, group, party)));
  // Pieces that no element is cut by, and as large for all parties: members are those of the whole group.
  uint64_t chunk = std::max(alignment, DevicePlan::mostScratch / group.members.size() / alignment * alignment), rounds = 0;
  for (const std::vector<Block> &blocks : sums) {
    uint64_t own = 0;
    for (const Block &block : blocks)
      own += (block.from.bytes() + chunk - 1) / chunk;
    rounds = std::max(rounds, own);
  }
  for (uint64_t round = 0; round < rounds; ++round)
    addRound(sums, chunk, round);
  used = 0;
  if (operation.kind == program::CollectiveKind::AllReduce)
    sendSums(sums);
  for (const Padding &padding : others(paddingOf(operation, group, group.own)))
    plan.commands.push_back(ZeroCommand{{Memory::Output, padding.part, padding.target, padding.begin}, padding.bytes});
}

} // namespace

DevicePlan::DevicePlan(const Operation &operation, const Group &group, std::optional<size_t> library) {
  Writer writer(*this, operation, group, library);
  if (addsUp(operation))
    writer.add();
  else
    writer.move();
}

bool DevicePlan::wantsLibrary(const Operation &operation, const Group &group) {
  for (const Operation *part = &operation; part; part = part->next)
    if (part->library && fitsLibrary(*part, group))
      return true;
  return false;
}

} // namespace npar::engine
