// Weights of which other files replace a part: what was trained on top of a base that stays as it is.
#pragma once

#include "engine/checkpoint/TensorStore.h"
#include "engine/program/Loader.h"

#include <string>
#include <vector>

namespace npar::engine {

/// The tensors of a store that are weights. In a checkpoint these are the parameters, in float32 if the plan rounds them, without the
/// optimizer's state.
std::map<std::string, StoreEntry> weightsOf(const TensorStore &store);

/// `base` with the tensors of the parts, which `openTensorStore` opens, for every parameter that they have; of two parts the later one
/// counts. A part with some tensors of an indexed parameter replaces only these, and is refused if the base has the parameter as one
/// tensor. Base and parts may have different names for a parameter. A tensor of a part that the program does not know is an error. Without
/// parts it is `base` itself.
Result<std::shared_ptr<const TensorStore>> withParts(const program::Program &program, std::shared_ptr<const TensorStore> base,
                                                     const std::vector<std::string> &parts);

} // namespace npar::engine
