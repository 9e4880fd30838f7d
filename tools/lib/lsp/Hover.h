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

/// A word of a text with what it means.
struct Meaning {
  std::string word;
  ByteRange at;                 ///< in the current text
  Place symbol;                 ///< none for words of the language
  std::optional<Reference> use; ///< nothing at a definition
  ByteRange definition;         ///< the assignment that is meant, in the symbol's text
};
std::optional<Meaning> meaningAt(Workspace &workspace, const std::string &path, size_t offset);

/// `layer Linear(in, out, deviation = 0.02)`: the text of a declaration up to its body.
std::string signatureOf(const Place &declaration);
/// The comment above a declaration, or the one that begins its text.
std::string commentOf(const Place &declaration);

} // namespace npar::lsp
