// Located messages about the user's text: collected during a phase, printed with line, caret, note and help.
#pragma once

#include "dsl/Codes.h"
#include "dsl/SourceProvider.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace npar::dsl {

/// A range of a source file, which may cross lines. Lines and columns count from 1; line 0 means "no place in a file". Columns and lengths
/// count characters, line ends included; `Sources::span` has the bytes.
struct Location {
  uint32_t file = 0; ///< index into Sources
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 1;
};

/// Bytes [begin, end) of a source file's text.
struct Span {
  uint32_t file = 0;
  size_t begin = 0, end = 0;
};

/// The files read in one compilation, kept so that messages can show their lines.
class Sources {
public:
  /// Texts are read from `texts`; null: from the disk and the standard library inside this program.
  explicit Sources(TextsPointer texts = nullptr) : from(texts ? std::move(texts) : installedTexts()) {}
  const SourceProvider &texts() const { return *from; }
  /// Replaces the provider for all texts that are read later.
  void readFrom(TextsPointer texts) { from = std::move(texts); }
  /// Adds a file and returns its index. `name` is how messages call it.
  uint32_t add(std::string name, std::string text);
  const std::string &name(uint32_t file) const { return files[file].name; }
  const std::string &text(uint32_t file) const { return files[file].text; }
  size_t size() const { return files.size(); }
  /// The bytes of a location, within the text; an empty span at its beginning for line 0.
  Span span(const Location &at) const;
  /// The text of a span.
  std::string text(const Span &span) const { return files[span.file].text.substr(span.begin, span.end - span.begin); }
  /// The text of one line without its end, empty when there is no such line.
  std::string line(uint32_t file, uint32_t line) const;

private:
  struct File {
    std::string name, text;
    std::vector<size_t> starts; ///< offsets of the lines
  };
  TextsPointer from;
  std::vector<File> files;
};

enum class Severity { Error, Warning, Note, Help };

/// A change of texts that makes an error go away, for editors.
struct Fix {
  struct Edit {
    Span span;
    std::string text; ///< in place of the span
  };
  /// Likely: what the user probably meant. Template: a form with parts to fill in.
  enum class Trust { Likely, Template };
  std::string title; ///< "write 'vocab'"
  Trust trust = Trust::Likely;
  std::vector<Edit> edits; ///< ascending, without overlaps
};

/// The text of a file with these edits of it.
std::string edited(const std::string &text, const std::vector<Fix::Edit> &edits);

struct Diagnostic {
  Severity severity = Severity::Error;
  Location location;
  std::string message;           ///< lower case, no final period
  std::vector<Diagnostic> parts; ///< notes and helps that belong to it
  std::vector<Fix> fixes;        ///< each would do
  std::string code;              ///< the page that explains an error, such as "P7"; empty for notes, helps and warnings
  Diagnostic &note(Location at, std::string text);
  Diagnostic &help(Location at, std::string text);
};

/// Collects diagnostics; a phase reports all its errors, then the caller stops.
class Diagnostics {
public:
  explicit Diagnostics(const Sources &sources) : sources(sources) {}
  Diagnostic &error(Code code, Location at, std::string message);
  Diagnostic &warning(Location at, std::string message);
  /// Adds the fix that writes `right` at a place of the text, if that place holds `wrong` or `wrong` in quotes.
  void offer(Diagnostic &diagnostic, Location at, const std::string &wrong, const std::string &right) const;
  /// Adds the fix that inserts a text after a place.
  void offerAfter(Diagnostic &diagnostic, Location at, const std::string &text) const;
  /// Adds the fix that inserts a line at the beginning of a file.
  void offerLine(Diagnostic &diagnostic, uint32_t file, const std::string &line) const;
  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  const std::vector<Diagnostic> &all() const { return list; }
  /// Prints everything, in the order of reporting, as `file:line:col: error: text [code]`, the line and a caret.
  void print(std::ostream &out) const;

private:
  const Sources &sources;
  std::vector<Diagnostic> list;
  size_t errors = 0;
};

} // namespace npar::dsl
