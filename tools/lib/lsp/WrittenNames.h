// Names that a text declares, by its words alone.
#pragma once

#include "tools/lib/lsp/TextIndex.h"

namespace npar::lsp {

struct WrittenName {
  SymbolKind kind;
  std::string name;
};

/// The names that a declaration declares before an offset. For a declaration that is being written: it has no index until its last bracket
/// is closed. Scopes are not followed, so it may list a name that is out of scope.
std::vector<WrittenName> writtenNames(const std::string &text, const Scan &scan, const Declaration &declaration, size_t offset);

} // namespace npar::lsp
