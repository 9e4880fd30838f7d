// Lists top-level symbols with what they declare.
#include "tools/lib/lsp/Outline.h"

#include <algorithm>

namespace npar::lsp {

std::vector<OutlineItem> outlineOf(const TextIndex &index, const Text &now) {
  Difference change(index.text->bytes(), now.bytes());
  auto toNow = [&](ByteRange range) {
    size_t begin = change.toNow(range.begin);
    return ByteRange{begin, std::max(begin, change.toNow(range.end))};
  };
  std::vector<OutlineItem> outline;
  std::vector<int> places(index.symbols.size(), -1);
  for (size_t i = 0; i < index.symbols.size(); ++i) {
    const Symbol &symbol = index.symbols[i];
    bool isTop = symbol.owner < 0;
    if (symbol.definitions.empty() || (!isTop && places[static_cast<size_t>(symbol.owner)] < 0))
      continue;
    if (!isTop && symbol.kind == SymbolKind::Value)
      continue;
    OutlineItem item{symbol.name, wordOf(symbol.kind), symbol.kind, toNow(index.wholes[i]), toNow(symbol.at), {}};
    if (!symbol.layer.empty())
      item.detail = symbol.kind == SymbolKind::Instance ? symbol.layer : item.detail + " for " + symbol.layer;
    item.whole = {std::min(item.whole.begin, item.at.begin), std::max(item.whole.end, item.at.end)};
    if (isTop) {
      places[i] = static_cast<int>(outline.size());
      outline.push_back(std::move(item));
    } else {
      outline[static_cast<size_t>(places[static_cast<size_t>(symbol.owner)])].children.push_back(std::move(item));
    }
  }
  std::stable_sort(outline.begin(), outline.end(), [](const OutlineItem &a, const OutlineItem &b) { return a.at.begin < b.at.begin; });
  return outline;
}

} // namespace npar::lsp
