// Compares the compiled plans with each other.
#include "tools/lib/planner/search/TimeCorrections.h"

namespace npar::planner {

TimeCorrections::Family TimeCorrections::familyOf(const Candidate &one) {
  return {scheduleWord(one), one.context, one.split.kind, one.split.axis, one.buffer > 0};
}

/// The setting in which two candidates that differ in one setting differ. What a mesh or a schedule changes depends on more than their
/// words, so these have no effects.
std::optional<TimeCorrections::Change> TimeCorrections::changeOf(const Candidate &from, const Candidate &to) {
  for (int number = 0; number < settingCount; ++number)
    if (auto setting = static_cast<Setting>(number); !same(from, to, setting)) {
      if (setting == Setting::Mesh || setting == Setting::Schedule)
        return std::nullopt;
      return Change{setting, wordsOf(from, setting), wordsOf(to, setting)};
    }
  return std::nullopt;
}

void TimeCorrections::add(const Candidate &one, double ratio) {
  families[familyOf(one)].add(ratio);
  schedules[scheduleWord(one)].add(ratio);
  all.add(ratio);
  for (const auto &[other, otherRatio] : compiled)
    if (distance(one, other) == 1)
      if (std::optional<Change> change = changeOf(other, one)) {
        effects[*change].add(ratio / otherRatio);
        effects[{std::get<0>(*change), std::get<2>(*change), std::get<1>(*change)}].add(otherRatio / ratio);
      }
  compiled.emplace_back(one, ratio);
}

double TimeCorrections::ofFamily(const Candidate &one) const {
  if (auto found = families.find(familyOf(one)); found != families.end())
    return found->second.value(1);
  auto found = schedules.find(scheduleWord(one));
  return found == schedules.end() ? all.value(1) : found->second.value(1);
}

std::optional<Nearby> TimeCorrections::ofNeighbours(const Candidate &one) const {
  Mean mean;
  Nearby nearby;
  for (const auto &[other, ratio] : compiled)
    if (same(one, other, Setting::Mesh) && distance(one, other) == 1) {
      std::optional<double> change = effect(other, one);
      mean.add(ratio * change.value_or(1));
      nearby.isKnown |= change || (!same(one, other, Setting::Schedule) && one.schedule == other.schedule);
    }
  nearby.ratio = mean.value(1);
  return mean.count > 0 ? std::optional(nearby) : std::nullopt;
}

std::optional<double> TimeCorrections::effect(const Candidate &from, const Candidate &to) const {
  std::optional<Change> change = changeOf(from, to);
  auto found = change ? effects.find(*change) : effects.end();
  return found == effects.end() ? std::nullopt : std::optional(found->second.value(1));
}

} // namespace npar::planner
