// The rows of `npar sweep`, and how they are shown.
#pragma once

#include "engine/json/JsonForward.h"
#include "tools/lib/planner/search/SimulatePlans.h"

#include <string>
#include <vector>

namespace npar::planner {

/// The values that a setting takes, one after the other.
struct SweptSetting {
  std::string key;
  std::vector<std::string> values;
};

struct Sweep {
  std::string model, machine;
  std::vector<SweptSetting> over;
  std::vector<Attempt> rows; ///< all combinations, the last setting changing fastest

  /// The value of each setting in a row.
  std::vector<std::string> valuesOf(size_t row) const;
};

std::string sweepText(const Sweep &sweep);
std::string sweepCsv(const Sweep &sweep);
OrderedJson sweepJson(const Sweep &sweep);
/// Seconds against memory, with a line at what a device has: a self-contained picture.
std::string sweepSvg(const Sweep &sweep);

} // namespace npar::planner
