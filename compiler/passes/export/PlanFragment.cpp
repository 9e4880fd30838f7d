// Chooses a home for each value (variable, stash, box or scratch), places scratch by live intervals, and writes the steps.
#include "compiler/passes/export/PlanFragment.h"

#include "compiler/passes/export/Colour.h"

#include <algorithm>

namespace npar::plan {
namespace {

using program::StepKind;

enum class Home { Scratch, Variable, Input, Stash, Unstash, Box };

/// A step of the result: an action, or a copy that the plan adds.
struct Item {
  uint32_t action = none;
  uint32_t copyFrom = none, copyTo = none; ///< values
  uint32_t copyVariable = none;            ///< instead of `copyTo`
  uint32_t label = 0;
};

class Planner {
public:
  Planner(const FragmentModel &model, SharedStorage &shared, std::string &error) : model(model), shared(shared), error(error) {}

  FragmentPlan run() {
    resolve();
    chooseHomes();
    writeInPlace();
    shareStorage();
    layOutShared();
    sequence();
    FragmentPlan plan;
    placeScratch(plan);
    emit(plan);
    return plan;
  }

private:
  const FragmentModel &model;
  SharedStorage &shared;
  std::string &error;

  struct Buffer {
    Home home = Home::Scratch;
    uint32_t index = 0; ///< variable or input
    uint64_t bytes = 0;
    Place place;
  };
  std::vector<uint32_t> root;              // value -> the value that it is an alias of
  std::vector<uint32_t> def, lastUse;      // of roots: action index; none: not by an action, no use
  std::vector<std::vector<uint32_t>> uses; // of roots: action indices, ascending
  std::vector<uint32_t> buffer;            // of roots: the root that stands for the storage
  std::vector<Buffer> buffers;             // of buffer roots
  std::vector<bool> direct;                // writes that need no copy
  std::vector<Item> items;

  uint32_t bufferOf(uint32_t value) const {
    value = root[value];
    while (buffer[value] != value)
      value = buffer[value];
    return value;
  }

  void resolve() {
    size_t count = model.values.size();
    root.resize(count);
    def.assign(count, none);
    lastUse.assign(count, none);
    uses.resize(count);
    buffer.resize(count);
    buffers.resize(count);
    for (uint32_t value = 0; value < count; ++value) {
      root[value] = model.values[value].alias == none ? value : root[model.values[value].alias];
      buffer[value] = value;
    }
    for (uint32_t index = 0; index < model.actions.size(); ++index) {
      const Action &action = model.actions[index];
      auto use = [&](uint32_t value) {
        lastUse[root[value]] = index;
        if (uses[root[value]].empty() || uses[root[value]].back() != index)
          uses[root[value]].push_back(index);
      };
      for (uint32_t input : action.inputs)
        use(input);
      if (action.accumulator != none)
        use(action.accumulator);
      for (uint32_t output : action.outputs)
        def[root[output]] = index;
    }
  }

  /// Homes that values bring along. A value that several ask for keeps the first in this order; the others read it there.
  void chooseHomes() {
    for (uint32_t value = 0; value < model.values.size(); ++value) {
      const ValueModel &facts = model.values[value];
      Buffer &storage = buffers[root[value]];
      if (root[value] == value) {
        storage.bytes = facts.bytes;
        if (facts.variable != none)
          storage.home = Home::Variable, storage.index = facts.variable;
        else if (facts.input != none)
          storage.home = Home::Input, storage.index = facts.input;
        else if (!facts.unstash.empty())
          storage.home = Home::Unstash;
        else if (facts.event != none)
          storage.home = Home::Box;
      }
      if (storage.home == Home::Scratch && !facts.stash.empty())
        storage.home = Home::Stash;
    }
  }

  /// Whether writing `output` of action `index` may overwrite `value`: every use is earlier, or this one with permission.
  bool mayOverwrite(uint32_t value, uint32_t index, uint32_t output) const {
    // A variable that is set to the value may be set by a copy, later.
    for (const Write &write : model.writes)
      if (root[write.value] == root[value])
        return false;
    for (uint32_t use : uses[root[value]]) {
      if (use > index)
        return false;
      if (use < index)
        continue;
      const Action &action = model.actions[index];
      if (action.accumulator != none && root[action.accumulator] == root[value]) {
        if (std::any_of(action.inputs.begin(), action.inputs.end(), [&](uint32_t input) { return root[input] == root[value]; }))
          return false;
        continue;
      }
      for (uint32_t i = 0; i < action.inputs.size(); ++i)
        if (root[action.inputs[i]] == root[value] &&
            std::find(action.inplace.begin(), action.inplace.end(), std::make_pair(output, i)) == action.inplace.end())
          return false;
    }
    return true;
  }

  uint32_t outputIndex(uint32_t action, uint32_t value) const {
    const std::vector<uint32_t> &outputs = model.actions[action].outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i)
      if (root[outputs[i]] == root[value])
        return i;
    return none;
  }

  /// Values read from a variable before an order mark: they must keep the old contents.
  template <typename Visit> void forEachOldRead(uint32_t variable, uint32_t before, Visit visit) const {
    for (uint32_t value = 0; value < model.values.size(); ++value)
      if (model.values[value].variable == variable && model.values[value].readAt < before)
        visit(value);
  }

  /// Gives results that are written to a variable the variable's own storage, and reduces accumulators where they are.
  void writeInPlace() {
    direct.assign(model.writes.size(), false);
    std::vector<uint32_t> writers(shared.variables.size(), 0);
    for (const Write &write : model.writes)
      ++writers[write.variable];
    for (uint32_t index = 0; index < model.writes.size(); ++index) {
      const Write &write = model.writes[index];
      uint32_t value = root[write.value];
      Buffer &storage = buffers[value];
      if (storage.home == Home::Variable && storage.index == write.variable && writers[write.variable] == 1)
        direct[index] = true; // of its own contents
      if (storage.home != Home::Scratch || def[value] == none || writers[write.variable] > 1)
        continue;
      bool legal = true;
      forEachOldRead(write.variable, write.order,
                     [&](uint32_t read) { legal &= mayOverwrite(read, def[value], outputIndex(def[value], value)); });
      if (legal) {
        storage.home = Home::Variable;
        storage.index = write.variable;
        direct[index] = true;
      }
    }
    for (uint32_t index = 0; index < model.actions.size(); ++index) {
      const Action &action = model.actions[index];
      if (action.kind != StepKind::Collective || action.inplace.empty())
        continue;
      const Buffer &input = buffers[root[action.inputs[0]]];
      Buffer &output = buffers[root[action.outputs[0]]];
      if (input.home != Home::Variable || shared.kinds[input.index] != program::VariableKind::Accumulator || output.home != Home::Scratch ||
          writers[input.index] > 0)
        continue;
      bool legal = true;
      forEachOldRead(input.index, ~0u, [&](uint32_t read) { legal &= mayOverwrite(read, index, 0); });
      if (legal)
        output.home = Home::Variable, output.index = input.index;
    }
    // What is sent and has no home yet gets a box; a step must not write there in place of something else.
    for (uint32_t value = 0; value < model.values.size(); ++value)
      if (!model.values[value].sent.empty() && buffers[root[value]].home == Home::Scratch)
        buffers[root[value]].home = Home::Box;
  }

  bool isDone(uint32_t value, uint32_t index) const { return lastUse[root[value]] == none || lastUse[root[value]] <= index; }

  /// Lets outputs take over the storage of scratch inputs that die.
  void shareStorage() {
    for (uint32_t index = 0; index < model.actions.size(); ++index) {
      const Action &action = model.actions[index];
      std::vector<bool> taken(action.outputs.size());
      auto share = [&](uint32_t output, uint32_t input) {
        uint32_t from = bufferOf(input), to = bufferOf(action.outputs[output]);
        bool scratch = buffers[from].home == Home::Scratch && (buffers[to].home == Home::Scratch || buffers[to].home == Home::Stash);
        if (taken[output] || from == to || !scratch || def[root[input]] == none || buffers[from].bytes != buffers[to].bytes ||
            !isDone(input, index) || !mayOverwrite(input, index, output) || isWritten(input))
          return;
        // Another value may share the storage already; it died before `input` was defined.
        for (uint32_t other = 0; other < action.outputs.size(); ++other)
          if (other != output && bufferOf(action.outputs[other]) == from)
            return;
        buffers[from].home = buffers[to].home;
        buffer[to] = from;
        taken[output] = true;
      };
      for (auto [output, input] : action.inplace)
        share(output, action.inputs[input]);
      if (action.accumulator != none)
        share(0, action.accumulator);
    }
  }

  /// Whether a copy to a variable reads the value later.
  bool isWritten(uint32_t value) const {
    for (uint32_t index = 0; index < model.writes.size(); ++index)
      if (!direct[index] && root[model.writes[index].value] == root[value])
        return true;
    return false;
  }

  /// Places of everything but scratch.
  void layOutShared() {
    for (uint32_t value = 0; value < model.values.size(); ++value) {
      const ValueModel &facts = model.values[value];
      Buffer &storage = buffers[bufferOf(value)];
      Place &place = storage.place;
      place.bytes = storage.bytes;
      switch (storage.home) {
      case Home::Scratch:
        place.region = scratchRegion;
        break;
      case Home::Variable:
        place.region = staticRegion;
        place.offset = shared.variables[storage.index];
        break;
      case Home::Input:
        place.region = inputRegion;
        place.offset = shared.inputs[storage.index];
        break;
      case Home::Stash:
        if (!facts.stash.empty() && place.region == 0) {
          place.region = stashRegion;
          place.offset = shared.stashBytes;
          shared.stashBytes += aligned(storage.bytes);
        }
        break;
      case Home::Unstash:
        if (!facts.unstash.empty() && root[value] == value) {
          auto found = shared.stash.find(facts.unstash);
          if (found == shared.stash.end() || found->second.bytes != storage.bytes)
            error = "fragment '" + model.name + "' unstashes '" + facts.unstash + "', which no forward keeps in this size";
          else
            place = found->second;
        }
        break;
      case Home::Box: {
        uint32_t event = facts.event != none ? facts.event : facts.sent.empty() ? none : facts.sent.front();
        if (event != none && place.region == 0) {
          place.region = firstBox + static_cast<uint32_t>(shared.boxRegions.size());
          shared.boxRegions.emplace_back((facts.event != none ? "inbox" : "outbox") + std::to_string(event), aligned(storage.bytes));
          shared.boxes[event] = place.region;
        }
        break;
      }
      }
    }
    for (uint32_t value = 0; value < model.values.size(); ++value)
      if (!model.values[value].stash.empty())
        shared.stash[model.values[value].stash] = buffers[bufferOf(value)].place;
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
      if (action.accumulator != none && !samePlaceAsOutput(action)) {
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

  bool samePlaceAsOutput(const Action &action) const {
    uint32_t from = bufferOf(action.accumulator), to = bufferOf(action.outputs[0]);
    const Buffer &a = buffers[from], &b = buffers[to];
    return from == to || (a.home == Home::Variable && b.home == Home::Variable && a.index == b.index);
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

  std::vector<uint64_t> workspaceOffsets;

  void placeScratch(FragmentPlan &plan) {
    std::vector<Interval> intervals;
    std::vector<uint32_t> owners;
    std::vector<uint32_t> intervalOf(model.values.size(), none);
    for (uint32_t index = 0; index < items.size(); ++index)
      forEachValue(items[index], [&](uint32_t value) {
        uint32_t owner = bufferOf(value);
        if (buffers[owner].home != Home::Scratch)
          return;
        if (intervalOf[owner] == none) {
          intervalOf[owner] = static_cast<uint32_t>(intervals.size());
          intervals.push_back({index, index, buffers[owner].bytes});
          owners.push_back(owner);
        }
        intervals[intervalOf[owner]].last = index;
      });
    plan.scratchWithoutWorkspace = placeIntervals(intervals).total;
    workspaceOffsets.assign(items.size(), 0);
    std::vector<uint32_t> workspaceItems;
    for (uint32_t index = 0; index < items.size(); ++index)
      if (items[index].action != none && model.actions[items[index].action].workspace) {
        intervals.push_back({index, index, model.actions[items[index].action].workspace});
        workspaceItems.push_back(index);
      }
    Placement placement = placeIntervals(intervals);
    plan.scratch = placement.total;
    for (uint32_t i = 0; i < owners.size(); ++i)
      buffers[owners[i]].place.offset = placement.offsets[i];
    for (uint32_t i = 0; i < workspaceItems.size(); ++i)
      workspaceOffsets[workspaceItems[i]] = placement.offsets[owners.size() + i];
  }

  void emit(FragmentPlan &plan) {
    plan.fragment = std::make_unique<program::FragmentT>();
    program::FragmentT &fragment = *plan.fragment;
    fragment.name = model.name;
    fragment.phase = model.phase;
    auto addOperand = [&](const Place &place, uint64_t skip) {
      fragment.operands.emplace_back(place.region, 0, place.offset + skip, place.bytes - skip);
    };
    for (uint32_t index = 0; index < items.size(); ++index) {
      const Item &item = items[index];
      uint32_t first = static_cast<uint32_t>(fragment.operands.size());
      if (item.action == none) {
        const Place &from = buffers[bufferOf(item.copyFrom)].place;
        addOperand(from, 0);
        if (item.copyTo != none)
          addOperand(buffers[bufferOf(item.copyTo)].place, 0);
        else
          addOperand({staticRegion, shared.variables[item.copyVariable], from.bytes}, 0);
        double seconds = static_cast<double>(from.bytes) / 5e9;
        fragment.steps.emplace_back(StepKind::Copy, 0, 1, 1, 0, first, 0, 0, 0, item.label, 0.0, plan.seconds, plan.seconds + seconds);
        plan.seconds += seconds;
        continue;
      }
      const Action &action = model.actions[item.action];
      for (uint32_t i = 0; i < action.inputs.size(); ++i)
        addOperand(buffers[bufferOf(action.inputs[i])].place, action.inputOffsets.empty() ? 0 : action.inputOffsets[i]);
      for (uint32_t output : action.outputs)
        addOperand(buffers[bufferOf(output)].place, 0);
      uint32_t outputs = static_cast<uint32_t>(action.outputs.size());
      if (action.workspace) {
        addOperand({scratchRegion, workspaceOffsets[index], aligned(action.workspace)}, 0);
        ++outputs;
      }
      // A message is under way beside the compute steps: it arrives before its task begins.
      double begin = plan.seconds, end = begin + action.seconds;
      if (action.kind == StepKind::Receive)
        begin = -action.seconds, end = 0;
      else if (action.kind != StepKind::Send)
        plan.seconds = end;
      fragment.steps.emplace_back(action.kind, 0, static_cast<uint16_t>(action.inputs.size()), static_cast<uint16_t>(outputs), 0, first,
                                  action.payload, 0, 0, action.label, action.flops, begin, end);
    }
    addDependencies(fragment);
  }
};

} // namespace

FragmentPlan planFragment(const FragmentModel &model, SharedStorage &shared, std::string &error) {
  return Planner(model, shared, error).run();
}

} // namespace npar::plan
