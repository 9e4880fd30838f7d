// Looks a word up in the last good index of its text; a word that is new since then by its name.
#include "tools/lib/lsp/Meaning.h"

#include <algorithm>

namespace npar::lsp {

std::string signatureOf(const Place &declaration, const Scan &scan) {
  const std::string &bytes = declaration.index->text->bytes();
  ByteRange whole = declaration.whole();
  size_t end = whole.end;
  for (size_t i = scan.before(whole.begin + 1); i < scan.tokens().size() && scan.tokens()[i].at.begin < whole.end; ++i)
    if (scan.textOf(i) == "{") {
      end = scan.tokens()[i].at.begin;
      break;
    }
  std::string text = bytes.substr(whole.begin, end - whole.begin);
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

std::string commentOf(const Place &declaration, const Scan &scan) {
  std::string comment = scan.commentAbove(declaration.whole().begin);
  if (!comment.empty())
    return comment;
  // A text with one declaration begins with its comment, before its imports.
  const std::vector<Symbol> &symbols = declaration.index->symbols;
  const bool isOnly = std::none_of(symbols.begin(), symbols.end(), [&](const Symbol &symbol) {
    return symbol.owner < 0 && symbol.kind == declaration->kind && !(symbol.at == declaration->at);
  });
  if (isOnly)
    for (const Token &token : scan.tokens())
      if (token.kind != TokenKind::Comment)
        return scan.commentAbove(token.at.begin);
  return "";
}

static std::optional<Meaning> findMeaning(Workspace &workspace, const std::string &path, size_t offset) {
  TextPointer now = workspace.text(path);
  if (!now)
    return std::nullopt;
  const std::string &bytes = now->bytes();
  Scan scan(bytes);
  std::optional<size_t> token = scan.touching(offset);
  if (!token || scan.tokens()[*token].kind == TokenKind::Comment)
    return std::nullopt;
  Meaning meaning{std::string(scan.textOf(*token)), scan.tokens()[*token].at, {}, std::nullopt, {}};
  IndexPointer index = workspace.index(path);
  if (!index)
    return meaning;
  Difference change(index->text->bytes(), bytes);
  bool kept = meaning.at.end <= change.before || meaning.at.begin >= change.nowEnd;
  if (kept) {
    size_t old = change.toOld(meaning.at.begin);
    if (const Reference *reference = index->referenceAt(old + (meaning.word[0] == '"' ? 1 : 0));
        reference && change.toNow(reference->at.begin) >= meaning.at.begin && change.toNow(reference->at.end) <= meaning.at.end) {
      meaning.use = *reference;
      meaning.symbol = workspace.resolve(path, index, *reference);
      return meaning;
    }
    if (int symbol = index->definedAt(old); symbol >= 0 && index->symbols[static_cast<size_t>(symbol)].name == meaning.word) {
      meaning.symbol = {path, index, symbol};
      return meaning;
    }
  }
  // A word that the last good text did not have: by its name, in the declaration around it, then in all that the text sees.
  if (scan.tokens()[*token].kind != TokenKind::Word)
    return meaning;
  const Declaration *around = scan.declarationAt(offset);
  if (around && around->nameAt == meaning.at)
    return meaning; // a new name
  if (around)
    for (size_t i = 0; i < index->symbols.size(); ++i)
      if (index->symbols[i].owner < 0 && index->symbols[i].name == around->name)
        if (int symbol = index->findIn(static_cast<int>(i), meaning.word); symbol >= 0) {
          meaning.symbol = {path, index, symbol};
          return meaning;
        }
  for (SymbolKind kind : {SymbolKind::Layer, SymbolKind::Model, SymbolKind::Optimizer})
    if (!meaning.symbol)
      meaning.symbol = workspace.find(path, kind, meaning.word);
  if (!meaning.symbol)
    meaning.use = Reference{meaning.at, meaning.word, Want::Word, -1, ""};
  return meaning;
}

std::optional<Meaning> meaningAt(Workspace &workspace, const std::string &path, size_t offset) {
  std::optional<Meaning> meaning = findMeaning(workspace, path, offset);
  if (!meaning || !meaning->symbol)
    return meaning;
  // A value may be assigned several times: the assignment itself, or the last one before the use.
  meaning->definition = meaning->symbol->at;
  TextPointer now = workspace.text(path);
  size_t place = Difference(meaning->symbol.index->text->bytes(), now->bytes()).toOld(meaning->at.begin);
  if (meaning->symbol.path == path)
    for (const ByteRange &definition : meaning->symbol->definitions)
      if (meaning->use ? definition.end <= place : definition.begin <= place)
        meaning->definition = definition;
  return meaning;
}

} // namespace npar::lsp
