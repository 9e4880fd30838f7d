// Every byte is a token: for models that read bytes, any file is text.
#pragma once

#include "engine/text/Tokenizer.h"

namespace npar::engine {

std::shared_ptr<const Tokenizer> byteTokenizer();

} // namespace npar::engine
