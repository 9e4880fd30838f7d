// Searches the operations and parameters of a model.
#include "tools/lib/foreign/ModelFacts.h"

#include <algorithm>
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

bool hasScaledPositions(const dsl::Model &model) {
  return std::any_of(model.nodes.begin(), model.nodes.end(),
                     [](const dsl::Node &node) { return node.op == "sinusoid" && node.attributes.count("frequencies"); });
}

bool isPlainLlama(const dsl::Model &model) {
  auto isBias = [](const dsl::Parameter &parameter) {
    const std::string ending = ".bias";
    return parameter.path.size() >= ending.size() && parameter.path.compare(parameter.path.size() - ending.size(), ending.size(), ending) == 0;
  };
  return model.name == "Llama" && !hasScaledPositions(model) && std::none_of(model.parameters.begin(), model.parameters.end(), isBias);
}

} // namespace npar::foreign
