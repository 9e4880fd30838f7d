// Looks up the names of a model that plans use: axes, product axes, repeats and the paths of layers.
#pragma once

#include "dsl/Program.h"

namespace npar::dsl {

/// Each is null when the model has no such name.
const Axis *findAxis(const Model &model, const std::string &name);
const ProductAxis *findProduct(const Model &model, const std::string &name);
const Repeat *findRepeat(const Model &model, const std::string &label);

/// Returns whether a layer's path, or one of its parents, matches a pattern; `*` matches any text without a point.
bool matchesPath(const std::string &pattern, const std::string &path);

/// A hint that explains the star in patterns, with a path of the model as the example.
std::string starHelp(const Model &model);

} // namespace npar::dsl
