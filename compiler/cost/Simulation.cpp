// Steps begin where what they wait for has ended. A class's steps and tasks are numbered through: an instance is a step of a task.
#include "compiler/cost/Simulation.h"

#include "compiler/cost/Activities.h"
#include "compiler/cost/FragmentShape.h"
#include "engine/program/ClassMesh.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>

namespace npar::cost {

using program::StepKind;

namespace {

constexpr uint32_t none = ~0u;

class StepSimulation {
public:
  StepSimulation(const program::Program &program, const Machine &machine, const Topology &topology, const Deviations &deviations)
      : program(program), machine(machine),
        asRanksFindIt(machineOfRanks(machine, std::min(static_cast<double>(program::worldOf(program)), machine.ranks))), topology(topology),
        deviations(deviations), mesh(program), classes(program.classes()->size()) {
    result.classes.resize(classes.size());
    result.tasks.resize(classes.size());
    for (uint32_t index = 0; index < classes.size(); ++index)
      prepare(index);
  }

  engine::Result<Simulation> run() {
    for (uint32_t index = 0; index < classes.size(); ++index)
      open(index, 0, {none, none});
    for (;;) {
      while (!ready.empty()) {
        auto [index, instance] = ready.back();
        ready.pop_back();
        enter(index, instance);
      }
      for (auto [index, before] : freed)
        compute(index, before);
      freed.clear();
      if (activities.empty())
        break;
      uint32_t meeting = activities.next();
      finish(meeting);
    }
    for (const Class &one : classes)
      if (one.done != one.size)
        return engine::Status(engine::Code::Internal, "the simulated ranks wait for each other for ever");
    result.seconds = activities.now();
    for (uint32_t index = 0; index < classes.size(); ++index)
      account(index);
    findCritical();
    return std::move(result);
  }

private:
  /// The place of a compute step in the program's order: its task, or the first of two that overlap, which take turns; its planned begin
  /// as a share of its task; its instance.
  using Turn = std::tuple<uint32_t, double, uint32_t>;

  struct Class {
    const program::RankClass *rankClass = nullptr;
    int64_t rank = 0; ///< the one that is followed
    std::vector<FragmentShape> shapes;
    std::vector<double> lengths; ///< by fragment: planned seconds
    std::vector<uint32_t> first; ///< by task: its first step's instance
    uint32_t size = 0, done = 0; ///< instances
    std::vector<uint32_t> waits; ///< by instance: number of instances that it still waits for
    std::vector<uint32_t> left;  ///< by task: steps of its chain, and of that of the task that overlaps it, that have not ended
    std::unordered_map<uint32_t, std::vector<uint32_t>> followers;              ///< instances of other tasks, by instance
    std::priority_queue<Turn, std::vector<Turn>, std::greater<Turn>> computing; ///< instances that could begin
    bool busy = false, held = false;                                            ///< computes; a message keeps it from computing
    std::vector<double> holds;                                                  ///< seconds for which messages are going to
    int communicating = 0, reducing = 0;               ///< messages and collectives under way, and how many of them are sums
    double since = 0;                                  ///< time of the last change of these
    std::vector<double> ends;                          ///< by instance
    std::vector<std::pair<uint32_t, uint32_t>> causes; ///< by instance: the class and instance whose end let it begin
    uint32_t cores = none;                             ///< the resource
    double ranksHere = 1;                              ///< ranks of the class on the host
    double before = 0, begin = -1;                     ///< seconds computed before its first micro-batch, and when that began
  };

  /// A message or collective that runs, or that still waits for some of its members.
  struct Meeting {
    std::vector<std::pair<uint32_t, uint32_t>> members; ///< class, instance
  };

  const program::Program &program;
  const Machine &machine;
  Machine asRanksFindIt; ///< what steps' times were planned for
  const Topology &topology;
  const Deviations &deviations;
  program::ClassMesh mesh;
  std::vector<Class> classes;
  Activities activities;
  std::vector<Meeting> meetings;
  std::vector<uint32_t> unusedMeetings;
  std::map<std::tuple<bool, uint32_t, uint32_t, uint32_t>, uint32_t> gathering;  ///< by whether collective, first class, event, micro-batch
  std::map<std::pair<uint32_t, LinkLevel>, std::pair<uint32_t, uint32_t>> links; ///< resources: sends, receives
  std::map<std::pair<uint32_t, std::pair<program::Tier, program::Tier>>, uint32_t> tierLinks; ///< resources, by class and direction
  std::map<int64_t, uint32_t> hostCores;
  std::vector<std::pair<uint32_t, uint32_t>> ready;                      ///< class, instance
  std::vector<std::pair<uint32_t, std::pair<uint32_t, uint32_t>>> freed; ///< classes that may compute again, and after what
  Simulation result;

  const program::Step &stepOf(const Class &one, uint32_t task, uint32_t step) const {
    return *one.rankClass->fragments()->Get(one.rankClass->tasks()->Get(task)->fragment())->steps()->Get(step);
  }
  const FragmentShape &shapeOf(const Class &one, uint32_t task) const { return one.shapes[one.rankClass->tasks()->Get(task)->fragment()]; }
  static uint32_t taskOf(const Class &one, uint32_t instance) {
    return static_cast<uint32_t>(std::upper_bound(one.first.begin(), one.first.end(), instance) - one.first.begin()) - 1;
  }

  void prepare(uint32_t index) {
    Class &one = classes[index];
    one.rankClass = program.classes()->Get(index);
    std::vector<int64_t> ranks = program::ranksOf(program, *one.rankClass);
    one.rank = ranks.front();
    std::vector<int64_t> onKinds = topology.firstOfKinds(ranks);
    if (machine.kind == dsl::MachineKind::Processor) {
      int64_t host = topology.hostOf(one.rank);
      auto [entry, isNew] = hostCores.try_emplace(host, 0);
      if (isNew)
        entry->second = activities.addResource(capacityOf(machine));
      one.cores = entry->second;
      one.ranksHere =
          static_cast<double>(std::count_if(ranks.begin(), ranks.end(), [&](int64_t rank) { return topology.hostOf(rank) == host; }));
    }
    for (const program::Fragment *fragment : *one.rankClass->fragments()) {
      one.shapes.push_back(cost::shapeOf(program, *one.rankClass, *fragment, onKinds, topology, deviations));
      for (Message &message : one.shapes.back().messages)
        for (const LinkUse &use : message.links) {
          auto [sends, receives] = linkOfClass(index, use.level);
          message.sent.push_back({sends, use.share});
          message.received.push_back({receives, use.share});
        }
    }
    for (const program::Fragment *fragment : *one.rankClass->fragments())
      one.lengths.push_back(program::plannedSeconds(*fragment));
    for (const program::Task *task : *one.rankClass->tasks()) {
      const FragmentShape &shape = one.shapes[task->fragment()];
      one.left.push_back(0);
      one.left[program::firstOfPair(*one.rankClass, static_cast<uint32_t>(one.first.size()))] += static_cast<uint32_t>(shape.chain.size());
      one.first.push_back(one.size);
      one.waits.insert(one.waits.end(), shape.waits.begin(), shape.waits.end());
      for (uint32_t step : shape.chain)
        ++one.waits[one.size + step]; // for the task before, or the beginning
      one.size += static_cast<uint32_t>(shape.waits.size());
    }
    for (const program::TaskDependency *wait : *one.rankClass->task_dependencies()) {
      ++one.waits[one.first[wait->task()] + wait->step()];
      one.followers[one.first[wait->on_task()] + wait->on_step()].push_back(one.first[wait->task()] + wait->step());
    }
    one.ends.resize(one.size);
    one.causes.resize(one.size, {none, none});
    result.tasks[index].assign(one.first.size(), {-1, 0});
    for (uint32_t task = 0; task < one.first.size(); ++task) {
      const FragmentShape &shape = shapeOf(one, task);
      for (uint32_t step = 0; step < shape.waits.size(); ++step)
        if (one.waits[one.first[task] + step] == 0)
          ready.emplace_back(index, one.first[task] + step);
    }
  }

  bool isSum(const program::Step &step) const {
    if (step.kind() != StepKind::Collective)
      return false;
    program::CollectiveKind kind = program.collectives()->Get(step.payload())->kind();
    return kind == program::CollectiveKind::AllReduce || kind == program::CollectiveKind::ReduceScatter;
  }

  std::pair<uint32_t, uint32_t> linkOfClass(uint32_t index, LinkLevel level) {
    auto [entry, isNew] = links.try_emplace({index, level});
    if (isNew)
      entry->second = {activities.addResource(1), activities.addResource(1)};
    return entry->second;
  }

  /// The steps of a task's chain, and of that of the task that overlaps it, need not wait for the tasks before any more, whose last step
  /// was `cause`.
  void open(uint32_t index, uint32_t task, std::pair<uint32_t, uint32_t> cause) {
    Class &one = classes[index];
    for (bool isOpen = false; task < one.first.size() && !(isOpen && program::firstOfPair(*one.rankClass, task) == task); ++task) {
      const FragmentShape &shape = shapeOf(one, task);
      for (uint32_t step : shape.chain)
        release(index, one.first[task] + step, cause);
      isOpen |= !shape.chain.empty();
    }
  }

  Turn turnOf(const Class &one, uint32_t instance) const {
    uint32_t task = taskOf(one, instance);
    double length = one.lengths[one.rankClass->tasks()->Get(task)->fragment()];
    bool takesTurns = program::isInPair(*one.rankClass, task) && length > 0;
    return {program::firstOfPair(*one.rankClass, task), takesTurns ? stepOf(one, task, instance - one.first[task]).begin() / length : 0,
            instance};
  }

  void release(uint32_t index, uint32_t instance, std::pair<uint32_t, uint32_t> cause) {
    Class &one = classes[index];
    if (cause.first != none)
      one.causes[instance] = cause;
    if (--one.waits[instance] == 0)
      ready.emplace_back(index, instance);
  }

  /// True for a copy between tiers, which overlaps with computing steps.
  static bool isTierCopy(const FragmentShape &shape, uint32_t place) { return shape.tiers[place].first != shape.tiers[place].second; }

  /// A copy between tiers has no partner.
  void copyTiers(uint32_t index, uint32_t instance) {
    Class &one = classes[index];
    const uint32_t task = taskOf(one, instance), place = instance - one.first[task];
    const FragmentShape &shape = shapeOf(one, task);
    auto [link, isNew] = tierLinks.try_emplace({index, shape.tiers[place]}, 0);
    if (isNew)
      link->second = activities.addResource(1);
    change(one, [&] { ++one.communicating; });
    begins(index, task, stepOf(one, task, place));
    const uint32_t number = newMeeting();
    meetings[number].members.emplace_back(index, instance);
    activities.begin(number, shape.seconds[place], {{link->second, 1}});
  }

  /// Called when the step no longer waits for anything on its own rank.
  void enter(uint32_t index, uint32_t instance) {
    Class &one = classes[index];
    uint32_t task = taskOf(one, instance), place = instance - one.first[task];
    const program::Step &step = stepOf(one, task, place);
    if (isTierCopy(shapeOf(one, task), place))
      return copyTiers(index, instance);
    if (computes(step)) {
      one.computing.push(turnOf(one, instance));
      if (!one.busy)
        freed.emplace_back(index, std::pair(none, none));
      return;
    }
    uint32_t micro = one.rankClass->tasks()->Get(task)->micro(), event, first = index;
    size_t wanted = 2;
    if (step.kind() == StepKind::Collective) {
      const program::Collective &collective = *program.collectives()->Get(step.payload());
      std::vector<uint32_t> members = mesh.members(index, collective);
      first = members.front(), wanted = members.size(), event = collective.event();
    } else {
      const program::Transfer &transfer = *program.transfers()->Get(step.payload());
      event = transfer.event();
      if (step.kind() == StepKind::Receive)
        first = static_cast<uint32_t>(mesh.neighbour(index, transfer.axis(), transfer.peer()));
    }
    auto [entry, isNew] = gathering.try_emplace({step.kind() == StepKind::Collective, first, event, micro}, none);
    if (isNew)
      entry->second = newMeeting();
    Meeting &meeting = meetings[entry->second];
    meeting.members.emplace_back(index, instance);
    if (meeting.members.size() < wanted)
      return;
    uint32_t number = entry->second;
    gathering.erase(entry);
    communicate(number, one.causes[instance]);
  }

  uint32_t newMeeting() {
    if (unusedMeetings.empty()) {
      meetings.emplace_back();
      return static_cast<uint32_t>(meetings.size()) - 1;
    }
    uint32_t number = unusedMeetings.back();
    unusedMeetings.pop_back();
    meetings[number].members.clear();
    return number;
  }

  /// All are there; the last of them came because of `cause`.
  void communicate(uint32_t number, std::pair<uint32_t, uint32_t> cause) {
    double seconds = 0;
    std::vector<Activities::Share> shares;
    for (auto [index, instance] : meetings[number].members) {
      Class &one = classes[index];
      uint32_t task = taskOf(one, instance), place = instance - one.first[task];
      const Message &message = shapeOf(one, task).messages[place];
      StepKind kind = stepOf(one, task, place).kind();
      seconds = std::max(seconds, message.seconds);
      if (message.holds > 0) {
        one.holds.push_back(message.holds);
        freed.emplace_back(index, std::pair(none, none));
      }
      if (one.cores != none) // a core of each rank moves the bytes
        shares.push_back({one.cores, one.ranksHere});
      if (kind != StepKind::Receive)
        shares.insert(shares.end(), message.sent.begin(), message.sent.end());
      if (kind != StepKind::Send) {
        shares.insert(shares.end(), message.received.begin(), message.received.end());
        change(one, [&] { ++one.communicating, one.reducing += isSum(stepOf(one, task, place)); });
      }
      one.causes[instance] = cause;
      begins(index, task, stepOf(one, task, place));
    }
    activities.begin(number, seconds, std::move(shares));
  }

  /// Of the computing steps that could begin the first in the program's order, where the rank computes nothing else. It has waited for
  /// `before`.
  void compute(uint32_t index, std::pair<uint32_t, uint32_t> before) {
    Class &one = classes[index];
    if (one.busy || one.held)
      return;
    if (!one.holds.empty())
      return hold(index);
    if (one.computing.empty())
      return;
    uint32_t instance = std::get<2>(one.computing.top());
    one.computing.pop();
    if (before.first != none)
      one.causes[instance] = before;
    uint32_t task = taskOf(one, instance);
    const program::Step &step = stepOf(one, task, instance - one.first[task]);
    double seconds = shapeOf(one, task).seconds[instance - one.first[task]];
    std::vector<Activities::Share> shares;
    program::Phase phase = one.rankClass->fragments()->Get(one.rankClass->tasks()->Get(task)->fragment())->phase();
    // the planned times of an update already include that all ranks share the cores
    if (one.cores != none && phase != program::Phase::Update)
      shares.push_back({one.cores, one.ranksHere * coresOf(asRanksFindIt, seconds)});
    if (!deviations.computing.empty())
      seconds *= deviations.computing[index];
    result.classes[index].work[static_cast<size_t>(step.kind())] -= activities.now();
    change(one, [&] { one.busy = true; });
    if (one.begin < 0 && program::isWork(phase))
      one.begin = activities.now();
    if (one.begin < 0)
      one.before += seconds;
    begins(index, task, step);
    uint32_t number = newMeeting();
    meetings[number].members.emplace_back(index, instance);
    activities.begin(number, seconds, std::move(shares));
  }

  void hold(uint32_t index) {
    Class &one = classes[index];
    change(one, [&] { one.held = true; });
    uint32_t number = newMeeting();
    meetings[number].members.emplace_back(index, none);
    activities.begin(number, one.holds.back(), {});
    one.holds.pop_back();
  }

  void begins(uint32_t index, uint32_t task, const program::Step &step) {
    Span &span = result.tasks[index][task];
    if (!program::isAsync(step) && span.begin < 0)
      span.begin = activities.now();
  }

  template <typename Change> void change(Class &one, Change what) {
    ClassTime &time = result.classes[&one - classes.data()];
    const double passed = activities.now() - one.since;
    (one.busy ? time.computing : one.communicating > 0 || one.held ? time.exposed : time.idle) += passed;
    time.reducing += one.reducing > 0 ? passed : 0;
    time.reducingExposed += one.reducing > 0 && !one.busy ? passed : 0;
    one.since = activities.now();
    what();
  }

  void finish(uint32_t number) {
    std::vector<std::pair<uint32_t, uint32_t>> members = std::move(meetings[number].members);
    unusedMeetings.push_back(number);
    for (auto [index, instance] : members)
      finish(index, instance);
  }

  void finish(uint32_t index, uint32_t instance) {
    Class &one = classes[index];
    if (instance == none) { // a message has let go
      change(one, [&] { one.held = false; });
      freed.emplace_back(index, std::pair(none, none));
      return;
    }
    uint32_t task = taskOf(one, instance), place = instance - one.first[task];
    const program::Step &step = stepOf(one, task, place);
    one.ends[instance] = activities.now();
    ++one.done;
    bool isComputing = computes(step) && !isTierCopy(shapeOf(one, task), place);
    if (isComputing) {
      result.classes[index].work[static_cast<size_t>(step.kind())] += activities.now();
      change(one, [&] { one.busy = false; });
    } else if (step.kind() != StepKind::Send) {
      change(one, [&] { --one.communicating, one.reducing -= isSum(step); });
    }
    std::pair<uint32_t, uint32_t> me{index, instance};
    for (uint32_t follower : shapeOf(one, task).followers[place])
      release(index, one.first[task] + follower, me);
    if (auto found = one.followers.find(instance); found != one.followers.end())
      for (uint32_t follower : found->second)
        release(index, follower, me);
    if (!program::isAsync(step)) {
      result.tasks[index][task].end = activities.now();
      uint32_t first = program::firstOfPair(*one.rankClass, task);
      if (--one.left[first] == 0)
        open(index, first + 1 + program::isInPair(*one.rankClass, first), me);
    }
    if (isComputing)
      freed.emplace_back(index, me);
  }

  void account(uint32_t index) {
    change(classes[index], [] {});
    const Class &one = classes[index];
    double end = 0;
    for (uint32_t task = 0; task < one.first.size(); ++task)
      for (uint32_t place = 0; place < shapeOf(one, task).reports.size(); ++place)
        if (!shapeOf(one, task).reports[place] && !(deviations.gathersPassOn && gathersUpdated(stepOf(one, task, place), one, task)))
          end = std::max(end, one.ends[one.first[task] + place]);
    result.period = std::max(result.period, std::min(result.seconds, end - one.begin + one.before));
    for (Span &span : result.tasks[index])
      span.begin = std::max(0.0, span.begin);
  }

  bool gathersUpdated(const program::Step &step, const Class &one, uint32_t task) const {
    return step.kind() == StepKind::Collective &&
           program.collectives()->Get(step.payload())->kind() == program::CollectiveKind::AllGather &&
           one.rankClass->fragments()->Get(one.rankClass->tasks()->Get(task)->fragment())->phase() == program::Phase::Update;
  }

  std::string wordOfStep(const program::Step &step, const std::pair<program::Tier, program::Tier> &tiers) const {
    if (tiers.first != tiers.second)
      return std::string("copy from ") + program::wordOf(tiers.first) + " to " + program::wordOf(tiers.second);
    if (step.kind() == StepKind::Collective) {
      const program::Collective &collective = *program.collectives()->Get(step.payload());
      std::string axes;
      for (uint32_t axis : *collective.axes())
        axes += (axes.empty() ? "" : ",") + program.mesh()->Get(axis)->name()->str();
      return std::string(program::wordOf(collective.kind())) + " over " + axes;
    }
    if (!computes(step))
      return "message over " + program.mesh()->Get(program.transfers()->Get(step.payload())->axis())->name()->str();
    return program::wordOf(step.kind());
  }

  /// Follows the critical path backwards from the last end, at each step to the end that allowed it to begin.
  void findCritical() {
    std::pair<uint32_t, uint32_t> at{none, none};
    double latest = -1;
    for (uint32_t index = 0; index < classes.size(); ++index)
      for (uint32_t instance = 0; instance < classes[index].size; ++instance)
        if (classes[index].ends[instance] > latest)
          latest = classes[index].ends[instance], at = {index, instance};
    std::map<std::string, CriticalPart> parts;
    while (at.first != none) {
      const Class &one = classes[at.first];
      uint32_t task = taskOf(one, at.second);
      std::string word = wordOfStep(stepOf(one, task, at.second - one.first[task]), shapeOf(one, task).tiers[at.second - one.first[task]]);
      std::pair<uint32_t, uint32_t> before = one.causes[at.second];
      double from = before.first == none ? 0 : classes[before.first].ends[before.second];
      CriticalPart &part = parts[word];
      part.what = word;
      part.seconds += one.ends[at.second] - from;
      ++part.steps;
      at = before;
    }
    for (auto &[word, part] : parts)
      result.critical.push_back(part);
    std::stable_sort(result.critical.begin(), result.critical.end(), [](const auto &a, const auto &b) { return a.seconds > b.seconds; });
  }
};

} // namespace

bool hasLoad(const program::Program &program) {
  for (const program::RankClass *rankClass : *program.classes())
    for (const program::Fragment *fragment : *rankClass->fragments())
      for (const program::Step *step : *fragment->steps())
        if (filledPart(program, *step) < 1)
          return true;
  return false;
}

engine::Result<Simulation> simulateStep(const program::Program &program, const Machine &machine, const Topology &topology,
                                        const Deviations &deviations) {
  return StepSimulation(program, machine, topology, deviations).run();
}

} // namespace npar::cost
