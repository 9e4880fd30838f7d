// Pairs sends with receives, then runs all stages without times to find the cycles in which they wait for each other.
#include "compiler/schedules/Communications.h"

#include <algorithm>
#include <map>

namespace npar::schedules {

namespace {

using What = ListedAction::What;
using Lists = std::vector<std::vector<ListedAction>>;

struct Where {
  int stage = -1, place = -1;
  bool found() const { return stage >= 0; }
};

class Check {
public:
  Check(const Placement &placement, int micros, const Lists &lists, Sending sending)
      : placement(placement), parts(static_cast<int>(placement.size())), micros(micros), lists(lists), sending(sending),
        next(lists.size()) {
    for (std::vector<Where> *table : {&tasks, &sends, &receives})
      table->resize(size_t{2} * parts * micros);
  }

  std::vector<CommunicationError> run() {
    for (size_t stage = 0; stage < lists.size(); ++stage)
      for (size_t place = 0; place < lists[stage].size(); ++place)
        list(static_cast<int>(stage), static_cast<int>(place));
    for (Phase phase : {Phase::F, Phase::B})
      for (int part = 0; part < parts; ++part)
        for (int micro = 0; micro < micros; ++micro)
          checkMessage(phase, part, micro);
    if (errors.empty() && sending == Sending::Eager)
      checkArrival();
    if (errors.empty())
      checkProgress();
    return std::move(errors);
  }

private:
  const ListedAction &at(Where where) const { return lists[where.stage][where.place]; }
  std::string quoted(const ListedAction &action) const { return "'" + nameOf(action) + "'"; }
  std::string quoted(Where where) const { return quoted(at(where)); }

  void error(Where where, const std::string &reason) {
    if (errors.size() < mostScheduleErrors)
      errors.push_back({where.stage, where.place, reason, {}});
  }

  /// Messages are known by the part that sends them; an activation goes to the part after it, a gradient to the one before it.
  int receiverOf(Phase phase, int part) const { return part + (phase == Phase::F ? 1 : -1); }
  int senderOf(const ListedAction &action) const {
    return action.what == What::Receive ? action.part - (action.phase == Phase::F ? 1 : -1) : action.part;
  }
  size_t number(Phase phase, int part, int micro) const { return (size_t{phase == Phase::F ? 0u : 1u} * parts + part) * micros + micro; }
  bool travels(Phase phase, int sender) const {
    int receiver = receiverOf(phase, sender);
    return receiver >= 0 && receiver < parts && placement[receiver] != placement[sender];
  }

  void list(int stage, int place) {
    const ListedAction &action = lists[stage][place];
    if (action.what == What::Task) {
      if (action.phase != Phase::W)
        tasks[number(action.phase, action.part, action.micro)] = {stage, place};
      return;
    }
    int sender = senderOf(action);
    if (!travels(action.phase, sender))
      return error({stage, place}, quoted(action) + " is within this row, which holds virtual stages " +
                                       std::to_string(std::min(sender, receiverOf(action.phase, sender))) + " and " +
                                       std::to_string(std::max(sender, receiverOf(action.phase, sender))) + ": nothing travels, remove it");
    Where &known = (action.what == What::Receive ? receives : sends)[number(action.phase, sender, action.micro)];
    if (action.what == What::Wait) {
      if (!known.found())
        error({stage, place}, quoted(action) + " waits for a send that does not precede it");
      return;
    }
    if (known.found())
      return error({stage, place}, quoted(action) + " appears twice");
    known = {stage, place};
  }

  ListedAction sendOf(Phase phase, int part, int micro) const {
    return {What::Send, phase, phase == Phase::F ? "SEND_F" : "SEND_B", part, micro};
  }
  ListedAction receiveOf(Phase phase, int part, int micro) const {
    return {What::Receive, phase, phase == Phase::F ? "RECV_F" : "RECV_B", receiverOf(phase, part), micro};
  }

  void checkMessage(Phase phase, int part, int micro) {
    if (!travels(phase, part))
      return;
    Where send = sends[number(phase, part, micro)], receive = receives[number(phase, part, micro)];
    Where maker = tasks[number(phase, part, micro)], user = tasks[number(phase, receiverOf(phase, part), micro)];
    auto missing = [&](const ListedAction &action, const char *where, Where task) {
      error(task,
            quoted(action) + " is missing: a file that gives communications must give all of them; write it " + where + " " + quoted(task));
    };
    if (!send.found())
      missing(sendOf(phase, part, micro), "after", maker);
    else if (send.place < maker.place)
      error(send, quoted(send) + " comes before " + quoted(maker) + ", which makes what it sends");
    if (!receive.found())
      missing(receiveOf(phase, part, micro), "before", user);
    else if (receive.place > user.place)
      error(receive, quoted(receive) + " comes after " + quoted(user) + ", which uses what it receives");
  }

  /// Eager messages between two stages: the first receive takes what was sent first. Under rendezvous another order is a cycle.
  void checkArrival() {
    std::map<std::pair<int, int>, std::vector<Where>> sent; // by sender and receiver, in order
    for (size_t stage = 0; stage < lists.size(); ++stage)
      for (size_t place = 0; place < lists[stage].size(); ++place)
        if (const ListedAction &action = lists[stage][place]; action.what == What::Send)
          sent[{stage, placement[receiverOf(action.phase, action.part)]}].push_back({static_cast<int>(stage), static_cast<int>(place)});
    std::map<std::pair<int, int>, size_t> taken;
    for (size_t stage = 0; stage < lists.size(); ++stage)
      for (size_t place = 0; place < lists[stage].size(); ++place) {
        const ListedAction &action = lists[stage][place];
        if (action.what != What::Receive)
          continue;
        std::pair<int, int> channel{placement[senderOf(action)], stage};
        Where arrives = sent[channel][taken[channel]++];
        if (at(arrives).phase != action.phase || senderOf(action) != at(arrives).part || at(arrives).micro != action.micro)
          error({static_cast<int>(stage), static_cast<int>(place)}, quoted(action) + " would take what " + quoted(arrives) +
                                                                        " sent: messages from stage " + std::to_string(channel.first) +
                                                                        " arrive in the order in which it sends them");
      }
  }

  /// The other end of the message of a send or receive.
  Where otherEnd(const ListedAction &action) const {
    return (action.what == What::Send ? receives : sends)[number(action.phase, senderOf(action), action.micro)];
  }

  void checkProgress() {
    std::vector<int> ready;
    for (int stage = static_cast<int>(lists.size()) - 1; stage >= 0; --stage)
      ready.push_back(stage);
    while (!ready.empty()) {
      int stage = ready.back();
      ready.pop_back();
      for (; next[stage] < static_cast<int>(lists[stage].size()); ++next[stage]) {
        const ListedAction &action = lists[stage][next[stage]];
        if (action.what != What::Send && action.what != What::Receive)
          continue;
        Where other = otherEnd(action);
        if (sending == Sending::Eager) {
          if (action.what == What::Receive && next[other.stage] <= other.place)
            break; // woken when the send has begun
          if (action.what == What::Send && next[other.stage] == other.place)
            ready.push_back(other.stage);
          continue;
        }
        if (next[other.stage] != other.place)
          break; // the later of the two meets the earlier
        ++next[other.stage];
        ready.push_back(other.stage);
      }
    }
    findCycles();
  }

  /// Walks from every stuck stage to the one that it waits for, until a stage repeats: that is a cycle, unless an earlier walk was there.
  void findCycles() {
    std::vector<int> walk(lists.size(), -1); // the walk that visited a stage
    for (int start = 0; start < static_cast<int>(lists.size()); ++start) {
      std::vector<int> path;
      int stage = start;
      while (next[stage] < static_cast<int>(lists[stage].size()) && walk[stage] < 0) {
        walk[stage] = start;
        path.push_back(stage);
        stage = otherEnd(lists[stage][next[stage]]).stage;
      }
      if (path.empty() || walk[stage] != start)
        continue;
      path.erase(path.begin(), std::find(path.begin(), path.end(), stage));
      std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
      CommunicationError cycle{path.front(), next[path.front()], "", {}};
      for (int stuck : path) {
        Where other = otherEnd(lists[stuck][next[stuck]]);
        cycle.cycle.push_back({stuck, next[stuck], true});
        cycle.cycle.push_back({other.stage, other.place, false});
      }
      cycle.reason = quoted(Where{cycle.stage, cycle.place}) + " never ends";
      errors.push_back(std::move(cycle));
    }
  }

  const Placement &placement;
  int parts, micros;
  const Lists &lists;
  Sending sending;
  std::vector<Where> tasks, sends, receives; ///< by phase, part (for a message, the sending part) and micro-batch
  std::vector<int> next;                     ///< per stage: its first action that has not ended
  std::vector<CommunicationError> errors;
};

} // namespace

std::string nameOf(const ListedAction &action) {
  return std::to_string(action.part) + std::string(action.kind) + std::to_string(action.micro);
}

std::vector<CommunicationError> checkCommunications(const Placement &placement, int micros, const Lists &lists, Sending sending) {
  return Check(placement, micros, lists, sending).run();
}

} // namespace npar::schedules
