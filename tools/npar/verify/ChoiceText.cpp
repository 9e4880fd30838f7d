// Looks for operations that make integers of floats.
#include "tools/npar/verify/ChoiceText.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace npar::driver {

std::string choicesOf(const dsl::Model &model, const dsl::Sources &sources) {
  constexpr size_t most = 3;
  std::vector<std::string> places;
  for (const dsl::Node &node : model.nodes) {
    bool ofFloats = std::any_of(node.operands.begin(), node.operands.end(),
                                [&](int operand) { return !dsl::isInteger(model.nodes[static_cast<size_t>(operand)].type.element); });
    if (!dsl::isInteger(node.type.element) || !ofFloats || node.location.line == 0 || node.location.file >= sources.size())
      continue;
    std::string file = std::filesystem::path(sources.name(node.location.file)).filename().string();
    std::string place = fmt::format("{}:{}:{}", file, node.location.line, node.location.column);
    if (std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(place);
  }
  if (places.empty())
    return "";
  bool more = places.size() > most;
  places.resize(std::min(places.size(), most));
  return fmt::format("the choice at {}{}", fmt::join(places, ", "), more ? " and others" : "");
}

} // namespace npar::driver
