// Prints located messages: one head line each, for errors and warnings the line of the text with a caret under it.
#include "dsl/Diagnostics.h"

#include <algorithm>
#include <ostream>

namespace npar::dsl {

uint32_t Sources::add(std::string name, std::string text) {
  std::vector<size_t> starts{0};
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1))
    starts.push_back(end + 1);
  files.push_back({std::move(name), std::move(text), std::move(starts)});
  return static_cast<uint32_t>(files.size() - 1);
}

std::string Sources::line(uint32_t file, uint32_t line) const {
  if (file >= files.size() || line == 0 || line > files[file].starts.size())
    return {};
  const std::string &text = files[file].text;
  size_t begin = files[file].starts[line - 1];
  size_t end = std::min(text.find('\n', begin), text.size());
  if (end > begin && text[end - 1] == '\r')
    --end;
  return text.substr(begin, end - begin);
}

Span Sources::span(const Location &at) const {
  if (at.file >= files.size() || at.line == 0 || at.line > files[at.file].starts.size())
    return {at.file, 0, 0};
  const std::string &text = files[at.file].text;
  auto after = [&](size_t place, size_t characters) {
    for (; characters > 0 && place < text.size(); --characters)
      do
        ++place;
      while (place < text.size() && (static_cast<unsigned char>(text[place]) & 0xC0) == 0x80);
    return place;
  };
  size_t begin = after(files[at.file].starts[at.line - 1], at.column == 0 ? 0 : at.column - 1);
  return {at.file, begin, after(begin, at.length)};
}

std::string edited(const std::string &text, const std::vector<Fix::Edit> &edits) {
  std::string result;
  size_t done = 0;
  for (const Fix::Edit &edit : edits) {
    result += text.substr(done, edit.span.begin - done) + edit.text;
    done = edit.span.end;
  }
  return result + text.substr(done);
}

Diagnostic &Diagnostic::note(Location at, std::string text) {
  parts.push_back({Severity::Note, at, std::move(text), {}, {}, {}});
  return *this;
}

Diagnostic &Diagnostic::help(Location at, std::string text) {
  parts.push_back({Severity::Help, at, std::move(text), {}, {}, {}});
  return *this;
}

Diagnostic &Diagnostics::error(Code code, Location at, std::string message) {
  ++errors;
  list.push_back({Severity::Error, at, std::move(message), {}, {}, nameOf(code)});
  return list.back();
}

Diagnostic &Diagnostics::warning(Location at, std::string message) {
  list.push_back({Severity::Warning, at, std::move(message), {}, {}, {}});
  return list.back();
}

void Diagnostics::offer(Diagnostic &diagnostic, Location at, const std::string &wrong, const std::string &right) const {
  if (at.file >= sources.size() || at.line == 0)
    return;
  Span span = sources.span(at);
  const std::string there = sources.text(span);
  if (there == '"' + wrong + '"')
    ++span.begin, --span.end;
  else if (there != wrong)
    return;
  diagnostic.fixes.push_back({"write '" + right + "'", Fix::Trust::Likely, {{span, right}}});
}

void Diagnostics::offerAfter(Diagnostic &diagnostic, Location at, const std::string &text) const {
  if (at.file >= sources.size() || at.line == 0)
    return;
  size_t place = sources.span(at).end;
  diagnostic.fixes.push_back({"add '" + text + "'", Fix::Trust::Likely, {{{at.file, place, place}, text}}});
}

void Diagnostics::offerLine(Diagnostic &diagnostic, uint32_t file, const std::string &line) const {
  diagnostic.fixes.push_back({"add '" + line + "'", Fix::Trust::Likely, {{{file, 0, 0}, line + "\n"}}});
}

namespace {

constexpr size_t widest = 140; // characters of a source line that are shown

/// The characters of a line from number `from` on, at most `most`, each as its bytes; tabs and control characters take one column.
std::vector<std::string> characters(const std::string &line, size_t from, size_t most) {
  std::vector<std::string> result;
  size_t number = 0; // of characters begun
  for (unsigned char c : line) {
    bool inside = (c & 0xC0) == 0x80 && number > 0;
    if (!inside && ++number > from + most)
      break;
    if (number <= from)
      continue;
    if (inside)
      result.back() += static_cast<char>(c);
    else if (c == '\t')
      result.emplace_back(" ");
    else
      result.emplace_back(1, c < 0x20 || c == 0x7F ? '?' : static_cast<char>(c));
  }
  return result;
}

/// Names of files, and words of texts in other formats, may have line breaks: a head has one line.
std::string onOneLine(const std::string &text) {
  std::string line;
  for (char c : text)
    if (c == '\n' || c == '\r')
      line += c == '\n' ? "\\u000a" : "\\u000d";
    else
      line += c;
  return line;
}

void printHead(std::ostream &out, const Sources &sources, const Diagnostic &d) {
  static const char *const words[] = {"error", "warning", "note", "help"};
  if (d.location.file < sources.size())
    out << onOneLine(sources.name(d.location.file)) << ':';
  if (d.location.line != 0)
    out << d.location.line << ':' << d.location.column << ':';
  out << (d.location.file < sources.size() ? " " : "") << words[static_cast<int>(d.severity)] << ": " << onOneLine(d.message)
      << (d.code.empty() ? "" : " [" + d.code + "]") << '\n';
}

/// The source line without its indentation, clipped around the caret, and the caret with tildes below it.
void printLine(std::ostream &out, const Sources &sources, Location at) {
  if (at.file >= sources.size() || at.line == 0)
    return;
  std::string text = sources.line(at.file, at.line);
  if (text.empty())
    return;
  size_t caret = at.column == 0 ? 0 : at.column - 1;
  size_t begin = std::min({text.find_first_not_of(" \t"), caret, text.size()});
  bool clippedLeft = caret - std::min(begin, caret) > widest / 2;
  if (clippedLeft)
    begin = caret - widest / 4;
  std::vector<std::string> line = characters(text, begin, widest + 1);
  size_t shown = std::min(line.size(), widest);
  std::string indent = clippedLeft ? "   ..." : "   ";
  out << indent;
  for (size_t i = 0; i < shown; ++i)
    out << line[i];
  out << (shown < line.size() ? "...\n" : "\n");
  size_t column = caret < begin ? 0 : std::min(caret - begin, shown);
  size_t room = column < shown ? shown - column : 1;
  size_t length = std::clamp<size_t>(at.length, 1, room);
  out << std::string(indent.size() + column, ' ') << '^' << std::string(length - 1, '~') << '\n';
}

} // namespace

void Diagnostics::print(std::ostream &out) const {
  for (const Diagnostic &d : list) {
    printHead(out, sources, d);
    printLine(out, sources, d.location);
    for (const Diagnostic &part : d.parts)
      printHead(out, sources, part);
  }
}

} // namespace npar::dsl
