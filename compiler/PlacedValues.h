// The layouts that values of the forward pass got, for editors: an entry for each operation, at its place in the user's text.
#pragma once

#include "dsl/Diagnostics.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class Pass;
} // namespace mlir

namespace npar::compiler {

struct PlacedValue {
  dsl::Location at;           ///< of the operation
  std::string path;           ///< of its layer
  std::string layout;         ///< "batch : 8 {dp}, seq : 32, partial = {tp : sum}"
  std::vector<int64_t> shape; ///< on a rank
  int64_t bytes = 0;          ///< on a rank
};

/// A pass that appends to `values` after the place phase.
std::unique_ptr<mlir::Pass> createListPlacedValues(const dsl::Sources &sources, std::vector<PlacedValue> &values);

} // namespace npar::compiler
