// What a program takes as a global batch: how many samples of which length, and which values.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <optional>
#include <string>

namespace npar::engine {

/// The values that an input may have.
struct ValueRange {
  int64_t classes = 0; ///< 0 to classes - 1; any where it is 0
  std::string axis;    ///< whose entries these are, for messages
  std::string place;   ///< where that axis is declared, for messages; may be empty

  bool has(int64_t value) const { return classes == 0 || (value >= 0 && value < classes); }
  /// "axis 'labels' (m.npar:3:24) has 4 classes, 0 to 3"
  std::string text() const;
};

struct BatchShape {
  int64_t sequence = 1, rows = 1;
  ValueRange tokens, targets;
  std::optional<int32_t> ignore; ///< targets of this value do not count in the loss

  static BatchShape of(const program::Program &program);
};

} // namespace npar::engine
