// The words in which all messages name steps, tasks and ranks.
#include "engine/program/Describe.h"

#include "engine/program/Classes.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"

#include <algorithm>

namespace npar::program {

std::string describeTask(const RankClass &rankClass, uint32_t task) {
  const Task *instance = rankClass.tasks()->Get(task);
  const Fragment *fragment = rankClass.fragments()->Get(instance->fragment());
  std::string text = fragment->name()->str();
  if (runsPerMicro(fragment->phase()))
    text += ":" + std::to_string(instance->micro());
  return text;
}

std::string describeStepOf(const Program &program, int64_t step) {
  std::string number = std::to_string(step);
  switch (program.kind()) {
  case ProgramKind::Training:
    break;
  case ProgramKind::Evaluation:
    return "evaluation step " + number;
  case ProgramKind::Generation:
    return "generation step " + number;
  }
  return "training step " + number;
}

std::string describeRanks(const Program &program, const RankClass &rankClass) {
  std::vector<int64_t> ranks = ranksOf(program, rankClass);
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0, runs = 0; i < ranks.size(); ++runs) {
    if (runs == 8)
      return text + ", ..., " + std::to_string(ranks.size()) + " in all";
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += (i ? ", " : "") + std::to_string(ranks[i]) + (last > i ? "-" + std::to_string(ranks[last]) : "");
    i = last + 1;
  }
  return text;
}

std::string describeExampleRank(const Program &program, const RankClass &rankClass) {
  std::vector<int64_t> coordinates(program.mesh()->size());
  std::string text;
  for (uint32_t axis = 0; axis < coordinates.size(); ++axis) {
    coordinates[axis] = std::max<int64_t>(0, fixedCoordinate(rankClass, axis));
    text += (axis ? ", " : " (") + program.mesh()->Get(axis)->name()->str() + " = " + std::to_string(coordinates[axis]);
  }
  return "rank " + std::to_string(rankAt(program, coordinates)) + text + (text.empty() ? "" : ")");
}

std::string describePlace(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step) {
  const Fragment *fragment = rankClass.fragments()->Get(rankClass.tasks()->Get(task)->fragment());
  const Label *label = program.labels()->Get(fragment->steps()->Get(step)->label());
  std::string text = "task " + describeTask(rankClass, task) + " step " + std::to_string(step) + " \"" + label->text()->str() + "\"";
  if (const SourcePlace *source = label->source())
    text += " at " + source->file()->str() + ":" + std::to_string(source->line()) + ":" + std::to_string(source->column());
  return text;
}

std::string describeStep(const Program &program, const RankClass &rankClass, uint32_t task, uint32_t step) {
  return rankClass.name()->str() + " (" + describeRanks(program, rankClass) + ") " + describePlace(program, rankClass, task, step);
}

} // namespace npar::program
