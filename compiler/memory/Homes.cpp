// Chooses homes in order of need: what values bring along, what is written to variables, what is sent; then shares scratch.
#include "compiler/memory/Homes.h"

#include <algorithm>

namespace npar::memory {

using program::StepKind;

Homes::Homes(const FragmentModel &model, const SharedStorage &shared) : model(model), shared(shared) {
  resolve();
  chooseHomes();
  writeInPlace();
  shareStorage();
}

uint32_t Homes::bufferOf(uint32_t value) const {
  value = root[value];
  while (buffer[value] != value)
    value = buffer[value];
  return value;
}

void Homes::resolve() {
  size_t count = model.values.size();
  root.resize(count);
  def.assign(count, none);
  lastUse.assign(count, none);
  uses.resize(count);
  buffer.resize(count);
  buffers.resize(count);
  reads.resize(shared.variables.size());
  written.resize(count);
  for (uint32_t value = 0; value < count; ++value) {
    root[value] = model.values[value].alias == none ? value : root[model.values[value].alias];
    buffer[value] = value;
    if (model.values[value].variable != none)
      reads[model.values[value].variable].push_back(value);
  }
  for (const Write &write : model.writes)
    written[root[write.value]] = true;
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
void Homes::chooseHomes() {
  for (uint32_t value = 0; value < model.values.size(); ++value) {
    const ValueModel &facts = model.values[value];
    Buffer &storage = buffers[root[value]];
    if (root[value] == value) {
      storage.bytes = facts.bytes;
      storage.tier = facts.tier;
      if (facts.variable != none)
        storage.home = Home::Variable, storage.index = facts.variable;
      else if (facts.input != none)
        storage.home = Home::Input, storage.index = facts.input;
      else if (!facts.unstash.empty())
        storage.home = Home::Unstash;
      else if (facts.event != none)
        storage.home = Home::Box;
      else if (facts.result != none)
        storage.home = Home::Result, storage.index = facts.result;
    }
    if (storage.home == Home::Scratch && !facts.stash.empty())
      storage.home = Home::Stash;
  }
}

/// Returns whether writing `output` of action `index` may overwrite `value`: all uses are earlier, or are this action, which permits it.
bool Homes::mayOverwrite(uint32_t value, uint32_t index, uint32_t output) const {
  // If a variable is set to the value, a later copy may still read it.
  if (written[root[value]])
    return false;
  for (uint32_t use : uses[root[value]]) {
    if (use > index)
      return false;
    if (uint32_t until = model.actions[use].until; use < index && until != none && until >= index)
      return false; // a collective that still runs
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

uint32_t Homes::outputIndex(uint32_t action, uint32_t value) const {
  const std::vector<uint32_t> &outputs = model.actions[action].outputs;
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (root[outputs[i]] == root[value])
      return i;
  return none;
}

/// Gives results that are written to a variable the variable's own storage, and reduces accumulators where they are.
void Homes::writeInPlace() {
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
    if (storage.home != Home::Scratch || def[value] == none || writers[write.variable] > 1 || storage.tier != shared.tiers[write.variable])
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
  std::vector<bool> claimed(shared.variables.size(), false); // one result each
  for (uint32_t index = 0; index < model.actions.size(); ++index) {
    const Action &action = model.actions[index];
    if (action.kind != StepKind::Collective || action.inplace.empty() || model.phase != program::Phase::Update)
      continue; // other fragments read their accumulators in several tasks
    for (auto [place, from] : action.inplace) {
      const Buffer &input = buffers[root[action.inputs[from]]];
      Buffer &output = buffers[root[action.outputs[place]]];
      if (input.home != Home::Variable || shared.kinds[input.index] != program::VariableKind::Accumulator || output.home != Home::Scratch ||
          writers[input.index] > 0 || claimed[input.index])
        continue;
      bool legal = true;
      forEachOldRead(input.index, ~0u, [&, place = place](uint32_t read) { legal &= mayOverwrite(read, index, place); });
      if (legal)
        output.home = Home::Variable, output.index = input.index, claimed[input.index] = true;
    }
  }
  for (const Action &action : model.actions)
    for (uint32_t output : action.outputs)
      if (action.free && buffers[root[output]].home == Home::Scratch)
        buffers[root[output]].home = Home::Reduced;
  // A sent value without a home gets a box. A step must not write to that box in place of another value.
  for (uint32_t value = 0; value < model.values.size(); ++value)
    if (!model.values[value].sent.empty() && buffers[root[value]].home == Home::Scratch)
      buffers[root[value]].home = Home::Box;
}

/// Returns whether this fragment alone needs the contents of the value's slot, so that its bytes are free after the last use here.
bool Homes::ownsKept(uint32_t value) const {
  const std::string &slot = model.values[value].unstash;
  auto users = shared.users.find(slot);
  auto kept = shared.kept.find(slot);
  if (users == shared.users.end() || users->second != 1 || kept == shared.kept.end())
    return false;
  // Only a stash has bytes for the kept value alone; other homes (parameter, input, box) have other users.
  const ByteRange &place = kept->second;
  if (std::none_of(shared.stashes.begin(), shared.stashes.end(), [&](const auto &stash) { return stash.second == place.region; }))
    return false;
  for (const auto &[other, range] : shared.kept) // two names of one value
    if (other != slot && range.region == place.region && range.offset == place.offset)
      return false;
  for (uint32_t other = 0; other < model.values.size(); ++other) {
    const ValueModel &facts = model.values[other];
    bool again = other != value && facts.unstash == slot;
    bool leaves = root[other] == root[value] && (!facts.stash.empty() || !facts.sent.empty() || facts.result != none);
    if (again || leaves)
      return false;
  }
  return true;
}

/// Lets outputs take over the storage of inputs that die: scratch, or what an earlier fragment kept for this one alone.
void Homes::shareStorage() {
  for (uint32_t index = 0; index < model.actions.size(); ++index) {
    const Action &action = model.actions[index];
    std::vector<bool> taken(action.outputs.size());
    auto share = [&](uint32_t output, uint32_t input) {
      uint32_t from = bufferOf(input), to = bufferOf(action.outputs[output]);
      bool scratch = buffers[from].home == Home::Scratch && (buffers[to].home == Home::Scratch || buffers[to].home == Home::Stash) &&
                     def[root[input]] != none;
      bool kept = buffers[from].home == Home::Unstash && buffers[to].home == Home::Scratch;
      if (taken[output] || from == to || !(scratch || kept) || buffers[from].bytes != buffers[to].bytes || buffers[from].tier != buffers[to].tier ||
          !mayOverwrite(input, index, output))
        return;
      // a value computed here has this home because an earlier step already took it over
      if (kept && def[root[input]] == none && !ownsKept(from))
        return;
      // Another value may share the storage already; it died before `input` was defined.
      for (uint32_t other = 0; other < action.outputs.size(); ++other)
        if (other != output && bufferOf(action.outputs[other]) == from)
          return;
      if (scratch)
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

bool Homes::accumulatesInPlace(const Action &action) const {
  uint32_t from = bufferOf(action.accumulator), to = bufferOf(action.outputs[0]);
  const Buffer &a = buffers[from], &b = buffers[to];
  return from == to || (a.home == Home::Variable && b.home == Home::Variable && a.index == b.index);
}

} // namespace npar::memory
