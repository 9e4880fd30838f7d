// One line of a verification's result, and the relative error of a kind of tensors that most of these lines have.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace npar::verify {

struct Check {
  std::string name;
  bool ok = true;
  std::optional<double> maxRelativeError;
  std::string detail;
  double bound = 0;         ///< the largest error that is allowed
  bool isOfOneRank = false; ///< it fails on one rank as well, so no plan is to blame
  bool isUndecided = false; ///< it fails because these numbers prove nothing; others may
};

bool allHold(const std::vector<Check> &checks);

/// The largest error of a kind of tensors: per tensor max|a - b| / max(max|b|, 1e-3 * largest entry of the kind, rounding noise).
class ErrorMeasure {
public:
  explicit ErrorMeasure(std::string name, double bound = 1e-10) : name(std::move(name)), bound(bound) {}
  void add(const std::string &tensor, const std::vector<double> &value, const std::vector<double> &reference);
  /// Accepts a difference of `noise`, which rounding alone explains, even if the value itself is zero.
  void allow(double noise) { allowed = std::max(allowed, noise); }
  Check check() const;

private:
  struct Entry {
    std::string tensor;
    double difference, largest;
    /// The first element that is not finite in one of the two tensors; else zeros.
    double value = 0, expected = 0;
  };
  std::string name;
  double bound, allowed = 0;
  std::vector<Entry> entries;
};

/// The distance of two numbers; infinite if one of them is not finite.
double finiteDistance(double a, double b);

} // namespace npar::verify
