// Searches the operations and parameters of a model.
#include "tools/lib/foreign/ModelFacts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <variant>

namespace npar::foreign {

double attributeOf(const dsl::Model &model, const std::string &op, const std::string &name, double otherwise) {
  for (const dsl::Node &node : model.nodes)
    if (auto known = node.attributes.find(name); node.op == op && known != node.attributes.end())
      if (const double *value = std::get_if<double>(&known->second))
        return *value;
  return otherwise;
}

bool hasParameter(const dsl::Model &model, const std::string &path) {
  return std::any_of(model.parameters.begin(), model.parameters.end(), [&](const dsl::Parameter &one) { return one.path == path; });
}

bool hasOp(const dsl::Model &model, const std::string &op) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const dsl::Node &node) { return node.op == op; });
}

const std::vector<double> *scaledPositions(const dsl::Model &model) {
  for (const dsl::Node &node : model.nodes)
    if (auto known = node.attributes.find("frequencies"); node.op == "sinusoid" && known != node.attributes.end())
      return std::get_if<std::vector<double>>(&known->second);
  return nullptr;
}

std::optional<Llama3Positions> llama3Positions(const dsl::Model &model) {
  const std::vector<double> *frequencies = scaledPositions(model);
  if (!frequencies || frequencies->size() < 2)
    return std::nullopt;
  auto rounded = [](double value) { return std::stod(fmt::format("{:.6g}", value)); }; // the frequencies are f32
  const double count = static_cast<double>(frequencies->size()), low = 1, high = 4, original = 8192;
  size_t kept = 1; // the last of the short waves, which keep their frequencies; the longest are divided by the factor
  while (kept + 1 < frequencies->size() && (*frequencies)[kept + 1] > high / original * 2 * M_PI)
    ++kept;
  double base = rounded(std::pow((*frequencies)[kept], -count / static_cast<double>(kept)));
  double factor = rounded(std::pow(base, -(count - 1) / count) / frequencies->back());
  for (size_t i = 0; i < frequencies->size(); ++i) {
    double plain = std::pow(base, -static_cast<double>(i) / count);
    double share = std::clamp((original * plain / (2 * M_PI) - low) / (high - low), 0.0, 1.0);
    double expected = plain * (1 / factor + (1 - 1 / factor) * share);
    if (std::abs((*frequencies)[i] - expected) > 1e-6 * expected)
      return std::nullopt;
  }
  return Llama3Positions{base, factor};
}

bool hasBiases(const dsl::Model &model) {
  return std::any_of(model.parameters.begin(), model.parameters.end(), [](const dsl::Parameter &parameter) {
    const std::string ending = ".bias";
    return parameter.path.size() >= ending.size() &&
           parameter.path.compare(parameter.path.size() - ending.size(), ending.size(), ending) == 0;
  });
}

} // namespace npar::foreign
