// The safetensors format's words for element types, including types that the engine does not have.
#pragma once

#include "engine/program/Enums_generated.h"

#include <cstdint>
#include <optional>
#include <string>

namespace npar::engine {

struct StoredType {
  const char *word;                            ///< "F32"
  unsigned bits;                               ///< of an element
  bool floating;                               ///< a real floating-point type whose values SafetensorsFile::read converts
  std::optional<program::ElementType> element; ///< the engine's type, if it has one
};

/// The word for counts of other programs, such as PyTorch's `num_batches_tracked`.
constexpr const char *countWord = "I64";

/// Null for a word that the format does not know.
const StoredType *findStoredType(const std::string &word);

/// The word for an element type of the engine.
const char *storedWord(program::ElementType type);

/// "F32, F64, BF16 and F16": those whose values can be loaded.
const std::string &floatingWords();

} // namespace npar::engine
