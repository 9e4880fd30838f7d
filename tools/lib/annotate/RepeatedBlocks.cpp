// Compares paths with those of repeats.
#include "tools/lib/annotate/RepeatedBlocks.h"

#include "engine/program/Steps.h"

#include <cctype>
#include <set>

namespace npar::annotate {

std::string blockOf(const std::string &path, const std::vector<dsl::Repeat> &repeats) {
  for (const dsl::Repeat &repeat : repeats) {
    size_t number = repeat.path.find("{}"), end = number;
    const std::string after = repeat.path.substr(number + 2);
    if (path.compare(0, number, repeat.path, 0, number) != 0)
      continue;
    while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end])))
      ++end;
    size_t whole = end + after.size();
    if (end > number && path.compare(end, after.size(), after) == 0 && (whole == path.size() || path[whole] == '.'))
      return path.substr(0, whole);
  }
  return "";
}

std::vector<size_t> blocksOfStages(const program::Program &program, const std::vector<dsl::Repeat> &repeats) {
  std::vector<std::set<std::string>> blocks;
  for (const program::RankClass *rankClass : *program.classes()) {
    if (blocks.size() <= rankClass->stage())
      blocks.resize(rankClass->stage() + 1);
    for (const program::Fragment *fragment : *rankClass->fragments())
      for (const program::Step *step : *fragment->steps()) {
        bool communicates = step->kind() == program::StepKind::Collective || step->kind() == program::StepKind::Send ||
                            step->kind() == program::StepKind::Receive;
        if (fragment->phase() != program::Phase::Forward || communicates)
          continue;
        if (std::string block = blockOf(program.labels()->Get(step->label())->path()->str(), repeats); !block.empty())
          blocks[rankClass->stage()].insert(block);
      }
  }
  std::vector<size_t> counts;
  for (const std::set<std::string> &own : blocks)
    counts.push_back(own.size());
  return counts;
}

} // namespace npar::annotate
