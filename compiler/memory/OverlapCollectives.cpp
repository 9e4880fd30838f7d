// Takes the collectives of a fragment in order and moves actions one at a time, each only if the memory that is live then permits.
#include "compiler/memory/OverlapCollectives.h"

#include "engine/program/Steps.h"

#include <algorithm>
#include <numeric>

namespace npar::memory {
namespace {

using program::StepKind;

/// Number of actions before and after a collective among which it looks for work. The nearest work usually belongs to the same layer; the
/// results of distant work would stay live for long.
constexpr uint32_t reach = 256;

bool computes(const Action &action) {
  return action.kind != StepKind::Collective && action.kind != StepKind::Send && action.kind != StepKind::Receive;
}

/// The dependencies of a fragment's actions, through values and through variables that it writes.
struct ActionGraph {
  std::vector<uint32_t> root;                                 ///< by value: the value that it is an alias of
  std::vector<std::vector<uint32_t>> made, used;              ///< by action: roots, each once
  std::vector<std::vector<uint32_t>> users;                   ///< by root: actions
  std::vector<uint32_t> maker;                                ///< by root: the action, or none
  std::vector<std::vector<uint32_t>> predecessors, followers; ///< by action

  explicit ActionGraph(const FragmentModel &fragment)
      : made(fragment.actions.size()), used(fragment.actions.size()), users(fragment.values.size()), maker(fragment.values.size(), none),
        predecessors(fragment.actions.size()), followers(fragment.actions.size()) {
    for (uint32_t value = 0; value < fragment.values.size(); ++value)
      root.push_back(fragment.values[value].alias == none ? value : root[fragment.values[value].alias]);
    for (uint32_t index = 0; index < fragment.actions.size(); ++index) {
      const Action &action = fragment.actions[index];
      for (uint32_t input : action.inputs)
        use(index, root[input]);
      if (action.accumulator != none)
        use(index, root[action.accumulator]);
      for (uint32_t output : action.outputs) {
        made[index].push_back(root[output]);
        maker[root[output]] = index;
      }
    }
    orderVariables(fragment);
    for (std::vector<std::vector<uint32_t>> *edges : {&predecessors, &followers})
      for (std::vector<uint32_t> &each : *edges) {
        std::sort(each.begin(), each.end());
        each.erase(std::unique(each.begin(), each.end()), each.end());
      }
  }

  /// The actions that use old contents of a variable or make new ones, ascending; by variable that the fragment writes.
  std::vector<std::vector<uint32_t>> touching;

private:
  void use(uint32_t index, uint32_t value) {
    if (!users[value].empty() && users[value].back() == index)
      return;
    users[value].push_back(index);
    used[index].push_back(value);
    if (maker[value] != none)
      connect(maker[value], index);
  }

  void connect(uint32_t before, uint32_t after) {
    if (before == after)
      return;
    predecessors[after].push_back(before);
    followers[before].push_back(after);
  }

  void orderVariables(const FragmentModel &fragment) {
    for (const Write &write : fragment.writes) {
      touching.resize(std::max<size_t>(touching.size(), write.variable + 1));
      if (maker[root[write.value]] != none)
        touching[write.variable].push_back(maker[root[write.value]]);
    }
    std::vector<bool> written(touching.size());
    for (const Write &write : fragment.writes)
      written[write.variable] = true;
    for (uint32_t value = 0; value < fragment.values.size(); ++value)
      if (uint32_t variable = fragment.values[value].variable; variable < written.size() && written[variable])
        touching[variable].insert(touching[variable].end(), users[root[value]].begin(), users[root[value]].end());
    for (std::vector<uint32_t> &actions : touching) {
      std::sort(actions.begin(), actions.end());
      actions.erase(std::unique(actions.begin(), actions.end()), actions.end());
      for (size_t i = 1; i < actions.size(); ++i)
        connect(actions[i - 1], actions[i]);
    }
  }
};

/// The bytes of scratch that are live while each action runs, in the order that the actions have so far.
class LiveScratch {
public:
  LiveScratch(const FragmentModel &fragment, const ActionGraph &graph)
      : fragment(fragment), graph(graph), bytes(fragment.values.size(), 0) {
    std::vector<bool> elsewhere(fragment.values.size());
    for (uint32_t value = 0; value < fragment.values.size(); ++value) {
      const ValueModel &facts = fragment.values[value];
      if (facts.variable != none || facts.input != none || facts.result != none || facts.event != none || !facts.stash.empty() ||
          !facts.unstash.empty() || !facts.sent.empty())
        elsewhere[graph.root[value]] = true;
    }
    for (const Write &write : fragment.writes)
      elsewhere[graph.root[write.value]] = true;
    for (uint32_t value = 0; value < fragment.values.size(); ++value)
      if (graph.root[value] == value && !elsewhere[value] && graph.maker[value] != none)
        bytes[value] = fragment.values[value].bytes;
    at.resize(fragment.actions.size());
    std::iota(at.begin(), at.end(), 0);
    order = at;
    until = at;
    held.resize(at.size());
    after.resize(at.size());
    most = update(0, static_cast<uint32_t>(at.size()));
  }

  std::vector<uint32_t> order; ///< actions
  std::vector<uint32_t> at;    ///< by action: its place in the order
  std::vector<uint32_t> until; ///< by action: the last one that runs meanwhile, or itself; its operands are live up to there
  uint64_t most = 0;           ///< live at a time before any move

  /// Moves an action to a place, so that a collective runs meanwhile; the actions between make room. Not if more than `room` would be live.
  bool tryMove(uint32_t action, uint32_t to, uint32_t collective, uint64_t room) {
    uint32_t from = at[action], last = until[collective];
    uint32_t begin = std::min({from, to, at[collective]}), end = std::max({from, to, at[last]}) + 1;
    rotate(from, to);
    if (at[action] > at[last])
      hold(collective, action);
    if (update(begin, end) <= room)
      return true;
    hold(collective, last);
    rotate(to, from);
    update(begin, end);
    return false;
  }

private:
  const FragmentModel &fragment;
  const ActionGraph &graph;
  std::vector<uint64_t> bytes;             ///< by root; 0 for values that have another home
  std::vector<uint64_t> after;             ///< by place: live when the action has ended
  std::vector<std::vector<uint32_t>> held; ///< by action: the collectives that run until it, except itself

  void rotate(uint32_t from, uint32_t to) {
    if (from > to)
      std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
    else
      std::rotate(order.begin() + from, order.begin() + from + 1, order.begin() + to + 1);
    for (uint32_t place = std::min(from, to); place <= std::max(from, to); ++place)
      at[order[place]] = place;
  }

  void hold(uint32_t collective, uint32_t action) {
    std::vector<uint32_t> &before = held[until[collective]];
    before.erase(std::remove(before.begin(), before.end(), collective), before.end());
    until[collective] = action;
    if (action != collective)
      held[action].push_back(collective);
  }

  /// Counts again from one place to another; the most that is live there.
  uint64_t update(uint32_t begin, uint32_t end) {
    uint64_t most = 0;
    uint64_t live = begin == 0 ? 0 : after[begin - 1];
    for (uint32_t place = begin; place < end; ++place) {
      uint32_t action = order[place];
      for (uint32_t value : graph.made[action])
        live += bytes[value];
      most = std::max(most, live - takenOver(action, place));
      for (uint32_t value : graph.made[action])
        if (graph.users[value].empty())
          live -= bytes[value];
      std::vector<uint32_t> ending = graph.used[action];
      for (uint32_t collective : held[action])
        ending.insert(ending.end(), graph.used[collective].begin(), graph.used[collective].end());
      std::sort(ending.begin(), ending.end());
      ending.erase(std::unique(ending.begin(), ending.end()), ending.end());
      for (uint32_t value : ending)
        if (endsAt(value, place))
          live -= bytes[value];
      after[place] = live;
    }
    return most;
  }

  /// The bytes of results that may take over the storage of operands that nothing needs afterwards.
  uint64_t takenOver(uint32_t index, uint32_t place) const {
    const Action &action = fragment.actions[index];
    std::vector<uint32_t> operands;
    uint64_t sum = 0;
    auto take = [&](uint32_t output, uint32_t input) {
      uint32_t result = graph.root[output], operand = graph.root[input];
      if (bytes[result] != bytes[operand] || !endsAt(operand, place) ||
          std::find(operands.begin(), operands.end(), operand) != operands.end())
        return;
      operands.push_back(operand);
      sum += bytes[result];
    };
    for (auto [output, input] : action.inplace)
      take(action.outputs[output], action.inputs[input]);
    if (action.accumulator != none)
      take(action.outputs[0], action.accumulator);
    return sum;
  }

  /// Returns whether no action after this place uses the value.
  bool endsAt(uint32_t value, uint32_t place) const {
    const std::vector<uint32_t> &users = graph.users[value];
    return std::all_of(users.begin(), users.end(), [&](uint32_t user) { return at[until[user]] <= place; });
  }
};

class Overlap {
public:
  Overlap(FragmentModel &fragment, uint64_t room) : fragment(fragment), graph(fragment), live(fragment, graph), room(room) {
    taken.resize(fragment.actions.size());
  }

  void run() {
    for (uint32_t index = 0; index < fragment.actions.size(); ++index)
      if (fragment.actions[index].kind == StepKind::Collective && !fragment.actions[index].free)
        hide(index);
    apply();
  }

private:
  FragmentModel &fragment;
  ActionGraph graph;
  LiveScratch live;
  uint64_t room;
  std::vector<bool> taken; ///< by action: runs while a collective does

  const Action &actionAt(uint32_t place) const { return fragment.actions[live.order[place]]; }

  void hide(uint32_t collective) {
    uint32_t first = none; // that waits for the result
    for (uint32_t value : graph.made[collective])
      for (uint32_t user : graph.users[value])
        if (first == none || live.at[user] < live.at[first])
          first = user;
    if (first == none)
      return;
    double left = fragment.actions[collective].seconds;
    for (uint32_t place = live.at[collective] + 1; place < live.at[first] && left > 0; ++place)
      if (isWork(live.order[place]))
        take(live.order[place], place, collective, left);
    takeEarlierWork(collective, first, left);
    takeLaterWork(collective, first, left);
  }

  bool isWork(uint32_t action) const { return !taken[action] && computes(fragment.actions[action]); }

  /// Lets an action run at a place while the collective does, if the memory permits.
  bool take(uint32_t action, uint32_t to, uint32_t collective, double &left) {
    if (!live.tryMove(action, to, collective, room))
      return false;
    taken[action] = true;
    left -= fragment.actions[action].seconds;
    return true;
  }

  /// Moves earlier work behind the collective if only later actions wait for it.
  void takeEarlierWork(uint32_t collective, uint32_t first, double &left) {
    uint32_t begin = live.at[collective], before = first;
    for (uint32_t place = begin; left > 0 && place-- > 0 && begin - place <= reach;) {
      uint32_t action = live.order[place];
      if (!isWork(action))
        continue;
      uint32_t to = live.at[before];
      for (uint32_t follower : graph.followers[action])
        to = std::min(to, live.at[follower]);
      if (to > live.at[collective] && take(action, to - 1, collective, left))
        before = action;
    }
  }

  /// Moves later work before the first use of the collective's result if it waits for nothing from the collective on. An action that waits
  /// for no step at all, such as a table or a parameter in another type, stays near its use.
  void takeLaterWork(uint32_t collective, uint32_t first, double &left) {
    uint32_t end = std::min<uint32_t>(static_cast<uint32_t>(live.order.size()), live.at[first] + reach);
    for (uint32_t place = live.at[first] + 1; left > 0 && place < end; ++place) {
      uint32_t action = live.order[place];
      bool waits = !isWork(action) || graph.predecessors[action].empty();
      for (uint32_t on : graph.predecessors[action])
        waits |= live.at[on] >= live.at[first] || (live.at[on] >= live.at[collective] && !computes(fragment.actions[on]));
      if (!waits)
        take(action, live.at[first], collective, left);
    }
  }

  /// Gives the actions their new order. A read or write of a variable stays between the same two actions that touch the variable.
  void apply() {
    std::vector<std::vector<std::pair<uint32_t, uint32_t *>>> marks(fragment.actions.size() + 1); // by action + 1: what follows it
    auto attach = [&](uint32_t variable, uint32_t &mark) {
      uint32_t before = 0;
      if (variable < graph.touching.size())
        for (uint32_t action : graph.touching[variable])
          if (fragment.actions[action].order < mark)
            before = action + 1;
      marks[before].emplace_back(mark, &mark);
    };
    for (ValueModel &value : fragment.values)
      if (value.variable != none && value.readAt != ~0u)
        attach(value.variable, value.readAt);
    for (Write &write : fragment.writes)
      attach(write.variable, write.order);
    uint32_t next = 0;
    auto number = [&](std::vector<std::pair<uint32_t, uint32_t *>> &those) {
      std::stable_sort(those.begin(), those.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
      for (auto &[mark, place] : those)
        *place = ++next;
    };
    number(marks[0]);
    std::vector<Action> actions;
    for (uint32_t index : live.order) {
      actions.push_back(std::move(fragment.actions[index]));
      actions.back().order = ++next;
      if (live.until[index] != index)
        actions.back().until = live.at[live.until[index]];
      number(marks[index + 1]);
    }
    fragment.actions = std::move(actions);
  }
};

/// The most scratch that is live at a time.
uint64_t mostLive(const FragmentModel &fragment) {
  ActionGraph graph(fragment);
  return LiveScratch(fragment, graph).most;
}

} // namespace

void overlapCollectives(ClassModel &model) {
  uint64_t room = 0;
  for (const FragmentModel &fragment : model.fragments)
    if (program::isWork(fragment.phase))
      room = std::max(room, mostLive(fragment));
  for (FragmentModel &fragment : model.fragments)
    if (program::isWork(fragment.phase))
      Overlap(fragment, room).run();
}

} // namespace npar::memory
