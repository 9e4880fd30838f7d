// Keeps an index of each text and follows imports between them.
#include "tools/lib/lsp/Workspace.h"

#include "dsl/elaborate/Library.h"
#include "dsl/parse/Parse.h"
#include "dsl/parse/ReadText.h"
#include "tools/lib/lsp/OpenTexts.h"
#include "tools/lib/lsp/Uri.h"

#include <algorithm>
#include <filesystem>

namespace npar::lsp {

static SyntaxReport tooLong(SyntaxReport report, uint32_t file) {
  dsl::Diagnostic error;
  error.location = {file, 1, 1, 1};
  error.message = "the text has " + std::to_string(report.sources.text(file).size()) + " bytes, at most " +
                  std::to_string(dsl::maximumText) + " are read";
  report.diagnostics.push_back(std::move(error));
  return report;
}

SyntaxReport parseText(const std::string &path, TextPointer text) {
  SyntaxReport report;
  uint32_t file = report.sources.add(path, text->bytes());
  dsl::Diagnostics diagnostics(report.sources);
  if (text->bytes().size() > dsl::maximumText)
    return tooLong(std::move(report), file);
  if (std::unique_ptr<dsl::ast::File> tree = dsl::parseFile(file, report.sources, diagnostics))
    report.index = std::make_shared<const TextIndex>(indexOf(*tree, report.sources, std::move(text)));
  report.diagnostics = diagnostics.all();
  return report;
}

SyntaxReport Workspace::open(const std::string &path, TextPointer text) {
  if (!isOpen(path))
    forgetDisk(); // it may be what an import means
  texts[path] = text;
  provided = nullptr;
  SyntaxReport report = parseText(path, text);
  Known &entry = known[path];
  entry.text = text;
  if (report.index)
    entry.index = report.index;
  return report;
}

void Workspace::close(const std::string &path) {
  texts.erase(path);
  provided = nullptr;
  forgetDisk();
}

void Workspace::forgetDisk() {
  layers.clear();
  resolved.clear();
  for (auto &[path, entry] : known)
    entry.looked = {};
}

TextPointer Workspace::text(const std::string &path) const {
  auto found = texts.find(path);
  return found == texts.end() ? nullptr : found->second;
}

dsl::TextsPointer Workspace::provider() const {
  if (!provided)
    provided = withOpenTexts(texts);
  return provided;
}

IndexPointer Workspace::index(const std::string &path) {
  if (isOpen(path))
    return known[path].index;
  if (auto before = known.find(path); before != known.end() && isFresh(before->second.looked))
    return before->second.index;
  std::string why;
  std::optional<std::string> bytes = provider()->read(path, dsl::maximumText, why);
  if (!bytes)
    return nullptr;
  Known &entry = known[path];
  entry.looked = Clock::now();
  if (!entry.text || entry.text->bytes() != *bytes) {
    entry.text = std::make_shared<const Text>(std::move(*bytes));
    if (IndexPointer fresh = parseText(path, entry.text).index)
      entry.index = fresh;
  }
  return entry.index;
}

std::string Workspace::imported(const std::string &path, const std::string &name) const {
  auto before = resolved.find({path, name});
  if (before != resolved.end() && isFresh(before->second.looked))
    return before->second.path;
  std::string found = dsl::Library::resolve(*provider(), search, path, name);
  if (!found.empty()) {
    const std::string key = provider()->key(found);
    found = plainPath(found);
    for (const auto &[open, text] : texts) // the same text by the path that the editor uses
      if (provider()->key(open) == key)
        found = open;
  }
  resolved[{path, name}] = {found, Clock::now()};
  return found;
}

std::vector<std::pair<std::string, IndexPointer>> Workspace::reach(const std::string &path) {
  std::vector<std::pair<std::string, IndexPointer>> result;
  std::set<std::string> seen{path};
  if (IndexPointer own = index(path))
    result.push_back({path, own});
  for (size_t i = 0; i < result.size() && result.size() < 256; ++i)
    for (const std::string &name : IndexPointer(result[i].second)->imports) {
      std::string found = imported(result[i].first, name);
      if (!found.empty() && seen.insert(found).second)
        if (IndexPointer text = index(found))
          result.push_back({found, text});
    }
  return result;
}

std::vector<std::string> Workspace::openUsersOf(const std::string &path) {
  std::vector<std::string> users;
  for (const auto &[open, text] : std::map<std::string, TextPointer>(texts))
    if (open != path)
      for (const auto &[seen, index] : reach(open))
        if (seen == path) {
          users.push_back(open);
          break;
        }
  return users;
}

Place Workspace::find(const std::string &path, SymbolKind kind, const std::string &name) {
  for (const auto &[seen, text] : reach(path))
    if (int symbol = text->find(kind, name); symbol >= 0)
      return {seen, text, symbol};
  if (kind == SymbolKind::Optimizer)
    for (const std::string &root : search) {
      std::string own = root + "/optimizers/" + name + ".npar";
      IndexPointer text = name.find('/') == std::string::npos ? index(own) : nullptr;
      if (int symbol = text ? text->find(kind, name) : -1; symbol >= 0)
        return {own, text, symbol};
    }
  return {};
}

Place Workspace::axisOf(const std::string &path, const std::string &model, const std::string &name) {
  auto isAxis = [](const Symbol &symbol) { return symbol.kind == SymbolKind::Axis || symbol.kind == SymbolKind::Repeat; };
  if (Place of = find(path, SymbolKind::Model, model))
    if (int symbol = of.index->findIn(of.symbol, name); symbol >= 0 && isAxis(of.index->symbols[static_cast<size_t>(symbol)]))
      return {of.path, of.index, symbol};
  for (const auto &[seen, text] : reach(path)) // of a layer, or of any model for a plan without one
    for (size_t i = 0; i < text->symbols.size(); ++i)
      if (text->symbols[i].name == name && isAxis(text->symbols[i]))
        return {seen, text, static_cast<int>(i)};
  return {};
}

Place Workspace::resolve(const std::string &path, const IndexPointer &index, const Reference &reference) {
  auto inside = [&](const Place &owner) {
    int symbol = owner ? owner.index->findIn(owner.symbol, reference.name) : -1;
    return symbol < 0 ? Place() : Place{owner.path, owner.index, symbol};
  };
  if (reference.want == Want::Symbol)
    return {path, index, reference.symbol};
  if (reference.want == Want::Callee)
    return find(path, SymbolKind::Layer, reference.name);
  if (reference.want == Want::Model)
    return find(path, SymbolKind::Model, reference.name);
  if (reference.want == Want::Optimizer)
    return find(path, SymbolKind::Optimizer, reference.name);
  if (reference.want == Want::Axis)
    return axisOf(path, reference.of, reference.name);
  if (reference.want == Want::Input)
    return inside(find(path, SymbolKind::Model, reference.of));
  if (reference.want == Want::Member)
    return inside(find(path, SymbolKind::Layer, reference.of));
  if (reference.want == Want::Constant)
    for (SymbolKind kind : {SymbolKind::Layer, SymbolKind::Optimizer, SymbolKind::Model})
      if (Place found = inside(find(path, kind, reference.of)))
        return found;
  return {};
}

std::vector<std::string> Workspace::libraryNames(const std::string &folder) const {
  std::vector<std::string> names;
  for (const std::string &root : search)
    for (const std::string &text : provider()->textsIn(root + "/" + folder))
      names.push_back(std::filesystem::path(text).stem().string());
  return names;
}

const std::vector<std::pair<std::string, std::string>> &Workspace::importableLayers() {
  if (!layers.empty())
    return layers;
  for (const std::string &root : search)
    for (const std::string &path : provider()->textsIn(root + "/layers"))
      if (IndexPointer text = index(path))
        for (const Symbol &symbol : text->symbols)
          if (symbol.kind == SymbolKind::Layer)
            layers.push_back({symbol.name, std::filesystem::path(path).stem().string()});
  return layers;
}

std::vector<std::pair<std::string, ByteRange>> Workspace::usesOf(const Place &symbol) {
  std::vector<std::pair<std::string, ByteRange>> uses;
  for (const ByteRange &at : symbol->definitions)
    uses.push_back({symbol.path, at});
  std::set<std::string> paths;
  for (const auto &[open, text] : std::map<std::string, TextPointer>(texts))
    for (const auto &[seen, index] : reach(open))
      paths.insert(seen);
  paths.insert(symbol.path);
  for (const std::string &path : paths)
    if (IndexPointer text = index(path))
      for (const Reference &reference : text->references)
        if (reference.name == symbol->name && same(resolve(path, text, reference), symbol))
          uses.push_back({path, reference.at});
  return uses;
}

} // namespace npar::lsp
