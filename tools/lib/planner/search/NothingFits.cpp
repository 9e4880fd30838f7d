// Looks for the least change of a task under which some plan fits, by small searches for little memory.
#include "tools/lib/planner/search/NothingFits.h"

#include "dsl/machine/Hosts.h"
#include "engine/readable/HumanUnits.h"
#include "engine/show/View.h"
#include "engine/status/OptionNames.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <fmt/format.h>

namespace npar::planner {

using readable::humanBytes;

engine::Status nothingFits(const PlanTask &task, const SearchResult &result, const SearchOptions &options) {
  const Tried *least = nullptr;
  std::string refusal;
  for (const Tried &tried : result.tried)
    if (tried.attempt.figures && (!least || tried.attempt.figures->memory < least->attempt.figures->memory))
      least = &tried;
    else if (!tried.attempt.figures && refusal.empty())
      refusal = tried.attempt.reason;
  int64_t ranks = task.ranks();
  std::string text = fmt::format("no plan fits {} host{} of '{}'", task.hosts, task.hosts == 1 ? "" : "s", task.machine.name);
  if (result.candidates == 0)
    text = fmt::format("no plan fills {} host{} of '{}': no mesh of {} rank{} divides the axes that it would split{}", task.hosts,
                       task.hosts == 1 ? "" : "s", task.machine.name, ranks, ranks == 1 ? "" : "s",
                       options.fixes.empty() ? "" : " and satisfy --fix") +
           (task.as ? fmt::format(", in a form that {} supports", task.as->name()) : "");
  else if (least)
    text +=
        fmt::format(": the smallest, {}, takes {} of {}", nameOf(*least), humanBytes(static_cast<double>(least->attempt.figures->fullest)),
                    humanBytes(least->attempt.figures->room.value_or(0)));
  else if (result.tried.empty())
    text += ": parameters, gradients and optimizer alone are more than their memory";
  else
    text += ": all tried plans are refused: " + refusal;
  SearchOptions quick = options;
  quick.goal = PlanGoal::Memory, quick.budget = 6, quick.explaining = 0;
  quick.judged = nullptr; // plans of other tasks
  auto helps = [&](const PlanTask &other, const SearchOptions &how, const std::string &words) -> engine::Result<bool> {
    TRY(SearchResult found, searchPlans(other, how));
    if (found.best >= 0)
      text += fmt::format("\nnpar: it would {}: {}", words, nameOf(found.tried[static_cast<size_t>(found.best)].candidate));
    return found.best >= 0;
  };
  struct Change {
    PlanTask task;
    SearchOptions options;
    std::string words;
  };
  std::vector<std::vector<Change>> changes; // of one kind each, the least first
  for (size_t i = 0; i < options.fixes.size(); ++i) {
    Change without{task, quick, fmt::format("without --fix '{} = {}'", options.fixes[i].first, options.fixes[i].second)};
    without.options.fixes.erase(without.options.fixes.begin() + static_cast<std::ptrdiff_t>(i));
    changes.push_back({without});
  }
  if (int64_t missing = (ranks - task.batch % ranks) % ranks; result.candidates == 0 && missing > 0) {
    Change divided{task, quick, "with " + nameOf(engine::Option::Batch, std::to_string(task.batch + missing))};
    divided.task.batch += missing;
    changes.push_back({divided});
  }
  if (task.types.compute == program::ElementType::F32 && !task.types.tf32 && result.candidates > 0 && dsl::computesIn(task.machine, 1)) {
    Change narrow{task, quick, "with " + nameOf(engine::Option::Setting, "compute=bf16")};
    narrow.task.types.compute = program::ElementType::BF16;
    changes.push_back({narrow});
  }
  std::vector<Change> hosts;
  for (int64_t times : {2, 4, 8, 16}) {
    if (dsl::isUneven(task.machine)) // its file has the number of hosts
      break;
    hosts.push_back({task, quick, fmt::format("on {} hosts", task.hosts * times)});
    hosts.back().task.hosts *= times;
  }
  if (result.candidates > 0)
    changes.push_back(hosts);
  for (const std::vector<Change> &kind : changes)
    for (const Change &change : kind) {
      TRY(bool helped, helps(change.task, change.options, change.words));
      if (helped)
        break;
    }
  return engine::Status::badInput(text);
}

} // namespace npar::planner
