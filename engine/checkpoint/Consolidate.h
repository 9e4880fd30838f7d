// Whole logical tensors out of a store into one safetensors file or several, without holding one of them whole in memory.
#pragma once

#include "engine/checkpoint/TensorStore.h"

#include <functional>
#include <string>
#include <vector>

namespace npar::engine {

/// The names in order, cut into lists whose tensors have at most `most` bytes each; a tensor that is larger has a list of its own.
std::vector<std::vector<std::string>> groupsOf(const TensorStore &store, const std::vector<std::string> &names, uint64_t most);

/// Writes these tensors of the store as one safetensors file, which appears when it is whole and on the disk. `progress` (may be null) is
/// told the bytes done, from any thread.
Status writeTensors(const TensorStore &store, const std::vector<std::string> &names, const std::string &path,
                    const std::function<void(uint64_t)> &progress = nullptr);

/// "model-00002-of-00003.safetensors".
std::string groupFileName(size_t index, size_t count);

/// The index that readers of several files expect beside them: which file has which tensor.
std::string groupIndexText(const TensorStore &store, const std::vector<std::vector<std::string>> &groups);

} // namespace npar::engine
