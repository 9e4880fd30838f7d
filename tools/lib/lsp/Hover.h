// Writes the text that an editor shows for the word under the pointer.
#pragma once

#include "tools/lib/lsp/Facts.h"

namespace npar::lsp {

struct HoverText {
  std::string markdown;
  ByteRange at; ///< of the word, in the current text
};

/// Nothing where nothing is known. While a text has errors its last good index serves.
std::optional<HoverText> hoverAt(Workspace &workspace, const Facts &facts, const std::string &path, size_t offset);

} // namespace npar::lsp
