// The pickle of a PyTorch file: a dictionary of tensors whose bytes are in other files of the archive.
#pragma once

#include "engine/safetensors/TensorWriter.h"

namespace npar::engine {

/// The contents of `data.pkl` for torch.load: a dictionary with the tensors in the given order. The storage of tensor k is the file
/// `data/k`, row-major, on the CPU. The pickle calls only what `torch.load(weights_only=True)` allows. An error if PyTorch has no storage
/// of a type.
Result<std::string> stateDictPickle(const std::vector<TensorToWrite> &tensors);

} // namespace npar::engine
