// Facts of an elaborated model that other programs have settings for.
#pragma once

#include "dsl/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::foreign {

/// A number that the first operation of this kind has as an attribute; `otherwise` if there is no such operation or attribute.
double attributeOf(const dsl::Model &model, const std::string &op, const std::string &name, double otherwise);
bool hasParameter(const dsl::Model &model, const std::string &path);
bool hasOp(const dsl::Model &model, const std::string &op);

/// The listed frequencies by which rotary positions turn if they are scaled; null: they turn by a base, or there are none.
const std::vector<double> *scaledPositions(const dsl::Model &model);

/// The base and the factor of positions that Llama 3.1 scales from 8,192 on; nothing: the model's turn otherwise.
struct Llama3Positions {
  double base, factor;
};
std::optional<Llama3Positions> llama3Positions(const dsl::Model &model);

bool hasBiases(const dsl::Model &model);

} // namespace npar::foreign
