// Finds symbols and uses of names in an index.
#include "tools/lib/lsp/TextIndex.h"

namespace npar::lsp {

const char *wordOf(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Layer:
    return "layer";
  case SymbolKind::Model:
    return "model";
  case SymbolKind::Train:
    return "train";
  case SymbolKind::Optimizer:
    return "optimizer";
  case SymbolKind::Plan:
    return "plan";
  case SymbolKind::Config:
    return "config";
  case SymbolKind::Family:
    return "family";
  case SymbolKind::Machine:
    return "machine";
  case SymbolKind::Data:
    return "data";
  case SymbolKind::Constant:
    return "constant";
  case SymbolKind::Axis:
    return "axis";
  case SymbolKind::MeshAxis:
    return "mesh axis";
  case SymbolKind::Input:
    return "input";
  case SymbolKind::Parameter:
    return "param";
  case SymbolKind::State:
    return "state";
  case SymbolKind::Instance:
    return "layer call";
  case SymbolKind::Value:
    return "value";
  case SymbolKind::Repeat:
    return "repeat";
  case SymbolKind::Measure:
    return "measure";
  }
  return "";
}

int TextIndex::definedAt(size_t offset) const {
  for (size_t i = 0; i < symbols.size(); ++i)
    for (const ByteRange &at : symbols[i].definitions)
      if (at.holds(offset))
        return static_cast<int>(i);
  return -1;
}

const Reference *TextIndex::referenceAt(size_t offset) const {
  for (const Reference &reference : references)
    if (reference.at.holds(offset))
      return &reference;
  return nullptr;
}

int TextIndex::find(SymbolKind kind, const std::string &name) const {
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].kind == kind && symbols[i].owner < 0 && symbols[i].name == name)
      return static_cast<int>(i);
  return -1;
}

int TextIndex::findIn(int owner, const std::string &name) const {
  int found = -1;
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].owner == owner && symbols[i].name == name && (found < 0 || symbols[i].kind == SymbolKind::Axis))
      found = static_cast<int>(i);
  return found;
}

} // namespace npar::lsp
