// Finds the declaration that a word of a text means, for hovers, definitions and references.
#pragma once

#include "tools/lib/lsp/Workspace.h"

namespace npar::lsp {

/// A word of a text with what it means.
struct Meaning {
  std::string word;
  ByteRange at;                 ///< in the current text
  Place symbol;                 ///< none for words of the language
  std::optional<Reference> use; ///< nothing at a definition
  ByteRange definition;         ///< the assignment that is meant, in the symbol's text
};
/// Nothing where no word is. While a text has errors its last good index serves.
std::optional<Meaning> meaningAt(Workspace &workspace, const std::string &path, size_t offset);

/// `layer Linear(in, out, deviation = 0.02)`: the text of a declaration up to its body.
/// `scan`: of its text.
std::string signatureOf(const Place &declaration, const Scan &scan);
/// The comment above a declaration, or the one that begins its text.
std::string commentOf(const Place &declaration, const Scan &scan);

} // namespace npar::lsp
