// Corrects estimates of training steps by the simulated steps of compiled plans.
#pragma once

#include "tools/lib/planner/search/Candidate.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace npar::planner {

/// A mean that grows.
struct Mean {
  double sum = 0, count = 0;
  void add(double value) { sum += value, ++count; }
  double value(double otherwise) const { return count > 0 ? sum / count : otherwise; }
};

/// A factor for the estimated time of a candidate, by plans that are much like it.
struct Nearby {
  double ratio = 1;
  bool isKnown = false; ///< what sets one of the plans apart was compiled elsewhere too, or is a number of its schedule
};

/// Factors for the estimated times of candidates. Each compiled plan adds the ratio of its simulated and its estimated time.
class TimeCorrections {
public:
  void add(const Candidate &compiled, double ratio);

  /// The mean ratio of plans with the same schedule, split and way of context parallelism, with or without a buffer for experts, else of
  /// those with the schedule, else of all; else 1.
  double ofFamily(const Candidate &one) const;

  /// The mean over the neighbours of `one`, the compiled plans that have its mesh and differ from it in one setting: the ratio of the plan,
  /// times the effect of the setting.
  std::optional<Nearby> ofNeighbours(const Candidate &one) const;

  /// The mean factor by which the ratio has changed from plans with a setting as `from` has it to plans with the setting as `to` has it and
  /// all other settings equal; nothing if no such plans were compiled. The two candidates differ in one setting.
  std::optional<double> effect(const Candidate &from, const Candidate &to) const;

private:
  using Family =
      std::tuple<std::string, Context, SplitKind, std::string, bool>; ///< schedule, context parallelism, split, a buffer for experts
  using Change = std::tuple<Setting, std::string, std::string>;       ///< a setting, from and to

  static Family familyOf(const Candidate &one);
  static std::optional<Change> changeOf(const Candidate &from, const Candidate &to);

  std::vector<std::pair<Candidate, double>> compiled;
  std::map<Family, Mean> families;
  std::map<std::string, Mean> schedules;
  Mean all;
  std::map<Change, Mean> effects;
};

} // namespace npar::planner
