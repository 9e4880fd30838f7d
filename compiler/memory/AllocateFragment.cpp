// Lays out what homes ask for, places scratch by live intervals, and writes the steps.
#include "compiler/memory/Colour.h"
#include "compiler/memory/Homes.h"
#include "compiler/memory/StepClock.h"

#include <algorithm>

namespace npar::memory {
namespace {

using program::StepKind;

/// A step of the result: an action, or a copy that is needed besides.
struct Item {
  uint32_t action = none;
  uint32_t copyFrom = none, copyTo = none; ///< values
  uint32_t copyVariable = none;            ///< instead of `copyTo`
  uint32_t label = 0;
};

class FragmentAllocator : Homes {
public:
  FragmentAllocator(const FragmentModel &model, SharedStorage &shared, std::string &error)
      : Homes(model, shared), model(model), shared(shared), error(error) {}

  FragmentMemory run() {
    layOutShared();
    sequence();
    FragmentMemory memory;
    placeScratch(memory);
    emit(memory);
    return memory;
  }

private:
  const FragmentModel &model;
  SharedStorage &shared;
  std::string &error;

  std::vector<Item> items;
  uint32_t reduced = 0; ///< region of the values of Home::Reduced; 0: none yet

  /// Places of everything but scratch.
  void layOutShared() {
    for (uint32_t value = 0; value < model.values.size(); ++value) {
      const ValueModel &facts = model.values[value];
      Buffer &storage = buffers[bufferOf(value)];
      ByteRange &place = storage.place;
      place.bytes = storage.bytes;
      switch (storage.home) {
      case Home::Scratch:
        place.region = storage.tier == program::Tier::Device ? uint32_t(scratchRegion) : hostScratch();
        break;
      case Home::Variable:
        place.region = shared.variableRegions[storage.index];
        place.offset = shared.variables[storage.index];
        break;
      case Home::Input:
        place.region = inputRegion;
        place.offset = shared.inputs[storage.index];
        break;
      case Home::Result:
        place = shared.results[storage.index];
        break;
      case Home::Stash:
        if (!facts.stash.empty() && place.region == 0) {
          place.region = stashOf(facts.stash, storage.tier);
          uint64_t &bytes = shared.regions[place.region - firstShared].bytes;
          place.offset = bytes;
          bytes += aligned(storage.bytes);
        }
        break;
      case Home::Unstash:
        if (!facts.unstash.empty() && root[value] == value) {
          auto found = shared.kept.find(facts.unstash);
          if (found == shared.kept.end() || found->second.bytes != storage.bytes)
            error = "fragment '" + model.name + "' unstashes '" + facts.unstash + "', which no earlier fragment keeps in this size";
          else
            place = found->second;
        }
        break;
      case Home::Reduced:
        if (root[value] == value && bufferOf(value) == value) {
          if (reduced == 0)
            reduced = addRegion({"reduced_" + model.name, 0});
          uint64_t &bytes = shared.regions[reduced - firstShared].bytes;
          place.region = reduced;
          place.offset = bytes;
          bytes += aligned(storage.bytes);
        }
        break;
      case Home::Box: {
        uint32_t event = facts.event != none ? facts.event : facts.sent.empty() ? none : facts.sent.front();
        if (event != none && place.region == 0)
          place.region = addRegion({(facts.event != none ? "inbox" : "outbox") + std::to_string(event), aligned(storage.bytes), RegionUse::Box});
        break;
      }
      }
    }
    for (uint32_t value = 0; value < model.values.size(); ++value)
      if (!model.values[value].stash.empty())
        shared.kept[model.values[value].stash] = buffers[bufferOf(value)].place;
  }

  uint32_t addRegion(SharedRegion region) {
    shared.regions.push_back(std::move(region));
    return firstShared + static_cast<uint32_t>(shared.regions.size()) - 1;
  }

  /// The region of the values that this fragment keeps for the same fragments as the one in this slot.
  uint32_t stashOf(const std::string &slot, program::Tier tier) {
    const std::string &name = shared.keepers[slot];
    auto found = shared.stashes.find(name);
    return found != shared.stashes.end() ? found->second : shared.stashes[name] = addRegion({name, 0, RegionUse::Kept, tier});
  }

  /// The region of temporaries in the host's memory, which all fragments share.
  uint32_t hostScratch() {
    for (uint32_t i = 0; i < shared.regions.size(); ++i)
      if (shared.regions[i].use == RegionUse::Scratch)
        return firstShared + i;
    return addRegion({"host_scratch", 0, RegionUse::Scratch, program::Tier::Host});
  }

  /// The order of steps: actions, copies into variables as late as old contents are read, copies that start an accumulation.
  void sequence() {
    std::vector<std::vector<Item>> after(model.actions.size() + 1); // [i]: before action i
    for (uint32_t index = 0; index < model.writes.size(); ++index) {
      const Write &write = model.writes[index];
      if (direct[index])
        continue;
      uint32_t position = 0;
      while (position < model.actions.size() && model.actions[position].order < write.order)
        ++position;
      uint32_t late = position;
      forEachOldRead(write.variable, write.order, [&](uint32_t read) {
        if (lastUse[root[read]] != none)
          late = std::max(late, lastUse[root[read]] + 1);
      });
      // A later write, or a read of the new contents, must find the copy done.
      for (uint32_t other = 0; other < model.writes.size(); ++other)
        if (other != index && model.writes[other].variable == write.variable && late > position)
          error = "fragment '" + model.name + "' writes a variable twice while its old value is still read";
      for (uint32_t value = 0; value < model.values.size(); ++value) {
        bool isNew = model.values[value].readAt > write.order;
        if (model.values[value].variable != write.variable)
          continue;
        bool mixed = isNew && late > position && !uses[root[value]].empty() && uses[root[value]].front() < late;
        for (const Write &other : model.writes)
          mixed |= root[other.value] == root[value] && (isNew ? late > position : other.order > write.order);
        if (mixed)
          error = "fragment '" + model.name + "' needs the old and the new value of a variable at the same time";
      }
      Item copy;
      copy.copyFrom = write.value;
      copy.copyVariable = write.variable;
      copy.label = write.label;
      after[late].push_back(copy);
    }
    for (uint32_t index = 0; index <= model.actions.size(); ++index) {
      items.insert(items.end(), after[index].begin(), after[index].end());
      if (index == model.actions.size())
        break;
      const Action &action = model.actions[index];
      if (action.accumulator != none && !accumulatesInPlace(action)) {
        Item copy;
        copy.copyFrom = action.accumulator;
        copy.copyTo = action.outputs[0];
        copy.label = action.label;
        items.push_back(copy);
      }
      Item item;
      item.action = index;
      items.push_back(item);
    }
  }

  template <typename Visit> void forEachValue(const Item &item, Visit visit) const {
    if (item.action == none) {
      visit(item.copyFrom);
      if (item.copyTo != none)
        visit(item.copyTo);
      return;
    }
    const Action &action = model.actions[item.action];
    for (uint32_t value : action.inputs)
      visit(value);
    for (uint32_t value : action.outputs)
      visit(value);
    if (action.accumulator != none)
      visit(action.accumulator);
  }

  void placeScratch(FragmentMemory &memory) {
    memory.scratch = placeScratchOf(program::Tier::Device);
    if (uint64_t bytes = placeScratchOf(program::Tier::Host)) {
      uint64_t &most = shared.regions[hostScratch() - firstShared].bytes;
      most = std::max(most, bytes);
    }
  }

  /// Returns the bytes that the temporaries of a tier need.
  uint64_t placeScratchOf(program::Tier tier) {
    std::vector<Interval> intervals;
    std::vector<uint32_t> owners;
    std::vector<uint32_t> intervalOf(model.values.size(), none);
    std::vector<uint32_t> itemOf(model.actions.size());
    for (uint32_t index = 0; index < items.size(); ++index)
      if (items[index].action != none)
        itemOf[items[index].action] = index;
    for (uint32_t index = 0; index < items.size(); ++index) {
      uint32_t until = items[index].action == none ? none : model.actions[items[index].action].until;
      uint32_t last = until == none ? index : itemOf[until];
      forEachValue(items[index], [&](uint32_t value) {
        uint32_t owner = bufferOf(value);
        if (buffers[owner].home != Home::Scratch || buffers[owner].tier != tier)
          return;
        if (intervalOf[owner] == none) {
          intervalOf[owner] = static_cast<uint32_t>(intervals.size());
          intervals.push_back({index, index, buffers[owner].bytes});
          owners.push_back(owner);
        }
        Interval &interval = intervals[intervalOf[owner]];
        interval.last = std::max<int64_t>(interval.last, last);
      });
    }
    Placement placement = placeIntervals(intervals);
    for (uint32_t i = 0; i < owners.size(); ++i)
      buffers[owners[i]].place.offset = placement.offsets[i];
    return placement.total;
  }

  program::Tier tierOf(uint32_t region) const {
    return region < firstShared ? program::Tier::Device : shared.regions[region - firstShared].tier;
  }

  void emit(FragmentMemory &memory) {
    memory.fragment = std::make_unique<program::FragmentT>();
    program::FragmentT &fragment = *memory.fragment;
    fragment.name = model.name;
    fragment.phase = model.phase;
    fragment.chunk = model.chunk;
    StepClock clock(model);
    auto addOperand = [&](const ByteRange &place, uint64_t skip) {
      fragment.operands.emplace_back(place.region, 0, place.offset + skip, place.bytes - skip);
    };
    for (uint32_t index = 0; index < items.size(); ++index) {
      const Item &item = items[index];
      uint32_t first = static_cast<uint32_t>(fragment.operands.size());
      if (item.action == none) {
        const ByteRange &from = buffers[bufferOf(item.copyFrom)].place;
        addOperand(from, 0);
        if (item.copyTo != none)
          addOperand(buffers[bufferOf(item.copyTo)].place, 0);
        else
          addOperand({shared.variableRegions[item.copyVariable], shared.variables[item.copyVariable], from.bytes}, 0);
        Action copy;
        copy.inputs = {item.copyFrom};
        const double bytes = static_cast<double>(from.bytes);
        if (item.copyTo == none)
          copy.lane = laneOfCopy(tierOf(from.region), tierOf(shared.variableRegions[item.copyVariable]));
        copy.seconds = copy.lane == Lane::ToFile ? model.fileLatency + bytes * model.fileSecondsPerByte : bytes * model.secondsPerByte;
        const StepClock::Span span = clock.time(copy);
        fragment.steps.emplace_back(StepKind::Copy, 0, 1, 1, 0, first, 0, 0, 0, item.label, 0.0, span.begin, span.end);
        continue;
      }
      const Action &action = model.actions[item.action];
      for (uint32_t i = 0; i < action.inputs.size(); ++i)
        addOperand(buffers[bufferOf(action.inputs[i])].place, action.inputOffsets.empty() ? 0 : action.inputOffsets[i]);
      for (uint32_t output : action.outputs)
        addOperand(buffers[bufferOf(output)].place, 0);
      // Messages are in flight while other steps compute: a received message arrives before its task begins.
      StepClock::Span span = {clock.now(), clock.now() + action.seconds};
      if (action.kind == StepKind::Receive)
        span = {-action.seconds, 0};
      else if (action.kind != StepKind::Send && !action.free)
        span = clock.time(action);
      fragment.steps.emplace_back(action.kind, action.free, static_cast<uint16_t>(action.inputs.size()),
                                  static_cast<uint16_t>(action.outputs.size()), 0, first, action.payload, 0, 0, action.label, action.flops,
                                  span.begin, span.end);
    }
    memory.seconds = clock.end();
    addDependencies(fragment);
  }
};

} // namespace

FragmentMemory allocateFragment(const FragmentModel &model, SharedStorage &shared, std::string &error) {
  return FragmentAllocator(model, shared, error).run();
}

} // namespace npar::memory
