// The rows of `npar sweep`, and how they are shown.
#pragma once

#include "engine/json/JsonForward.h"
#include "tools/lib/planner/search/SimulatePlans.h"

#include <optional>
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
  /// The row that speed-ups are relative to: of those with figures the one with the fewest ranks, the first of several. Nothing if every
  /// row is refused.
  std::optional<size_t> base() const;
  /// Samples per second of a row with figures, over those of the base.
  double speedUp(size_t row) const;
  /// The speed-up over the number of ranks, relative to the base.
  double efficiency(size_t row) const;
};

std::string sweepText(const Sweep &sweep);
std::string sweepCsv(const Sweep &sweep);
OrderedJson sweepJson(const Sweep &sweep);
/// Seconds against memory, with a line at what a device has; below it the speed-up against the ranks, if their number differs between rows.
/// A self-contained picture.
std::string sweepSvg(const Sweep &sweep);

} // namespace npar::planner
