#include "tools/lib/models/DiagnosticsJson.h"

namespace npar::models {

static OrderedJson jsonOf(const dsl::Diagnostic &diagnostic, const dsl::Sources &sources) {
  static const char *const severities[] = {"error", "warning", "note", "help"};
  OrderedJson json = {{"severity", severities[static_cast<int>(diagnostic.severity)]}, {"message", diagnostic.message}};
  const dsl::Location &at = diagnostic.location;
  if (at.file < sources.size()) {
    dsl::Span span = sources.span(at);
    json["at"] = {{"file", sources.name(at.file)}, {"line", at.line}, {"column", at.column}, {"begin", span.begin}, {"end", span.end}};
  }
  return json;
}

static OrderedJson jsonOf(const dsl::Fix &fix, const dsl::Sources &sources) {
  OrderedJson edits = OrderedJson::array();
  for (const dsl::Fix::Edit &edit : fix.edits)
    edits.push_back({{"file", sources.name(edit.span.file)}, {"begin", edit.span.begin}, {"end", edit.span.end}, {"text", edit.text}});
  return {{"title", fix.title}, {"trust", fix.trust == dsl::Fix::Trust::Likely ? "likely" : "template"}, {"edits", edits}};
}

OrderedJson diagnosticsJson(const dsl::Diagnostics &diagnostics, const dsl::Sources &sources) {
  OrderedJson all = OrderedJson::array();
  for (const dsl::Diagnostic &diagnostic : diagnostics.all()) {
    OrderedJson json = jsonOf(diagnostic, sources);
    if (!diagnostic.code.empty())
      json["code"] = diagnostic.code;
    json["notes"] = OrderedJson::array();
    for (const dsl::Diagnostic &part : diagnostic.parts)
      json["notes"].push_back(jsonOf(part, sources));
    json["fixes"] = OrderedJson::array();
    for (const dsl::Fix &fix : diagnostic.fixes)
      json["fixes"].push_back(jsonOf(fix, sources));
    all.push_back(std::move(json));
  }
  return all;
}

} // namespace npar::models
