// Looks at what a model computes, not at the constants that chose it.
#include "tools/lib/foreign/PlainModel.h"

#include <algorithm>

namespace npar::foreign {

bool isPlainLlama(const dsl::Model &model) {
  auto isBias = [](const dsl::Parameter &parameter) {
    const std::string ending = ".bias";
    return parameter.path.size() >= ending.size() && parameter.path.compare(parameter.path.size() - ending.size(), ending.size(), ending) == 0;
  };
  auto isScaled = [](const dsl::Node &node) { return node.op == "sinusoid" && node.attributes.count("frequencies"); };
  return model.name == "Llama" && std::none_of(model.parameters.begin(), model.parameters.end(), isBias) &&
         std::none_of(model.nodes.begin(), model.nodes.end(), isScaled);
}

} // namespace npar::foreign
