// Writes a View as Chrome trace events with the plan's own ids, so that it can be shown next to a measured trace.
//
// A process per class; threads: tasks, steps, collectives, sends, receives. A message is a flow arrow from its send to its receive, a
// collective over several classes one through all of them. The counter "live memory" is stacked by kind.
#include "engine/json/Json.h"
#include "engine/show/View.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

namespace npar::show {
namespace {

using Out = std::back_insert_iterator<std::string>;

enum Thread { Tasks, Steps, Collectives, Sends, Receives };

std::string jsonText(const std::string &text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

class TraceWriter {
public:
  explicit TraceWriter(const View &view) : view(view) {
    for (const ViewLabel &label : view.labels) {
      labels.push_back(jsonText(label.text));
      places.push_back(jsonText(label.place()));
    }
  }

  std::string run() {
    text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (size_t process = 0; process < view.classes.size(); ++process) {
      nameProcess(process);
      const ClassView &one = view.classes[process];
      for (size_t task = 0; task < one.tasks.size(); ++task)
        addTask(process, task);
      addCounters(process);
    }
    addFlows();
    if (text[text.size() - 2] == ',')
      text.erase(text.size() - 2, 1);
    return text + "]}\n";
  }

private:
  /// The place where a communication step is drawn.
  struct End {
    size_t process = 0;
    Thread thread = Collectives;
    double begin = 0, end = 0;
  };

  const View &view;
  std::string text;
  std::vector<std::string> labels, places;                                   // as JSON
  std::map<std::tuple<bool, uint32_t, uint32_t>, std::vector<End>> messages; // transfer, event, micro -> its ends

  void nameProcess(size_t process) {
    const ClassView &one = view.classes[process];
    fmt::format_to(Out(text),
                   R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}},)"
                   "\n",
                   process, jsonText(fmt::format("stage {} ({})", one.stage, one.ranks)));
    for (const auto &[thread, name] :
         {std::pair{Tasks, "tasks"}, {Steps, "steps"}, {Collectives, "collectives"}, {Sends, "sends"}, {Receives, "receives"}})
      fmt::format_to(Out(text),
                     R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}},)"
                     "\n",
                     process, static_cast<int>(thread), name);
  }

  void addSlice(size_t process, Thread thread, const std::string &name, double begin, double end, const std::string &arguments) {
    fmt::format_to(Out(text),
                   R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}},)"
                   "\n",
                   process, static_cast<int>(thread), name, begin * 1e6, std::max(0.0, end - begin) * 1e6, arguments);
  }

  void addTask(size_t process, size_t index) {
    const ClassView &one = view.classes[process];
    const ViewTask &task = one.tasks[index];
    const ViewFragment &fragment = one.fragments[task.fragment];
    addSlice(process, Tasks, jsonText(one.taskName(static_cast<uint32_t>(index))), task.begin, task.end,
             fmt::format(R"("task":{},"micro":{},"phase":"{}","chunk":{})", index, task.micro, program::EnumNamePhase(fragment.phase),
                         fragment.chunk));
    bool perMicro = lookOf(fragment.phase).perMicro;
    for (size_t s = 0; s < fragment.steps.size(); ++s) {
      const ViewStep &step = fragment.steps[s];
      Thread thread = !step.communicates()                      ? Steps
                      : step.kind == program::StepKind::Send    ? Sends
                      : step.kind == program::StepKind::Receive ? Receives
                                                                : Collectives;
      double begin = task.begin + step.begin, end = task.begin + step.end;
      addSlice(process, thread, labels[step.label], begin, end,
               fmt::format(R"("task":{},"step":{},"micro":{},"kind":"{}","flops":{},"bytes":{},"source":{})", index, s, task.micro,
                           program::EnumNameStepKind(step.kind), step.flops, step.bytes, places[step.label]));
      if (step.communicates())
        messages[{step.transfers(), step.message.event, perMicro ? task.micro : 0}].push_back({process, thread, begin, end});
    }
  }

  /// Every change where they are few, else the highest of each part of the time.
  void addCounters(size_t process) {
    constexpr size_t most = 1000;
    const ClassView &one = view.classes[process];
    std::vector<std::pair<double, MemoryChange>> changes;
    for (const ViewTask &task : one.tasks)
      for (const MemoryChange &change : one.memory.patterns[task.pattern])
        changes.emplace_back(std::max(0.0, task.begin + change.at), change);
    std::stable_sort(changes.begin(), changes.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    std::array<int64_t, memoryKinds> live{}, highest{};
    for (size_t kind = 0; kind < memoryKinds; ++kind)
      live[kind] = static_cast<int64_t>(one.memory.always[kind] + one.memory.atStart[kind]);
    addCounter(process, 0, live);
    double part = changes.size() > most ? view.span / most : 0;
    for (size_t i = 0; i < changes.size();) {
      double at = changes[i].first, until = part > 0 ? (std::floor(at / part) + 1) * part : at;
      int64_t top = -1;
      do { // what happens at one moment counts together
        double moment = changes[i].first;
        for (; i < changes.size() && changes[i].first == moment; ++i)
          live[static_cast<size_t>(changes[i].second.kind)] += changes[i].second.bytes;
        if (int64_t sum = std::accumulate(live.begin(), live.end(), int64_t{0}); sum > top)
          top = sum, highest = live;
      } while (i < changes.size() && changes[i].first < until);
      addCounter(process, at, highest);
    }
    addCounter(process, view.span, live);
  }

  void addCounter(size_t process, double at, const std::array<int64_t, memoryKinds> &live) {
    fmt::format_to(Out(text), R"({{"ph":"C","pid":{},"name":"live memory","ts":{:.3f},"args":{{)", process, at * 1e6);
    for (size_t kind = 0; kind < memoryKinds; ++kind)
      fmt::format_to(Out(text), R"({}"{}":{})", kind ? "," : "", lookOf(static_cast<MemoryKind>(kind)).name, live[kind]);
    text += "}},\n";
  }

  void addFlows() {
    size_t id = 0;
    for (auto &[key, ends] : messages) {
      if (ends.size() < 2)
        continue;
      std::stable_sort(ends.begin(), ends.end(), [](const End &a, const End &b) { return a.thread < b.thread; });
      const char *name = ends.front().thread == Collectives ? "collective" : "message";
      double from = ends.front().begin;
      for (size_t i = 0; i < ends.size(); ++i) {
        // An arrow ends inside its slice, and not before it began.
        double at = i == 0 ? from : std::clamp(from, ends[i].begin, std::max(ends[i].begin, ends[i].end));
        from = std::max(from, at);
        fmt::format_to(Out(text),
                       R"({{"ph":"{}","id":{},"cat":"{}","name":"{}","pid":{},"tid":{},"ts":{:.3f}{}}},)"
                       "\n",
                       i == 0                ? "s"
                       : i + 1 < ends.size() ? "t"
                                             : "f",
                       id, name, name, ends[i].process, static_cast<int>(ends[i].thread), at * 1e6, i == 0 ? "" : R"(,"bp":"e")");
      }
      ++id;
    }
  }
};

} // namespace

std::string viewTrace(const View &view) { return TraceWriter(view).run(); }

} // namespace npar::show
