// SageMaker in four files: the program (SageMaker), how its processes share the model (Distribution), what its instances have (Instances),
// and the classes of its names (Names). Names come from the documentation of its Python SDK and of its libraries for model and data
// parallelism.
#pragma once

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

namespace npar::foreign {

const NameTable &sageMakerNames();

/// The names that the arguments of the training script get.
constexpr const char *ofScript = "hyperparameters.";

/// Number of GPUs or Neuron cores of an instance type ("ml.p3.16xlarge"); 0: it has processors only; nothing for an unknown type.
std::optional<int64_t> devicesOfInstance(const std::string &type);

/// Reads how many processes there are, and how they share the model and the batch.
void readDistribution(Reading &in, const ForeignHints &hints);

} // namespace npar::foreign
