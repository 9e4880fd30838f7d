// The place of a token in its file.
#pragma once

#include "dsl/Diagnostics.h"

#include <antlr4-runtime.h>

namespace npar::dsl {

inline Location placeOf(uint32_t file, antlr4::Token *token) {
  bool end = token->getType() == antlr4::Token::EOF;
  size_t length = end ? 1 : token->getStopIndex() - token->getStartIndex() + 1;
  return {file, static_cast<uint32_t>(token->getLine()), static_cast<uint32_t>(token->getCharPositionInLine() + 1),
          static_cast<uint32_t>(length)};
}

} // namespace npar::dsl
