// The declarations of a text as a tree.
#pragma once

#include "tools/lib/lsp/TextIndex.h"

namespace npar::lsp {

struct OutlineItem {
  std::string name, detail;
  SymbolKind kind = SymbolKind::Model;
  ByteRange whole, at; ///< in `now`
  std::vector<OutlineItem> children;
};

/// `index`: of the last text without errors; `now`: the current text.
std::vector<OutlineItem> outlineOf(const TextIndex &index, const Text &now);

} // namespace npar::lsp
