// What a plan names in a model: axes, product axes, repeats and the paths of layers.
#pragma once

#include "dsl/Program.h"

namespace npar::dsl {

/// Each is null when the model has no such name.
const Axis *findAxis(const Model &model, const std::string &name);
const ProductAxis *findProduct(const Model &model, const std::string &name);
const Repeat *findRepeat(const Model &model, const std::string &label);

/// Whether a layer's path, or one of its parents, matches a pattern; `*` stands for anything but a point.
bool matchesPath(const std::string &pattern, const std::string &path);

/// What a star stands for, with a path of the model as the example.
std::string starHelp(const Model &model);

} // namespace npar::dsl
