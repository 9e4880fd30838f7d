// The tokens of a text with their comments and their parts in the grammar, for the formatter.
#pragma once

#include "dsl/Diagnostics.h"

#include <optional>

namespace npar::dsl {

struct TextToken {
  /// The part of a token in the grammar, as far as it decides about the space around it.
  enum class Part {
    Plain,
    Item,  ///< the first token of a statement, a rule, a setting ...
    Glued, ///< follows the token before it without a space: the '(' of a call
    Sign,  ///< the next token follows it without a space: the '-' of -x
    Joint, ///< no space on either side: the '.' of a.b, the '/' of GB/s
    Comment
  };
  std::string text;
  size_t line = 0, column = 0; ///< of its first character, from 1 and from 0
  Part part = Part::Plain;
};

/// All tokens of a source, with comments in their places; nothing if it has syntax errors, which are reported.
std::optional<std::vector<TextToken>> readTokens(uint32_t file, const Sources &sources, Diagnostics &diagnostics);

} // namespace npar::dsl
