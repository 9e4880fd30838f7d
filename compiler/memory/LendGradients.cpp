// Follows each kept value and each accumulator through the tasks, and places the former in what of the latter is not written yet.
//
//   accumulators by their first write    | head | h.2  | h.1  | h.0  | lookup |
//   kept, until their last use                   [ logits    ] [h.0's] [h.1's]
#include "compiler/memory/LendGradients.h"
#include "compiler/memory/Colour.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <numeric>

namespace npar::memory {
namespace {

/// A place in the order of tasks and their steps.
using Time = std::pair<uint32_t, uint32_t>;

/// Bytes that move together: a kept value or an accumulator.
struct Block {
  ByteRange place, moved;
  Time first{~0u, ~0u}, last{0, 0};
  bool movable = true; ///< a kept value: no message touches it; an accumulator: it is written whole before anything reads it
  bool touched() const { return first <= last; }
};

class Lender {
public:
  Lender(const ClassModel &model, SharedStorage &shared, program::RankClassT &rankClass)
      : model(model), shared(shared), rankClass(rankClass) {}

  void run() {
    collect();
    if (accumulators.empty() || kept.empty())
      return;
    follow();
    orderAccumulators();
    placeKept();
    rewrite();
  }

private:
  const ClassModel &model;
  SharedStorage &shared;
  program::RankClassT &rankClass;
  std::vector<Block> accumulators, kept;
  std::vector<uint32_t> variables;                          ///< index in the class's variables, per accumulator
  std::map<std::pair<uint32_t, uint64_t>, Block *> byPlace; ///< region and first byte
  uint64_t begin = 0, end = 0;                              ///< range of all accumulators

  void collect() {
    for (uint32_t index = 0; index < model.variables.size(); ++index)
      if (model.variables[index].kind == program::VariableKind::Accumulator) {
        uint64_t bytes = model.variables[index].bytes, offset = shared.variables[index];
        begin = accumulators.empty() ? offset : begin;
        end = offset + aligned(bytes);
        accumulators.emplace_back().place = {staticRegion, offset, bytes};
        accumulators.back().movable = isMadeBeforeRead(index);
        variables.push_back(index);
      }
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> bytes; // several slots may be one value
    for (const auto &[name, region] : shared.stashes)
      for (const auto &[slot, place] : shared.kept)
        if (place.region == region && isOnDevice(region))
          bytes[{place.region, place.offset}] = std::max(bytes[{place.region, place.offset}], place.bytes);
    for (const auto &[where, size] : bytes)
      kept.emplace_back().place = {where.first, where.second, size};
    for (std::vector<Block> *blocks : {&accumulators, &kept})
      for (Block &block : *blocks)
        byPlace[{block.place.region, block.place.offset}] = &block;
  }

  bool isOnDevice(uint32_t stash) const { return shared.regions[stash - firstShared].tier == program::Tier::Device; }

  /// Whether fragments write the variable before they read it. That the first step which touches it writes all of it is seen by `follow`.
  bool isMadeBeforeRead(uint32_t variable) const {
    for (const TaskModel &task : model.tasks) {
      const FragmentModel &fragment = model.fragments[task.fragment];
      uint32_t written = ~0u, read = ~0u;
      for (const Write &write : fragment.writes)
        if (write.variable == variable)
          written = std::min(written, write.order);
      for (const ValueModel &value : fragment.values)
        if (value.variable == variable)
          read = std::min(read, value.readAt);
      if (read != ~0u || written != ~0u)
        return written < read;
    }
    return false;
  }

  Block *blockOf(const program::Operand &operand) const {
    auto after = byPlace.upper_bound({operand.region(), operand.offset()});
    if (after == byPlace.begin())
      return nullptr;
    Block *block = std::prev(after)->second;
    return block->place.region == operand.region() && operand.offset() < block->place.offset + aligned(block->place.bytes) ? block
                                                                                                                           : nullptr;
  }

  void follow() {
    for (uint32_t task = 0; task < model.tasks.size(); ++task) {
      const program::FragmentT &fragment = *rankClass.fragments[model.tasks[task].fragment];
      for (uint32_t index = 0; index < fragment.steps.size(); ++index) {
        const program::Step &step = fragment.steps[index];
        for (uint32_t i = 0; i < uint32_t(step.inputs()) + step.outputs(); ++i) {
          const program::Operand &operand = fragment.operands[step.first_operand() + i];
          Block *block = blockOf(operand);
          if (!block)
            continue;
          bool isAccumulator = block->place.region == staticRegion;
          if (isAccumulator && !block->touched())
            block->movable &= i >= step.inputs() && operand.bytes() == block->place.bytes && !program::isAsync(step);
          if (!isAccumulator && program::isAsync(step))
            block->movable = false;
          if (!block->touched())
            block->first = {task, index};
          block->last = {task, index};
        }
      }
    }
  }

  /// Orders accumulators by their first write; those whose initial contents are read come first.
  void orderAccumulators() {
    std::vector<uint32_t> order(accumulators.size());
    std::iota(order.begin(), order.end(), 0);
    auto when = [&](uint32_t index) { return accumulators[index].movable ? accumulators[index].first : Time{0, 0}; };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return when(a) < when(b); });
    uint64_t offset = begin;
    for (uint32_t index : order) {
      accumulators[index].moved = {staticRegion, offset, accumulators[index].place.bytes};
      offset += aligned(accumulators[index].place.bytes);
    }
  }

  /// The first byte from which on all accumulators are written after a kept value's last use.
  uint64_t freeFrom(const Block &value) const {
    uint64_t from = begin;
    for (const Block &accumulator : accumulators)
      if (!accumulator.movable || accumulator.first <= value.last)
        from = std::max(from, accumulator.moved.offset + aligned(accumulator.place.bytes));
    return from;
  }

  /// Places the largest first, each at the lowest offset that is free: the end of the memory is for the values that are used last.
  void placeKept() {
    std::vector<Block *> order;
    for (Block &value : kept)
      if (value.movable && value.touched())
        order.push_back(&value);
    std::stable_sort(order.begin(), order.end(), [](const Block *a, const Block *b) { return a->place.bytes > b->place.bytes; });
    std::vector<Block *> placed; // ascending by offset
    for (Block *value : order) {
      uint64_t offset = freeFrom(*value), bytes = aligned(value->place.bytes);
      for (const Block *other : placed) {
        bool meets = other->first <= value->last && value->first <= other->last;
        if (meets && other->moved.offset < offset + bytes)
          offset = std::max(offset, other->moved.offset + aligned(other->place.bytes));
      }
      if (offset + bytes > end)
        continue;
      value->moved = {staticRegion, offset, value->place.bytes};
      placed.insert(std::upper_bound(placed.begin(), placed.end(), value,
                                     [](const Block *a, const Block *b) { return a->moved.offset < b->moved.offset; }),
                    value);
    }
    std::map<uint32_t, uint64_t> used; // bytes of each stash
    for (const auto &[name, region] : shared.stashes)
      if (isOnDevice(region))
        used[region] = 0;
    for (Block &value : kept)
      if (value.moved.bytes == 0) {
        value.moved = {value.place.region, used[value.place.region], value.place.bytes};
        used[value.place.region] += aligned(value.place.bytes);
      }
    for (auto [region, bytes] : used)
      shared.regions[region - firstShared].bytes = bytes;
  }

  void rewrite() {
    for (const auto &fragment : rankClass.fragments) {
      for (program::Operand &operand : fragment->operands)
        if (const Block *block = blockOf(operand))
          operand = program::Operand(block->moved.region, 0, block->moved.offset + operand.offset() - block->place.offset, operand.bytes());
      addDependencies(*fragment);
    }
    for (size_t index = 0; index < accumulators.size(); ++index) {
      shared.variables[variables[index]] = accumulators[index].moved.offset;
      for (const auto &piece : rankClass.pieces)
        if (piece->variable == model.variables[variables[index]].variable)
          piece->offset = accumulators[index].moved.offset;
    }
  }
};

} // namespace

void lendGradients(const ClassModel &model, SharedStorage &shared, program::RankClassT &rankClass) {
  Lender(model, shared, rankClass).run();
}

} // namespace npar::memory
