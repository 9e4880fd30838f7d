// What a program takes as a global batch: of which inputs, how many samples of which shape, and which values.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

/// The values that an input of integers may have.
struct ValueRange {
  int64_t classes = 0; ///< 0 to classes - 1; any where it is 0
  std::string axis;    ///< whose entries these are, for messages; empty: none's, a loss or the data block says so
  std::string place;   ///< where that axis is declared, or that is said, for messages; may be empty
  bool byLoss = false; ///< whether it is a loss, where there is no axis

  bool has(int64_t value) const { return classes == 0 || (value >= 0 && value < classes); }
  /// "axis 'labels' (m.npar:3:24) has 4 classes, 0 to 3"
  std::string text() const;
};

/// One input: its values of a global batch are row-major over `shape`, whose first size is the number of samples.
struct InputShape {
  std::string name;
  program::ElementType type = program::ElementType::I32; ///< I32, U8 or F32
  std::vector<std::string> axes;
  std::vector<int64_t> shape;
  ValueRange range;
  program::InputRole role = program::InputRole::Other;
  std::optional<int32_t> ignore = std::nullopt; ///< targets of this value do not count in the loss

  bool isInteger() const { return type != program::ElementType::F32; }
  /// Whether an integer is of the input's type and a class of its axis.
  bool has(int64_t value) const;
  /// The same, or a value that does not count.
  bool takes(int64_t value) const { return has(value) || (ignore && value == *ignore); }
  /// What `has` asks for: "axis 'labels' has 4 classes, 0 to 3", "u8 holds 0 to 255".
  std::string rangeText() const;
  uint64_t elementsOfSample() const;
  uint64_t elements() const { return elementsOfSample() * static_cast<uint64_t>(shape[0]); }
  /// Type and shape in words: "i32 [batch 8, seq 16]".
  std::string typeText() const;
  /// Where an element of a sample lies: " at position 17", " at position [3, 5]"; nothing for the one element of a sample.
  std::string positionText(uint64_t element) const;
};

struct BatchShape {
  int64_t rows = 1;
  std::vector<InputShape> inputs; ///< in the program's order

  static BatchShape of(const program::Program &program);
  /// The input that a stream of tokens feeds so; null where there is none.
  const InputShape *find(program::InputRole role) const;
  /// The targets of which some may not count; null where all count.
  const InputShape *ignoring() const;
  /// The elements of what a stream of tokens feeds, in one sample; 0 where it feeds nothing.
  int64_t tokensOfSample() const;
  /// The names of the inputs: "tokens, targets".
  std::string names() const;

private:
  /// What the program's data block says of inputs: what bounds them, and what a stream gives them.
  void follow(const program::DataBlock &data);
};

/// "i32", "u8", "f32": as the language writes the types of inputs.
std::string typeName(program::ElementType type);

} // namespace npar::engine
