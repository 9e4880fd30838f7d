// The global batch that a program takes: its inputs, the number and shape of samples, and the range of values.
#pragma once

#include "engine/program/Elements.h"
#include "engine/program/Program_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

/// The allowed values of an integer input.
struct ValueRange {
  int64_t classes = 0; ///< values are 0 to classes - 1; 0: any value
  std::string axis;    ///< axis that the values index, for messages; empty: a loss or the data block sets the range
  std::string place;   ///< source place of the axis, the loss or the data block, for messages; may be empty
  bool byLoss = false; ///< without an axis: a loss sets the range, not the data block

  bool has(int64_t value) const { return classes == 0 || (value >= 0 && value < classes); }
  /// "axis 'labels' (m.npar:3:24) has 4 classes, 0 to 3"
  std::string text() const;
};

/// One input: its values of a global batch are row-major over `shape`, whose first size is the number of samples.
struct InputShape {
  std::string name;
  program::ElementType type = program::ElementType::I32; ///< program::isInputType
  std::vector<std::string> axes;
  std::vector<int64_t> shape;
  ValueRange range;
  program::InputRole role = program::InputRole::Other;
  std::optional<int32_t> ignore = std::nullopt; ///< targets of this value do not count in the loss

  bool isInteger() const { return program::isInteger(type); }
  /// True if an integer is in the range of the input's type and a class of its axis.
  bool has(int64_t value) const;
  /// The same, but also true for the value that does not count.
  bool takes(int64_t value) const { return has(value) || (ignore && value == *ignore); }
  /// The range that `has` checks: "axis 'labels' has 4 classes, 0 to 3", "u8 holds 0 to 255".
  std::string rangeText() const;
  uint64_t elementsOfSample() const;
  uint64_t elements() const { return elementsOfSample() * static_cast<uint64_t>(shape[0]); }
  /// Type and shape in words: "i32 [batch 8, seq 16]".
  std::string typeText() const;
  /// The position of an element in a sample: " at position 17", " at position [3, 5]"; empty for a sample of one element.
  std::string positionText(uint64_t element) const;
};

struct BatchShape {
  int64_t rows = 1;
  std::vector<InputShape> inputs; ///< shapes in the program's order

  static BatchShape of(const program::Program &program);
  /// The input with this role in a token stream; null if no input has it.
  const InputShape *find(program::InputRole role) const;
  /// The targets with values that do not count; null if all count.
  const InputShape *ignoring() const;
  /// Number of tokens that a stream gives an input per sample; 0 if there is no stream.
  int64_t tokensOfSample() const;
  /// The names of the inputs: "tokens, targets".
  std::string names() const;

private:
  /// Applies the program's data block: the limits of integer inputs, and their roles in a token stream.
  void follow(const program::DataBlock &data);
};

} // namespace npar::engine
