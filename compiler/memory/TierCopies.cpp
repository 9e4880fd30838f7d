// Rewrites the actions of each fragment in order: operands become copies in the tier of the action, results are copied where they belong.
#include "compiler/memory/TierCopies.h"

#include <algorithm>
#include <map>

namespace npar::memory {
namespace {

using program::StepKind;
using program::Tier;

/// One fragment.
class Mover {
public:
  Mover(const ClassModel &model, FragmentModel &fragment, const TierCosts &costs, const CopyLabel &label)
      : model(model), fragment(fragment), costs(costs), label(label) {}

  void run() {
    std::vector<Action> actions = std::move(fragment.actions);
    fragment.actions.clear();
    std::vector<uint32_t> moved(actions.size()); // to the place in the new list
    for (uint32_t index = 0; index < actions.size(); ++index) {
      Action action = std::move(actions[index]);
      const Tier tier = runsOnHost(action) ? Tier::Host : Tier::Device;
      bringOperands(action, tier);
      if (tier == Tier::Host)
        takeToHost(action);
      moved[index] = static_cast<uint32_t>(fragment.actions.size());
      const std::vector<uint32_t> outputs = action.outputs;
      const uint32_t like = action.label;
      if (action.until != none)
        waiting.push_back({moved[index], action.until});
      fragment.actions.push_back(std::move(action));
      for (uint32_t output : outputs)
        madeAt[rootOf(output)] = moved[index];
      takeResults(outputs, like);
    }
    fragment.fileLatency = costs.fileLatency, fragment.fileSecondsPerByte = costs.fileSecondsPerByte;
    for (auto [action, until] : waiting)
      fragment.actions[action].until = moved[until];
  }

private:
  const ClassModel &model;
  FragmentModel &fragment;
  const TierCosts &costs;
  const CopyLabel &label;

  /// A value in another tier than its own, and the last user of copies that needed it.
  struct Copied {
    uint32_t value, user;
  };
  std::map<std::pair<uint32_t, Tier>, Copied> copies; ///< by root and tier
  std::map<uint32_t, uint32_t> madeAt;                ///< by root: the action that makes the value
  std::vector<std::pair<uint32_t, uint32_t>> waiting; ///< actions with `until`, and its old index
  uint32_t users = 0;                                 ///< of copies, so far
  uint32_t early = 0;                                 ///< place of the last of them, before which copies for the next one are inserted

  /// A smaller value keeps its copy: many steps use such scalars.
  static constexpr uint64_t smallBytes = 4096;

  uint32_t rootOf(uint32_t value) const {
    while (fragment.values[value].alias != none)
      value = fragment.values[value].alias;
    return value;
  }

  Tier tierOf(uint32_t root) const {
    const ValueModel &value = fragment.values[root];
    return value.variable != none ? model.variables[value.variable].tier : value.tier;
  }

  bool isStateElsewhere(uint32_t variable) const {
    const VariableModel &facts = model.variables[variable];
    return facts.kind == program::VariableKind::State && facts.tier != Tier::Device;
  }

  bool runsOnHost(const Action &action) const {
    if (fragment.phase != program::Phase::Update || action.kind != StepKind::Kernel)
      return false;
    for (uint32_t input : action.inputs) {
      const uint32_t root = rootOf(input);
      const ValueModel &value = fragment.values[root];
      if (value.variable != none ? isStateElsewhere(value.variable) : value.tier == Tier::Host)
        return true;
    }
    return std::any_of(fragment.writes.begin(), fragment.writes.end(), [&](const Write &write) {
      return isStateElsewhere(write.variable) && std::any_of(action.outputs.begin(), action.outputs.end(), [&](uint32_t output) {
               return rootOf(output) == rootOf(write.value);
             });
    });
  }

  /// Replaces the operands that are in another tier than the action.
  void bringOperands(Action &action, Tier tier) {
    bool needsCopies = false;
    for (uint32_t &input : action.inputs)
      if (uint32_t root = rootOf(input); tierOf(root) != tier) {
        uint32_t copy = copyOf(root, tier, action);
        if (action.kind == StepKind::Send) { // what is sent leaves from the copy
          std::vector<uint32_t> &events = fragment.values[input].sent;
          fragment.values[copy].sent.insert(fragment.values[copy].sent.end(), events.begin(), events.end());
          events.clear();
        }
        input = copy;
        needsCopies = true;
      }
    if (action.accumulator != none)
      if (uint32_t root = rootOf(action.accumulator); tierOf(root) != tier)
        action.accumulator = copyOf(root, tier, action), needsCopies = true;
    if (needsCopies)
      ++users, early = static_cast<uint32_t>(fragment.actions.size());
  }

  /// The value in this tier, for the next user of copies.
  uint32_t copyOf(uint32_t root, Tier tier, const Action &user) {
    auto known = copies.find({root, tier});
    if (known != copies.end() && (fragment.values[root].bytes <= smallBytes || known->second.user + 1 >= users)) {
      known->second.user = users;
      return known->second.value;
    }
    uint32_t from = root;
    if (tierOf(root) == Tier::File && tier == Tier::Device)
      from = copyOf(root, Tier::Host, user);
    uint32_t copy = addValue(fragment.values[root].bytes, tier);
    insert(from, copy, earliest(from, root), tier == Tier::Host && tierOf(from) == Tier::Device ? "copy to host for " : "copy for ", user.label);
    copies[{root, tier}] = {copy, users};
    return copy;
  }

  /// The place of a copy: before the last user of copies, after what makes the value. What the fragment itself has written before it reads it
  /// is copied at once.
  uint32_t earliest(uint32_t from, uint32_t root) const {
    const uint32_t now = static_cast<uint32_t>(fragment.actions.size());
    const ValueModel &value = fragment.values[root];
    for (const Write &write : fragment.writes)
      if (value.variable != none && write.variable == value.variable && write.order < value.readAt)
        return now;
    auto made = madeAt.find(from);
    return made == madeAt.end() ? early : std::max(early, made->second + 1);
  }

  uint32_t addValue(uint64_t bytes, Tier tier) {
    ValueModel &value = fragment.values.emplace_back();
    value.bytes = bytes;
    value.tier = tier;
    return static_cast<uint32_t>(fragment.values.size()) - 1;
  }

  /// Inserts a copy at a place of the new list.
  void insert(uint32_t from, uint32_t to, uint32_t place, const std::string &text, uint32_t like) {
    Action copy;
    copy.kind = StepKind::Copy;
    copy.inputs = {from};
    copy.outputs = {to};
    copy.label = label(text, like);
    const Action *next = place < fragment.actions.size() ? &fragment.actions[place] : nullptr;
    copy.order = next ? next->order : fragment.actions.empty() ? 0 : fragment.actions.back().order;
    const double bytes = static_cast<double>(fragment.values[rootOf(from)].bytes);
    copy.lane = laneOfCopy(tierOf(rootOf(from)), tierOf(to));
    bool ofFile = copy.lane == Lane::FromFile || copy.lane == Lane::ToFile;
    copy.seconds = ofFile ? costs.fileLatency + bytes * costs.fileSecondsPerByte : costs.hostLatency + bytes * costs.hostSecondsPerByte;
    fragment.actions.insert(fragment.actions.begin() + place, std::move(copy));
    shift(place);
    madeAt[to] = place;
  }

  /// Adjusts what is known by place after an insertion.
  void shift(uint32_t place) {
    for (auto &[value, at] : madeAt)
      at += at >= place;
    for (auto &[action, until] : waiting)
      action += action >= place;
    early += early >= place;
  }

  /// The results of a step on the host are in its memory.
  void takeToHost(Action &action) {
    for (uint32_t output : action.outputs)
      fragment.values[rootOf(output)].tier = Tier::Host;
    if (costs.hostStepSecondsPerByte == 0)
      return;
    double bytes = 0;
    for (const std::vector<uint32_t> *list : {&action.inputs, &action.outputs})
      for (uint32_t value : *list)
        bytes += static_cast<double>(fragment.values[value].bytes);
    action.seconds = bytes * costs.hostStepSecondsPerByte;
    action.cores = 1;
  }

  /// Copies results to the tiers of the variables that are set to them.
  void takeResults(const std::vector<uint32_t> &outputs, uint32_t like) {
    for (Write &write : fragment.writes)
      for (uint32_t output : outputs) {
        const uint32_t root = rootOf(write.value);
        const Tier target = model.variables[write.variable].tier;
        if (root != rootOf(output) || tierOf(root) == target)
          continue;
        // The allocator copies from the host's memory to files, as late as something still reads the old contents.
        if (target == Tier::Device)
          write.value = appendCopy(root, Tier::Device, "copy of ", like);
        else if (tierOf(root) == Tier::Device)
          write.value = appendCopy(root, Tier::Host, "copy to host of ", like);
        break;
      }
  }

  uint32_t appendCopy(uint32_t from, Tier tier, const std::string &text, uint32_t like) {
    uint32_t to = addValue(fragment.values[from].bytes, tier);
    insert(from, to, static_cast<uint32_t>(fragment.actions.size()), text, like);
    return to;
  }
};

} // namespace

/// A value that an earlier fragment keeps is where that fragment has it: a variable that is kept stays in its tier.
static void findKeptTiers(ClassModel &model) {
  std::map<std::string, Tier> tiers; // by slot
  for (bool changed = true; changed;) {
    changed = false;
    for (FragmentModel &fragment : model.fragments)
      for (ValueModel &value : fragment.values) {
        if (auto kept = tiers.find(value.unstash); !value.unstash.empty() && kept != tiers.end() && value.tier != kept->second)
          value.tier = kept->second, changed = true;
        if (value.stash.empty())
          continue;
        const ValueModel *root = &value;
        while (root->alias != none)
          root = &fragment.values[root->alias];
        const Tier tier = root->variable != none ? model.variables[root->variable].tier : root->tier;
        if (auto [known, isNew] = tiers.emplace(value.stash, tier); isNew || known->second != tier)
          known->second = tier, changed = true;
      }
  }
}

void addTierCopies(ClassModel &model, const TierCosts &costs, const CopyLabel &label) {
  findKeptTiers(model);
  for (FragmentModel &fragment : model.fragments)
    Mover(model, fragment, costs, label).run();
}

} // namespace npar::memory
