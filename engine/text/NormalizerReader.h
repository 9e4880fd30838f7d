// The "normalizer" of a tokenizer.json.
#pragma once

#include "engine/json/Json.h"
#include "engine/text/Normalizer.h"

namespace npar::engine {

/// Refuses other kinds and unknown fields by name. Null is no normalizer.
Result<Normalizers> readNormalizers(const Json &component);

/// A pattern of a file: {"Regex": ...} or {"String": ...}, of which one is not empty.
struct FilePattern {
  std::string regex, text;
};
/// `what` names the component in messages.
Result<FilePattern> readFilePattern(const Json &pattern, const std::string &what);

} // namespace npar::engine
