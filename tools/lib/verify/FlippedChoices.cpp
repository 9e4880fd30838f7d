// Compares sets of entries position by position.
#include "tools/lib/verify/FlippedChoices.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <limits>
#include <numeric>

namespace npar::verify {

namespace {

constexpr size_t mostExamples = 3; ///< of a layer

int64_t product(const std::vector<int64_t> &sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

/// The indices of an element in a row-major array.
std::vector<int64_t> unravelled(int64_t element, const std::vector<int64_t> &sizes) {
  std::vector<int64_t> indices(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; element /= sizes[i])
    indices[i] = element % sizes[i];
  return indices;
}

/// Compares the choices at one position.
class Position {
public:
  Position(const ChoiceShape &shape, const ChosenValues &values, int64_t before, int64_t after)
      : shape(shape), values(values), before(before), after(after), inner(product(shape.inner)) {
    chosen = entriesIn(values.chosen), own = entriesIn(values.own);
    for (const std::vector<int64_t> *some : {&chosen, &own})
      for (int64_t entry : *some)
        scale = std::max(scale, std::fabs(exact(entry)));
  }

  static double finiteOrInfinite(double value) { return std::isfinite(value) ? value : std::numeric_limits<double>::infinity(); }

  double scoreError() const {
    double error = 0;
    for (const std::vector<int64_t> *some : {&chosen, &own})
      for (int64_t entry : *some)
        error = std::max(error, finiteOrInfinite(relative(values.scores[scoreAt(entry)] - exact(entry))));
    return error;
  }

  /// Pairs of an entry that only the plan chooses with one that only float64 chooses, both in the order of their scores.
  std::vector<FlippedChoice> flips() const {
    std::vector<int64_t> theirs = without(chosen, own), ours = without(own, chosen);
    std::vector<FlippedChoice> result;
    for (size_t i = 0; i < theirs.size(); ++i) {
      FlippedChoice flip;
      flip.chosen = theirs[i], flip.inPlaceOf = ours[i];
      flip.score = exact(theirs[i]), flip.scoreInPlaceOf = exact(ours[i]);
      flip.margin = relative(flip.scoreInPlaceOf - flip.score);
      result.push_back(flip);
    }
    return result;
  }

private:
  std::vector<int64_t> entriesIn(const std::vector<double> &all) const {
    std::vector<int64_t> entries;
    for (int64_t i = 0; i < shape.chosen; ++i)
      entries.push_back(static_cast<int64_t>(all[static_cast<size_t>((before * shape.chosen + i) * inner + after)]));
    return entries;
  }
  size_t scoreAt(int64_t entry) const { return static_cast<size_t>((before * shape.entries + entry) * inner + after); }
  double exact(int64_t entry) const { return values.exact[scoreAt(entry)]; }
  double relative(double difference) const { return std::fabs(difference) / (scale > 0 ? scale : 1); }
  std::vector<int64_t> without(const std::vector<int64_t> &some, const std::vector<int64_t> &others) const {
    std::vector<int64_t> rest;
    std::copy_if(some.begin(), some.end(), std::back_inserter(rest),
                 [&](int64_t entry) { return std::find(others.begin(), others.end(), entry) == others.end(); });
    std::stable_sort(rest.begin(), rest.end(), [&](int64_t a, int64_t b) { return exact(a) > exact(b); });
    return rest;
  }

  const ChoiceShape &shape;
  const ChosenValues &values;
  const int64_t before, after, inner;
  std::vector<int64_t> chosen, own;
  double scale = 0;
};

std::string textOf(const FlippedChoice &flip, const std::string &axis) {
  std::string position = flip.position.empty() ? "" : fmt::format(" position {},", fmt::join(flip.position, " "));
  return fmt::format("batch {} sample {}{} {} {} in place of {}: scores {:.6g} and {:.6g}, apart by {:.1e}", flip.batch, flip.sample,
                     position, axis, flip.chosen, flip.inPlaceOf, flip.score, flip.scoreInPlaceOf, flip.margin);
}

} // namespace

void addFlips(const ChoiceShape &shape, const ChosenValues &values, int64_t batch, LayerChoices &layer) {
  const int64_t outer = product(shape.outer), inner = product(shape.inner);
  std::vector<int64_t> positions = shape.outer;
  positions.insert(positions.end(), shape.inner.begin(), shape.inner.end());
  for (int64_t before = 0; before < shape.samples * outer; ++before)
    for (int64_t after = 0; after < inner; ++after) {
      const Position position(shape, values, before, after);
      layer.choices += shape.chosen;
      layer.largestScoreError = std::max(layer.largestScoreError, position.scoreError());
      for (FlippedChoice &flip : position.flips()) {
        flip.batch = batch, flip.sample = before / outer;
        flip.position = unravelled(before % outer * inner + after, positions);
        ++layer.flipped;
        layer.largestMargin = std::max(layer.largestMargin, flip.margin);
        layer.examples.push_back(std::move(flip));
      }
    }
  std::stable_sort(layer.examples.begin(), layer.examples.end(), [](const auto &a, const auto &b) { return a.margin > b.margin; });
  if (layer.examples.size() > mostExamples)
    layer.examples.resize(mostExamples);
}

int64_t ChoiceReport::choices() const {
  return std::accumulate(layers.begin(), layers.end(), int64_t{0}, [](int64_t sum, const LayerChoices &one) { return sum + one.choices; });
}

int64_t ChoiceReport::flipped() const {
  return std::accumulate(layers.begin(), layers.end(), int64_t{0}, [](int64_t sum, const LayerChoices &one) { return sum + one.flipped; });
}

double ChoiceReport::largestMargin() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [](double most, const LayerChoices &one) { return std::max(most, one.largestMargin); });
}

double ChoiceReport::largestScoreError() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [](double most, const LayerChoices &one) { return std::max(most, one.largestScoreError); });
}

std::string ChoiceReport::text(bool areNear) const {
  const std::string left = leftOut > 0 ? fmt::format("; {} places whose choices depend on several samples are left out", leftOut) : "";
  if (flipped() == 0)
    return fmt::format("{} choices in {} batches, all as in float64{}", choices(), batches, left);
  std::string text =
      fmt::format("{} of {} choices in {} batches differ from float64{}", flipped(), choices(), batches, areNear ? " at near ties" : "");
  if (!hasLoss)
    return text + left;
  const double share = lossByChoices / lossBound;
  const std::string ofBound = share < 1 ? fmt::format("{:.2g} % of", 100 * share) : fmt::format("{:.1f} times", share);
  return text +
         fmt::format(": they change the loss by {:.1e}, {} its bound, and with the same choices it differs by {:.1e}", lossByChoices,
                     ofBound, lossError) +
         left;
}

std::vector<std::string> ChoiceReport::lines() const {
  std::vector<std::string> lines;
  for (const LayerChoices &one : layers) {
    if (one.flipped == 0)
      continue;
    lines.push_back(fmt::format("{}{}: {} of {} choices of '{}' differ", one.place, one.layer.empty() ? "" : " in '" + one.layer + "'",
                                one.flipped, one.choices, one.axis));
    for (const FlippedChoice &flip : one.examples)
      lines.push_back("  " + textOf(flip, one.axis));
  }
  return lines;
}

} // namespace npar::verify
