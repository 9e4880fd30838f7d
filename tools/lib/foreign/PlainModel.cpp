// Looks at what a model computes, not at the constants that chose it.
#include "tools/lib/foreign/PlainModel.h"

#include <algorithm>

namespace npar::foreign {

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
