// Measures errors tensor by tensor.
#include "tools/lib/verify/ErrorMeasure.h"

#include <cmath>
#include <fmt/format.h>

namespace npar::verify {

bool allHold(const std::vector<Check> &checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check &check) { return check.ok; });
}

double finiteDistance(double a, double b) { return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY; }

void ErrorMeasure::add(const std::string &tensor, const std::vector<double> &value, const std::vector<double> &reference) {
  Entry entry{tensor, value.size() == reference.size() ? 0 : INFINITY, 0};
  for (size_t i = 0; i < std::min(value.size(), reference.size()); ++i) {
    double difference = finiteDistance(value[i], reference[i]);
    if (std::isinf(difference) && !std::isinf(entry.difference))
      entry.value = value[i], entry.expected = reference[i];
    entry.difference = std::max(entry.difference, difference);
    if (std::isfinite(reference[i]))
      entry.largest = std::max(entry.largest, std::fabs(reference[i]));
  }
  entries.push_back(entry);
}

Check ErrorMeasure::check() const {
  constexpr double floorShare = 1e-3;
  double largest = 0, worst = 0;
  std::string where;
  const Entry *infinite = nullptr;
  for (const Entry &entry : entries)
    largest = std::max(largest, entry.largest);
  for (const Entry &entry : entries) {
    double against = std::max({entry.largest, floorShare * largest, allowed / bound});
    double error = against > 0 ? entry.difference / against : entry.difference;
    if (!infinite && std::isinf(error))
      infinite = &entry;
    if (where.empty() || error > worst) {
      worst = error;
      where = entry.tensor;
    }
  }
  Check result{name, worst < bound, worst, "", bound};
  result.detail = entries.empty() ? "nothing to compare" : fmt::format("{} tensors, largest error in '{}'", entries.size(), where);
  if (infinite && (!std::isfinite(infinite->value) || !std::isfinite(infinite->expected)))
    result.detail = fmt::format("{} tensors, '{}' is not finite: {:.6g}, on one rank in float64 {:.6g}", entries.size(), infinite->tensor,
                                infinite->value, infinite->expected);
  else if (!result.ok)
    result.detail += fmt::format(": {:.2e}, allowed {:.0e}", worst, bound);
  return result;
}

} // namespace npar::verify
