// Collects the diagnostics of all choices of all analyses that concern a text, each once.
#include "tools/npar/lsp/Problems.h"

#include "tools/lib/lsp/Uri.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace npar::driver {
namespace {

/// A diagnostic with the texts that it points into. `root`: the text that takes it if it has no place.
struct Problem {
  const dsl::Diagnostic *diagnostic = nullptr;
  const dsl::Sources *sources = nullptr;
  const std::string *root = nullptr;

  /// The text that it is about.
  std::string path(const dsl::Location &at) const { return isInText(at) ? lsp::plainPath(sources->name(at.file)) : *root; }
  bool isInText(const dsl::Location &at) const { return at.file < sources->size() && at.line != 0 && isText(sources->name(at.file)); }
  /// Options have names like `--plan`, and texts inside this program are no files.
  static bool isText(const std::string &name) { return name.rfind("--", 0) != 0 && name.rfind(dsl::embeddedLibrary, 0) != 0; }
};

void forEach(ServerState &state, const std::function<void(const Problem &)> &visit) {
  for (const auto &[path, document] : state.documents)
    for (const dsl::Diagnostic &one : document.syntax.diagnostics)
      visit({&one, &document.syntax.sources, &path});
  for (const auto &[path, analysis] : state.facts.all())
    for (const lsp::ElaboratedPointer &choice : analysis.choices)
      for (const dsl::Diagnostic &one : choice->diagnostics)
        visit({&one, choice->sources.get(), &analysis.path});
}

/// The bytes of a location in the current text; nothing if they have been changed since.
std::optional<lsp::ByteRange> rangeNow(ServerState &state, const Problem &problem, const dsl::Location &at) {
  lsp::TextPointer now = state.text(problem.path(at));
  if (!now)
    return std::nullopt;
  if (!problem.isInText(at))
    return lsp::ByteRange{0, 0};
  dsl::Span span = problem.sources->span(at);
  lsp::Difference change(problem.sources->text(at.file), now->bytes());
  if (!change.keeps({span.begin, span.end}))
    return std::nullopt;
  return lsp::ByteRange{change.toNow(span.begin), change.toNow(span.end)};
}

int severityOf(dsl::Severity severity) {
  switch (severity) {
  case dsl::Severity::Error:
    return 1;
  case dsl::Severity::Warning:
    return 2;
  case dsl::Severity::Note:
    return 3;
  case dsl::Severity::Help:
    return 4;
  }
  return 1;
}

/// Message and helps; notes with a place are related information.
json::Value problemJson(ServerState &state, const Problem &problem, const lsp::Text &text, lsp::ByteRange range) {
  const dsl::Diagnostic &one = *problem.diagnostic;
  std::string message = one.message;
  json::Array related;
  for (const dsl::Diagnostic &part : one.parts) {
    std::optional<lsp::ByteRange> there = part.location.line != 0 ? rangeNow(state, problem, part.location) : std::nullopt;
    lsp::TextPointer other = there ? state.text(problem.path(part.location)) : nullptr;
    if (part.severity == dsl::Severity::Help || !other)
      message += (part.severity == dsl::Severity::Help ? "\nhelp: " : "\nnote: ") + part.message;
    else
      related.push_back(json::Object{{"location", json::Object{{"uri", toJson(state.uri(problem.path(part.location)))},
                                                               {"range", toJson(*other, *there, state.encoding)}}},
                                     {"message", toJson(part.message)}});
  }
  const std::string &code = one.code;
  if (!code.empty())
    message += "\n`npar explain-code " + code + "` explains it";
  json::Object object{{"range", toJson(text, range, state.encoding)},
                      {"severity", severityOf(one.severity)},
                      {"source", "npar"},
                      {"message", toJson(message)}};
  if (!related.empty())
    object["relatedInformation"] = std::move(related);
  if (!code.empty())
    object["code"] = code;
  return object;
}

/// The diagnostics of a text with their current bytes, each once.
void forEachOf(ServerState &state, const std::string &path, const std::function<void(const Problem &, lsp::ByteRange)> &visit) {
  auto document = state.documents.find(path);
  bool broken = document != state.documents.end() && !document->second.syntax.index;
  std::set<std::tuple<size_t, size_t, std::string>> seen;
  forEach(state, [&](const Problem &problem) {
    if (problem.path(problem.diagnostic->location) != path)
      return;
    if (broken && problem.sources != &document->second.syntax.sources)
      return; // until its syntax is right, what was wrong before is not known to be
    std::optional<lsp::ByteRange> range = rangeNow(state, problem, problem.diagnostic->location);
    if (range && seen.insert({range->begin, range->end, problem.diagnostic->message}).second)
      visit(problem, *range);
  });
}

} // namespace

std::set<std::string> textsWithProblems(ServerState &state) {
  std::set<std::string> paths;
  forEach(state, [&](const Problem &problem) { paths.insert(problem.path(problem.diagnostic->location)); });
  return paths;
}

json::Value problemsOf(ServerState &state, const std::string &path) {
  json::Array problems;
  if (lsp::TextPointer text = state.text(path))
    forEachOf(state, path,
              [&](const Problem &problem, lsp::ByteRange range) { problems.push_back(problemJson(state, problem, *text, range)); });
  json::Object parameters{{"uri", toJson(state.uri(path))}, {"diagnostics", std::move(problems)}};
  if (auto document = state.documents.find(path); document != state.documents.end())
    parameters["version"] = document->second.version;
  return parameters;
}

json::Value codeActions(ServerState &state, const std::string &path, lsp::ByteRange wanted) {
  json::Array actions;
  lsp::TextPointer text = state.text(path);
  if (!text)
    return actions;
  forEachOf(state, path, [&](const Problem &problem, lsp::ByteRange range) {
    if (range.end < wanted.begin || range.begin > wanted.end)
      return;
    bool preferred = true; // the first likely fix
    for (const dsl::Fix &fix : problem.diagnostic->fixes) {
      std::map<std::string, json::Array> changes;
      bool whole = true;
      for (const dsl::Fix::Edit &edit : fix.edits) {
        const std::string name = lsp::plainPath(problem.sources->name(edit.span.file));
        lsp::TextPointer target = Problem::isText(name) ? state.text(name) : nullptr;
        if (!target) {
          whole = false;
          break;
        }
        lsp::Difference change(problem.sources->text(edit.span.file), target->bytes());
        whole &= change.keeps({edit.span.begin, edit.span.end});
        lsp::ByteRange now{change.toNow(edit.span.begin), change.toNow(edit.span.end)};
        changes[state.uri(name)].push_back(json::Object{{"range", toJson(*target, now, state.encoding)}, {"newText", toJson(edit.text)}});
      }
      if (!whole)
        continue;
      json::Object edits;
      for (auto &[uri, list] : changes)
        edits[uri] = std::move(list);
      json::Object action{{"title", toJson(fix.title)},
                          {"kind", "quickfix"},
                          {"diagnostics", json::Array{problemJson(state, problem, *text, range)}},
                          {"edit", json::Object{{"changes", std::move(edits)}}}};
      if (fix.trust == dsl::Fix::Trust::Likely && preferred) {
        action["isPreferred"] = true;
        preferred = false;
      }
      actions.push_back(std::move(action));
    }
  });
  return actions;
}

} // namespace npar::driver
