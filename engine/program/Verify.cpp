// Runs the named checks in order and words their outcome.
#include "engine/program/Verify.h"

#include "engine/program/Checks.h"

#include <algorithm>

namespace npar::program {
namespace {

size_t countInstances(const Program &program, bool (*wanted)(StepKind)) {
  size_t count = 0;
  for (const RankClass *rankClass : *program.classes())
    for (const CommunicationRef *reference : *rankClass->communication_order()) {
      const Fragment *fragment = rankClass->fragments()->Get(rankClass->tasks()->Get(reference->task())->fragment());
      count += wanted(fragment->steps()->Get(reference->step())->kind());
    }
  return count;
}

std::string counted(size_t count, const std::string &thing, const char *plural = "s") {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : plural);
}

std::string goodDetail(const Program &program, const std::string &name) {
  size_t steps = 0, tasks = 0;
  uint64_t arena = 0;
  for (const RankClass *rankClass : *program.classes()) {
    tasks += rankClass->tasks()->size();
    arena = std::max(arena, rankClass->arena_bytes());
    for (const Task *task : *rankClass->tasks())
      steps += rankClass->fragments()->Get(task->fragment())->steps()->size();
  }
  if (name == "sends and receives match")
    return counted(countInstances(program, [](StepKind kind) { return kind == StepKind::Send; }), "transfer") + " per class and step";
  if (name == "collectives agree")
    return counted(countInstances(program, [](StepKind kind) { return kind == StepKind::Collective; }), "collective") +
           " per class and step";
  if (name == "no deadlock")
    return counted(steps, "step") + " of " + counted(tasks, "task") + " in " + counted(program.classes()->size(), "class", "es") +
           ": no cycle";
  if (name == "every element owned")
    return counted(program.variables()->size(), "variable");
  if (name == "memory as planned")
    return "largest arena " + counted(arena, "byte");
  return counted(program.classes()->size(), "class", "es") + ", " + counted(tasks, "task");
}

} // namespace

std::vector<CheckResult> checkProgram(const Program &program) {
  struct Check {
    const char *name;
    std::string (*run)(const Program &);
  };
  static const Check checks[] = {{"well formed", checkStructure},         {"sends and receives match", checkTransfers},
                                 {"collectives agree", checkCollectives}, {"no deadlock", checkDeadlock},
                                 {"every element owned", checkOwnership}, {"memory as planned", checkMemory}};
  std::vector<CheckResult> results;
  for (const Check &check : checks) {
    std::string wrong = check.run(program);
    bool matched = std::all_of(results.begin(), results.end(), [](const CheckResult &earlier) { return earlier.ok; });
    // A member that is missing makes no cycle, and yet the others wait for it.
    if (wrong.empty() && !matched && check.run == checkDeadlock)
      wrong = "not proved: sends, receives and collectives must match first (see the failed checks above)";
    bool ok = wrong.empty();
    results.push_back({check.name, ok, ok ? goodDetail(program, check.name) : wrong});
    // The others index what this one has found out of range.
    if (!ok && results.size() == 1)
      break;
  }
  return results;
}

engine::Status statusOf(const std::vector<CheckResult> &checks) {
  for (const CheckResult &check : checks)
    if (!check.ok)
      return engine::Status::badInput("program refused (" + check.name + "): " + check.detail);
  return {};
}

} // namespace npar::program
