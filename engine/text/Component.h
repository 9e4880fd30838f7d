// Reads the parts of a tokenizer.json, whose "type" names their kind: normalizers, pre-tokenizers, post-processors, decoders.
#pragma once

#include "engine/json/Json.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

/// A member of an object; null if it has none of this name.
const Json &member(const Json &object, const char *name);
/// The "type", or nothing.
std::string typeOf(const Json &component);
/// The components of a sequence in order, or the component alone; empty for null. `list`: the key of a sequence's members.
std::vector<const Json *> flattened(const Json &component, const char *list);
/// "its WHAT is 'TYPE': npar knows KNOWN".
Status unknownComponent(const std::string &what, const Json &component, const std::string &known);

} // namespace npar::engine
