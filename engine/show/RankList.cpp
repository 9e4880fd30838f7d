// Finds runs, and the distance between them.
#include "engine/show/RankList.h"

#include <fmt/format.h>

namespace npar::show {
namespace {

std::string textOf(const std::pair<int64_t, int64_t> &run) {
  return run.first == run.second ? fmt::format("{}", run.first) : fmt::format("{}-{}", run.first, run.second);
}

/// True if the first two runs determine all the others.
bool isRegular(const Runs &runs) {
  for (size_t i = 2; i < runs.size(); ++i)
    if (runs[i].second - runs[i].first != runs[0].second - runs[0].first ||
        runs[i].first - runs[i - 1].first != runs[1].first - runs[0].first)
      return false;
  return runs.size() > 1 && runs[1].second - runs[1].first == runs[0].second - runs[0].first;
}

} // namespace

Runs runsOf(const std::vector<int64_t> &numbers) {
  Runs runs;
  for (int64_t number : numbers)
    if (!runs.empty() && runs.back().second == number - 1)
      runs.back().second = number;
    else
      runs.emplace_back(number, number);
  return runs;
}

std::string runsText(const Runs &runs, size_t width) {
  constexpr size_t few = 4;
  if (runs.size() > few && isRegular(runs))
    return fmt::format("{}, {}, ... {}", textOf(runs[0]), textOf(runs[1]), textOf(runs.back()));
  int64_t count = 0;
  std::string text, shown;
  for (const auto &run : runs) {
    count += run.second - run.first + 1;
    text += (text.empty() ? "" : ", ") + textOf(run);
    if (shown.empty() || text.size() + 19 <= width) // with how many there are
      shown = text;
  }
  return text.size() <= width || shown == text ? text : fmt::format("{}, ... ({} in all)", shown, count);
}

std::string numbersText(const std::vector<int64_t> &numbers, size_t width) { return runsText(runsOf(numbers), width); }

std::string ranksText(const Runs &runs, size_t width) {
  bool one = runs.size() == 1 && runs[0].first == runs[0].second;
  std::string word = one ? "rank " : "ranks ";
  return word + runsText(runs, width > word.size() ? width - word.size() : 0);
}

} // namespace npar::show
