// Models of characters that write a space as U+2581, as Llama 2's tokenizer.json: what its parts say of spaces and bytes.
#pragma once

#include "engine/json/Json.h"
#include "engine/text/BpeTokenizer.h"

namespace npar::engine {

/// Reads normalizer, pre-tokenizer and decoder of such a file into the rules for `parts`, which have vocabulary and added tokens. Spaces
/// are marked by the normalizers ('Prepend' and 'Replace') or by the pre-tokenizer ('Metaspace', not splitting); the decoders take that
/// back.
Status readMarkedSpaces(const Json &file, BpeParts &parts);

} // namespace npar::engine
