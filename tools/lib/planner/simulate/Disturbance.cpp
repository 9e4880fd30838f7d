// Splits the descriptions of slow ranks and links, and looks up in the program and the machine what they name.
#include "tools/lib/planner/simulate/Disturbance.h"

#include "engine/program/Classes.h"
#include "engine/program/Ranks.h"
#include "engine/status/OptionNames.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace npar::planner {

using namespace npar::program;
using engine::nameOf;
using engine::Option;

namespace {

/// `WHAT:TIMES`, TIMES from 1 to a million.
struct Slower {
  std::string what;
  double times = 1;
};

/// `NAME=FIRST` or `NAME=FIRST-LAST`.
struct Chosen {
  std::string name;
  int64_t first = 0, last = 0;
};

std::optional<Slower> slowerOf(const std::string &text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size() || std::isspace(static_cast<unsigned char>(text[colon + 1])))
    return std::nullopt;
  char *end = nullptr;
  double times = std::strtod(text.c_str() + colon + 1, &end);
  if (*end || !std::isfinite(times) || times < 1 || times > 1e6)
    return std::nullopt;
  return Slower{text.substr(0, colon), times};
}

bool readWhole(const char *&at, const char *end, int64_t &value) {
  auto [next, error] = std::from_chars(at, end, value);
  bool good = error == std::errc() && value >= 0;
  at = next;
  return good;
}

std::optional<Chosen> chosenOf(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return std::nullopt;
  Chosen chosen{text.substr(0, equals)};
  const char *at = text.data() + equals + 1, *end = text.data() + text.size();
  if (!readWhole(at, end, chosen.first))
    return std::nullopt;
  chosen.last = chosen.first;
  if (at != end && (*at++ != '-' || !readWhole(at, end, chosen.last)))
    return std::nullopt;
  return at == end && chosen.first <= chosen.last ? std::optional(chosen) : std::nullopt;
}

std::optional<size_t> levelOf(const std::string &word) {
  auto found = std::find(dsl::linkLevels.begin(), dsl::linkLevels.end(), word);
  return found == dsl::linkLevels.end() ? std::nullopt : std::optional(static_cast<size_t>(found - dsl::linkLevels.begin()));
}

/// The ranks that a flag names, or why there are none.
engine::Result<std::vector<int64_t>> ranksNamed(const Chosen &chosen, const std::string &flag, const Program &program,
                                                const std::vector<std::vector<int64_t>> &places) {
  int64_t world = worldOf(program);
  auto wrong = [&](const std::string &noun, int64_t count, const std::string &whose) {
    return engine::Status(engine::Code::BadInput, fmt::format("{}: there is no {} {}; {} {}, from 0 on", nameOf(Option::Slow, flag), noun,
                                                              chosen.last, whose, count));
  };
  std::vector<int64_t> ranks;
  if (chosen.name == "rank") {
    if (chosen.last >= world)
      return wrong("rank", world, "ranks of the mesh:");
    for (int64_t rank = chosen.first; rank <= chosen.last; ++rank)
      ranks.push_back(rank);
    return ranks;
  }
  if (chosen.name == "host") {
    int64_t hosts = static_cast<int64_t>(places.size());
    if (chosen.last >= hosts)
      return wrong("host", hosts, "hosts that ranks are on:");
    for (int64_t host = chosen.first; host <= chosen.last; ++host)
      ranks.insert(ranks.end(), places[host].begin(), places[host].end());
    return ranks;
  }
  std::string axes;
  for (uint32_t axis = 0; axis < program.mesh()->size(); ++axis) {
    const MeshAxis &one = *program.mesh()->Get(axis);
    axes += (axes.empty() ? "" : ", ") + one.name()->str();
    if (one.name()->str() != chosen.name)
      continue;
    if (chosen.last >= one.size())
      return wrong(chosen.name + " =", one.size(), fmt::format("size of mesh axis '{}':", chosen.name));
    for (int64_t rank = 0; rank < world; ++rank)
      if (int64_t at = coordinatesOf(program, rank)[axis]; at >= chosen.first && at <= chosen.last)
        ranks.push_back(rank);
    return ranks;
  }
  return engine::Status(engine::Code::BadInput,
                        fmt::format("{}: '{}' is neither 'rank' nor 'host' nor a mesh axis{}", nameOf(Option::Slow, flag), chosen.name,
                                    axes.empty() ? "" : " (" + axes + ")"));
}

} // namespace

bool namesSlowRanks(const std::string &text) {
  std::optional<Slower> slower = slowerOf(text);
  return slower && chosenOf(slower->what);
}

bool namesSlowLinks(const std::string &text) {
  std::optional<Slower> slower = slowerOf(text);
  return slower && levelOf(slower->what);
}

engine::Result<Disturbance> disturbanceOf(const SlowParts &slow, const Program &program, const cost::Machine &machine,
                                          const std::vector<std::vector<int64_t>> &places, const cost::Deviations &deviations) {
  std::vector<double> times(static_cast<size_t>(worldOf(program)), 1.0);
  for (const std::string &flag : slow.ranks) {
    Slower slower = *slowerOf(flag);
    TRY(std::vector<int64_t> ranks, ranksNamed(*chosenOf(slower.what), flag, program, places));
    for (int64_t rank : ranks)
      times[rank] = std::max(times[rank], slower.times);
  }
  Disturbance result;
  result.deviations = deviations;
  for (const RankClass *rankClass : *program.classes()) {
    std::map<double, int64_t> counts;
    for (int64_t rank : ranksOf(program, *rankClass))
      ++counts[times[rank]];
    result.deviations.computing.push_back(counts.rbegin()->first);
    std::vector<SlowRanks> &ranks = result.ranks.emplace_back();
    for (auto [slower, count] : counts)
      ranks.push_back({slower, count});
  }
  if (!slow.links.empty())
    result.deviations.messages.assign(dsl::linkLevels.size(), 1.0);
  for (const std::string &flag : slow.links) {
    Slower slower = *slowerOf(flag);
    size_t level = *levelOf(slower.what);
    bool there = machine.links[level].bandwidth > 0;
    for (const dsl::HostKind &kind : machine.kinds)
      there |= kind.machine.links[level].bandwidth > 0;
    if (!there)
      return engine::Status::badInput(
          fmt::format("{}: machine '{}' has no links of level '{}'", nameOf(Option::SlowLink, flag), machine.name, slower.what));
    double &times = result.deviations.messages[level];
    times = std::max(times, slower.times);
  }
  return result;
}

} // namespace npar::planner
