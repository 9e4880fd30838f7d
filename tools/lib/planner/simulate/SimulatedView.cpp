// Moves the planned view's tasks to their simulated spans.
#include "tools/lib/planner/simulate/SimulatedView.h"

#include "engine/program/Steps.h"

#include <algorithm>
#include <limits>

namespace npar::planner {

namespace {

/// The place in which the steps of a fragment can be drawn, over all of its tasks.
struct Stretch {
  static constexpr double unknown = std::numeric_limits<double>::infinity(); ///< there is no task
  double planned = unknown, simulated = unknown; ///< lengths of the shortest task: what fits there fits into each
  double room = unknown;                         ///< seconds from the begin of the last task to the training step's end
};

bool hasChain(const program::Fragment &fragment) {
  return std::any_of(fragment.steps()->begin(), fragment.steps()->end(),
                     [](const program::Step *step) { return !program::isAsync(*step); });
}

/// The most seconds that a fragment's steps in the rank's order take without waiting: the planned ones, slowed.
double longest(const program::Fragment &fragment, double slowerComputing, double slowerMessages) {
  double seconds = 0;
  for (const program::Step *step : *fragment.steps())
    if (!program::isAsync(*step))
      seconds += (step->end() - step->begin()) * (step->kind() == program::StepKind::Collective ? slowerMessages : slowerComputing);
  return seconds;
}

/// The part of each task's span in which the rank waits for others at its beginning: a task begins with steps that need nothing of others.
/// The simulation has the begin of a task's first step and the total wait of the class. Waits that are not between tasks belong to tasks
/// that last longer than others of their fragment; the rest belongs to tasks that last longer than planned.
class Waits {
public:
  Waits(const program::RankClass &rankClass, const std::vector<cost::Span> &spans, double idle, double slowerComputing,
        double slowerMessages)
      : rankClass(rankClass), spans(spans), waits(spans.size()), idle(idle) {
    std::vector<double> planned, shortest(rankClass.fragments()->size(), std::numeric_limits<double>::infinity());
    for (const program::Fragment *fragment : *rankClass.fragments())
      planned.push_back(longest(*fragment, slowerComputing, slowerMessages));
    double last = 0; // end of the task before, of those with steps in the rank's order
    for (uint32_t index = 0; index < spans.size(); ++index) {
      uint32_t fragment = rankClass.tasks()->Get(index)->fragment();
      shortest[fragment] = std::min(shortest[fragment], lengthOf(index));
      this->idle -= std::max(0.0, spans[index].begin - last);
      last = std::max(last, spans[index].end);
      if (!repeats(fragment))
        this->idle -= std::max(0.0, lengthOf(index) - planned[fragment]);
    }
    takeAbove(shortest);
    takeAbove(planned);
  }
  double of(size_t task) const { return waits[task]; }

private:
  const program::RankClass &rankClass;
  const std::vector<cost::Span> &spans;
  std::vector<double> waits;
  double idle; ///< that no task has yet

  double lengthOf(size_t task) const { return spans[task].end - spans[task].begin - waits[task]; }
  bool repeats(uint32_t fragment) const { return show::lookOf(rankClass.fragments()->Get(fragment)->phase()).isWork; }

  /// Distributes the wait in proportion to the time by which tasks are longer than `lengths` of their fragments.
  void takeAbove(const std::vector<double> &lengths) {
    std::vector<double> above(spans.size());
    double sum = 0;
    for (uint32_t index = 0; index < spans.size(); ++index)
      if (uint32_t fragment = rankClass.tasks()->Get(index)->fragment(); repeats(fragment))
        sum += above[index] = std::max(0.0, lengthOf(index) - lengths[fragment]);
    double share = sum > 0 ? std::clamp(idle / sum, 0.0, 1.0) : 0;
    for (size_t index = 0; index < spans.size(); ++index)
      waits[index] += share * above[index];
    idle -= share * sum;
  }
};

/// Tasks without a step in the rank's order (messages alone) come as long after the task before them as planned.
void moveTasks(const program::RankClass &rankClass, const std::vector<cost::Span> &spans, const Waits &waits, show::ClassView &one) {
  double plannedEnd = 0, end = 0;
  for (size_t index = 0; index < one.tasks.size(); ++index) {
    show::ViewTask &task = one.tasks[index];
    const program::Fragment &fragment = *rankClass.fragments()->Get(task.fragment);
    double gap = std::max(0.0, task.begin - plannedEnd), length = task.end - task.begin;
    plannedEnd = std::max(plannedEnd, task.end);
    if (hasChain(fragment)) {
      task.begin = spans[index].begin + waits.of(index);
      task.end = spans[index].end;
    } else {
      task.begin = end + gap, task.end = task.begin + length;
    }
    end = std::max(end, task.end);
  }
}

void moveSteps(const program::Fragment &fragment, const Stretch &stretch, show::ViewFragment &shown) {
  double factor = stretch.planned > 0 ? stretch.simulated / stretch.planned : 1;
  auto moved = [&](double at) { return at < 0 ? at : at <= stretch.planned ? at * factor : stretch.simulated + at - stretch.planned; };
  for (uint32_t place = 0; place < shown.steps.size(); ++place) {
    show::ViewStep &step = shown.steps[place];
    double begin = moved(step.begin);
    double end = program::isAsync(*fragment.steps()->Get(place)) ? begin + step.end - step.begin : moved(step.end);
    step.end = std::min(end, stretch.room);
    step.begin = std::min(begin, step.end);
  }
}

} // namespace

show::View simulatedView(const program::Program &program, const cost::Simulation &simulation, const cost::Deviations &deviations,
                         const std::string &remark) {
  double slowerMessages = 1;
  for (double times : deviations.messages)
    slowerMessages = std::max(slowerMessages, times);
  show::View view = show::viewOf(program);
  view.origin = "simulated";
  view.timed = true;
  view.title += remark;
  for (show::ClassView &one : view.classes) {
    const program::RankClass &rankClass = *program.classes()->Get(one.programClass);
    std::vector<Stretch> stretches(one.fragments.size());
    auto shorten = [](double &length, const show::ViewTask &task) { length = std::min(length, task.end - task.begin); };
    for (const show::ViewTask &task : one.tasks)
      shorten(stretches[task.fragment].planned, task);
    const std::vector<cost::Span> &spans = simulation.tasks[one.programClass];
    double slower = deviations.computing.empty() ? 1 : deviations.computing[one.programClass];
    Waits waits(rankClass, spans, simulation.classes[one.programClass].idle, slower, slowerMessages);
    moveTasks(rankClass, spans, waits, one);
    for (const show::ViewTask &task : one.tasks) {
      Stretch &stretch = stretches[task.fragment];
      shorten(stretch.simulated, task);
      stretch.room = std::min(stretch.room, simulation.seconds - task.begin);
    }
    for (uint32_t index = 0; index < stretches.size(); ++index)
      if (stretches[index].room != Stretch::unknown)
        moveSteps(*rankClass.fragments()->Get(index), stretches[index], one.fragments[index]);
  }
  show::finishTimes(program, view);
  view.span = simulation.seconds;
  return view;
}

} // namespace npar::planner
