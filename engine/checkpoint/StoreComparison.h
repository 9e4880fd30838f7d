// Compares two stores of tensors: checkpoints, safetensors files or folders of such files.
#pragma once

#include "engine/checkpoint/TensorDiff.h"
#include "engine/json/JsonForward.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace npar::engine {

/// One side: its tensors and, of a checkpoint, their kinds.
struct ComparedStore {
  std::shared_ptr<const TensorStore> store;
  std::map<std::string, std::string> kinds; ///< of a checkpoint
  bool isCheckpoint = false;
};

class StoreComparison {
public:
  /// `only`: a kind of tensors, such as "parameter", or "all".
  static Result<StoreComparison> open(const std::string &left, const std::string &right, const std::string &only);
  /// Bytes of the left side's tensors that are compared.
  uint64_t bytes() const;
  /// Compares the stores; call it once. `progress` is told the bytes done.
  Status run(const std::function<void(uint64_t)> &progress);

  bool equal() const { return found.tensors.empty(); }
  /// Tensors of state that are in one side, a checkpoint, alone and were left out, because the other side has weights only.
  size_t leftOut() const { return omitted; }
  std::string text() const;
  OrderedJson json() const;

private:
  bool takes(const std::string &name) const;

  ComparedStore left, right;
  std::string names[2], only;
  StoreDifference found;
  size_t omitted = 0;
};

} // namespace npar::engine
