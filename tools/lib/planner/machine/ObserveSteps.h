// Runs training steps of a small model and says, step by step, how long each took and what the cost model counts in it.
#pragma once

#include "engine/program/Enums_generated.h"
#include "tools/lib/models/Compilation.h"
#include "tools/lib/planner/machine/FitFigures.h"

#include <map>
#include <string>
#include <vector>

namespace npar::planner {

using models::SettingsList;

/// Steps whose times are made of the same figures. `type`: of products and attention.
struct StepGroup {
  enum class Kind { Kernel, Product, Attention, AttentionGradient, Move, Collective } kind = Kind::Kernel;
  program::ElementType type = program::ElementType::F32;
  bool operator<(const StepGroup &other) const { return std::tie(kind, type) < std::tie(other.kind, other.type); }
};

/// The unknowns of a group, in the order of `Equation::counts`:
///   Kernel      1 / cache, 1 / far, operation, function, 1 / near - 1 / cache
///   Product     (1, rows, columns, depth) / rate
///   Attention   (1, rows) / rate, the same for its gradients
///   Move        1 / move, what every step takes
///   Collective  1 / bandwidth, latency
constexpr size_t unknownsOf(StepGroup::Kind kind) {
  switch (kind) {
  case StepGroup::Kind::Kernel:
    return 5;
  case StepGroup::Kind::Product:
    return 4;
  case StepGroup::Kind::Attention:
  case StepGroup::Kind::AttentionGradient:
  case StepGroup::Kind::Move:
  case StepGroup::Kind::Collective:
    break;
  }
  return 2;
}

struct Workload {
  std::string model;
  SettingsList settings;
  std::string plan = "none";
  int steps = 3;      ///< measured, at least ...
  double seconds = 0; ///< ... and for at least this time
};

struct Observed {
  std::map<StepGroup, std::vector<Equation>> equations; ///< one worker; of collectives as many as there are ranks
  SpreadObservation spread;                             ///< a workload of one rank
  double launch = 0;                                    ///< seconds of a step of the null backend
};

/// `cacheSize`: bytes of a step's operands that a core's own cache keeps; `nearSize`: bytes that all caches keep, including these. Runs
/// with one worker and with `cores`.
engine::Result<Observed> observe(const Workload &workload, double cacheSize, double nearSize, int cores, engine::Observer &observer);

} // namespace npar::planner
