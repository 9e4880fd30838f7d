// Converts positions to bytes, asks the library, and converts back.
#include "tools/npar/lsp/Answers.h"

#include "compiler/import/KnownSchedules.h"
#include "dsl/format/Format.h"
#include "tools/lib/lsp/Completion.h"
#include "tools/lib/lsp/Hover.h"
#include "tools/lib/lsp/Meaning.h"
#include "tools/lib/lsp/Outline.h"
#include "tools/lib/lsp/Uri.h"
#include "tools/npar/lsp/Problems.h"

#include <algorithm>

namespace npar::driver {
namespace {

/// The text and the offset that a request is about.
struct Spot {
  std::string path;
  lsp::TextPointer text;
  size_t offset = 0;
};

Spot textOf(ServerState &state, const json::Value &parameters) {
  Spot spot;
  spot.path = lsp::pathOf(stringAt(parameters, "textDocument", "uri"));
  spot.text = state.workspace.text(spot.path);
  if (!spot.text)
    throw InvalidMessage{"the document is not open"};
  return spot;
}

Spot spotOf(ServerState &state, const json::Value &parameters) {
  Spot spot = textOf(state, parameters);
  spot.offset = spot.text->offset(positionOf(member(parameters, "position")), state.encoding);
  return spot;
}

lsp::ByteRange rangeOf(ServerState &state, const lsp::Text &text, const json::Value *range) {
  if (!range)
    throw InvalidMessage{"a range is missing"};
  return {text.offset(positionOf(member(*range, "start")), state.encoding), text.offset(positionOf(member(*range, "end")), state.encoding)};
}

/// The place of a range of an index in the current text.
json::Value locationOf(ServerState &state, const std::string &path, const lsp::TextPointer &indexed, lsp::ByteRange range) {
  lsp::TextPointer now = state.text(path);
  if (!now)
    return nullptr;
  lsp::Difference change(indexed->bytes(), now->bytes());
  size_t begin = change.toNow(range.begin);
  return json::Object{{"uri", toJson(state.uri(path))},
                      {"range", toJson(*now, {begin, std::max(begin, change.toNow(range.end))}, state.encoding)}};
}

bool isFile(const std::string &path) { return path.rfind(dsl::embeddedLibrary, 0) != 0; }

int symbolKind(lsp::SymbolKind kind) { // of the protocol
  using lsp::SymbolKind;
  switch (kind) {
  case SymbolKind::Layer:
  case SymbolKind::Model:
    return 5; // class
  case SymbolKind::Train:
  case SymbolKind::Plan:
  case SymbolKind::Config:
  case SymbolKind::Family:
  case SymbolKind::Machine:
  case SymbolKind::Data:
    return 3; // namespace
  case SymbolKind::Optimizer:
    return 12; // function
  case SymbolKind::Constant:
    return 14;
  case SymbolKind::Axis:
  case SymbolKind::MeshAxis:
    return 10; // enum
  case SymbolKind::Input:
  case SymbolKind::Value:
  case SymbolKind::Measure:
    return 13; // variable
  case SymbolKind::Parameter:
  case SymbolKind::State:
    return 8; // field
  case SymbolKind::Instance:
    return 19; // object
  case SymbolKind::Repeat:
    return 18; // array
  }
  return 13;
}

int completionKind(lsp::CompletionKind kind) { // of the protocol
  using lsp::CompletionKind;
  switch (kind) {
  case CompletionKind::Keyword:
    return 14;
  case CompletionKind::Axis:
  case CompletionKind::MeshAxis:
    return 20; // enum member
  case CompletionKind::Layer:
  case CompletionKind::Model:
    return 7; // class
  case CompletionKind::Operation:
  case CompletionKind::Function:
  case CompletionKind::Optimizer:
    return 3; // function
  case CompletionKind::Value:
    return 6; // variable
  case CompletionKind::Constant:
    return 21;
  case CompletionKind::Schedule:
    return 12; // value
  case CompletionKind::Text:
    return 17; // file
  case CompletionKind::Type:
    return 25; // type parameter
  }
  return 1;
}

json::Value outlineJson(ServerState &state, const lsp::Text &text, const lsp::OutlineItem &item) {
  json::Array children;
  for (const lsp::OutlineItem &child : item.children)
    children.push_back(outlineJson(state, text, child));
  return json::Object{{"name", toJson(item.name)},
                      {"detail", toJson(item.detail)},
                      {"kind", symbolKind(item.kind)},
                      {"range", toJson(text, item.whole, state.encoding)},
                      {"selectionRange", toJson(text, item.at, state.encoding)},
                      {"children", std::move(children)}};
}

/// The beginning of the line where an import goes: after the last one, or before the first declaration.
size_t importPlace(const lsp::Text &text) {
  lsp::Scan scan(text.bytes());
  std::optional<size_t> after, before;
  for (const lsp::Declaration &one : scan.declarations())
    if (one.keyword == "import")
      after = one.nameAt.end;
    else if (!before)
      before = one.whole.begin;
  size_t line = after ? text.lineOf(*after) + 1 : before ? text.lineOf(*before) : text.lineOf(text.bytes().size());
  return line < text.lineCount() ? text.line(line).begin : text.bytes().size();
}

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const dsl::KnownSchedule &kind : compiler::knownSchedules().kinds)
    names.push_back(kind.name);
  return names;
}

} // namespace

json::Value answerHover(ServerState &state, const json::Value &parameters) {
  Spot spot = spotOf(state, parameters);
  std::optional<lsp::HoverText> hover = lsp::hoverAt(state.workspace, state.facts, spot.path, spot.offset);
  if (!hover)
    return nullptr;
  return json::Object{{"contents", json::Object{{"kind", "markdown"}, {"value", toJson(hover->markdown)}}},
                      {"range", toJson(*spot.text, hover->at, state.encoding)}};
}

json::Value answerDefinition(ServerState &state, const json::Value &parameters) {
  Spot spot = spotOf(state, parameters);
  std::optional<lsp::Meaning> meaning = lsp::meaningAt(state.workspace, spot.path, spot.offset);
  if (!meaning)
    return nullptr;
  if (meaning->use && meaning->use->want == lsp::Want::Text) {
    std::string path = state.workspace.imported(spot.path, meaning->use->name);
    if (path.empty() || !isFile(path))
      return nullptr;
    return json::Object{{"uri", toJson(state.uri(path))}, {"range", toJson(lsp::Text(""), {0, 0}, state.encoding)}};
  }
  if (!meaning->symbol || !isFile(meaning->symbol.path))
    return nullptr;
  return locationOf(state, meaning->symbol.path, meaning->symbol.index->text, meaning->definition);
}

json::Value answerReferences(ServerState &state, const json::Value &parameters) {
  Spot spot = spotOf(state, parameters);
  json::Array places;
  std::optional<lsp::Meaning> meaning = lsp::meaningAt(state.workspace, spot.path, spot.offset);
  if (!meaning || !meaning->symbol)
    return places;
  const json::Value *declarations = member(parameters, "context", "includeDeclaration");
  bool withDefinitions = !declarations || declarations->getAsBoolean().value_or(true);
  size_t definitions = meaning->symbol->definitions.size(), number = 0;
  for (const auto &[path, range] : state.workspace.usesOf(meaning->symbol))
    if ((number++ >= definitions || withDefinitions) && isFile(path))
      if (lsp::IndexPointer index = state.workspace.index(path))
        if (json::Value place = locationOf(state, path, index->text, range); place.kind() != json::Value::Null)
          places.push_back(std::move(place));
  return places;
}

json::Value answerHighlight(ServerState &state, const json::Value &parameters) {
  Spot spot = spotOf(state, parameters);
  json::Array places;
  std::optional<lsp::Meaning> meaning = lsp::meaningAt(state.workspace, spot.path, spot.offset);
  if (!meaning || !meaning->symbol)
    return places;
  for (const auto &[path, range] : state.workspace.usesOf(meaning->symbol))
    if (path == spot.path)
      if (lsp::IndexPointer index = state.workspace.index(path)) {
        json::Value place = locationOf(state, path, index->text, range);
        if (const json::Value *at = member(place, "range"))
          places.push_back(json::Object{{"range", *at}});
      }
  return places;
}

json::Value answerSymbols(ServerState &state, const json::Value &parameters) {
  Spot spot = textOf(state, parameters);
  json::Array symbols;
  if (lsp::IndexPointer index = state.workspace.index(spot.path))
    for (const lsp::OutlineItem &item : lsp::outlineOf(*index, *spot.text))
      symbols.push_back(outlineJson(state, *spot.text, item));
  return symbols;
}

json::Value answerCompletion(ServerState &state, const json::Value &parameters) {
  Spot spot = spotOf(state, parameters);
  lsp::Completions found = lsp::completionsAt(state.workspace, spot.path, spot.offset, scheduleNames());
  json::Value range = toJson(*spot.text, found.word, state.encoding);
  size_t place = importPlace(*spot.text);
  json::Value importRange = toJson(*spot.text, {place, place}, state.encoding);
  json::Array items;
  for (const lsp::CompletionItem &item : found.items) {
    std::string order = std::to_string(items.size());
    json::Object object{{"label", toJson(item.label)},
                        {"kind", completionKind(item.kind)},
                        {"sortText", std::string(5 - std::min<size_t>(5, order.size()), '0') + order},
                        {"textEdit", json::Object{{"range", range}, {"newText", toJson(item.label)}}}};
    if (!item.detail.empty())
      object["detail"] = toJson(item.detail);
    if (!item.documentation.empty())
      object["documentation"] = json::Object{{"kind", "markdown"}, {"value", toJson(item.documentation)}};
    if (!item.import.empty())
      object["additionalTextEdits"] =
          json::Array{json::Object{{"range", importRange}, {"newText", toJson("import \"" + item.import + "\"\n")}}};
    items.push_back(std::move(object));
  }
  return json::Object{{"isIncomplete", false}, {"items", std::move(items)}};
}

json::Value answerHints(ServerState &state, const json::Value &parameters) {
  Spot spot = textOf(state, parameters);
  lsp::ByteRange wanted = rangeOf(state, *spot.text, member(parameters, "range"));
  json::Array hints;
  std::set<size_t> taken; // lines
  for (const lsp::ElaboratedPointer &choice : state.facts.choicesSeeing(spot.path)) {
    std::optional<uint32_t> file = lsp::fileOf(*choice, spot.path);
    if (!choice->effects || choice->effects->file != spot.path || !file)
      continue;
    lsp::Text then(choice->sources->text(*file));
    lsp::Difference change(then.bytes(), spot.text->bytes());
    for (const annotate::AnnotatedLine &line : choice->effects->lines) {
      lsp::ByteRange old = then.line(line.line - 1);
      if (line.effects.empty() || !change.keeps(old))
        continue;
      size_t number = spot.text->lineOf(change.toNow(old.begin));
      lsp::ByteRange now = spot.text->line(number);
      if (now.end < wanted.begin || now.begin > wanted.end || !taken.insert(number).second)
        continue;
      std::string label;
      for (const std::string &effect : line.effects)
        label += (label.empty() ? "" : "; ") + effect;
      hints.push_back(json::Object{{"position", toJson(spot.text->position(now.end, state.encoding))},
                                   {"label", toJson(label)},
                                   {"paddingLeft", true},
                                   {"tooltip", "what this line does, as `npar inspect annotate` prints it"}});
    }
  }
  return hints;
}

json::Value answerFormatting(ServerState &state, const json::Value &parameters) {
  Spot spot = textOf(state, parameters);
  json::Array edits;
  if (std::optional<std::string> text = dsl::format(spot.text->bytes()); text && *text != spot.text->bytes())
    edits.push_back(
        json::Object{{"range", toJson(*spot.text, {0, spot.text->bytes().size()}, state.encoding)}, {"newText", toJson(*text)}});
  return edits;
}

json::Value answerCodeAction(ServerState &state, const json::Value &parameters) {
  Spot spot = textOf(state, parameters);
  return codeActions(state, spot.path, rangeOf(state, *spot.text, member(parameters, "range")));
}

} // namespace npar::driver
