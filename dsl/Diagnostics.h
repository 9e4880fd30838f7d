// Located messages about the user's text: collected during a phase, printed with line, caret, note and help.
#pragma once

#include "dsl/SourceProvider.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace npar::dsl {

/// A range of one line of one source file. Lines and columns count from 1; line 0 means "no place in a file".
struct Location {
  uint32_t file = 0; ///< index into Sources
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 1;
};

/// The files read in one compilation, kept so that messages can show their lines.
class Sources {
public:
  /// Texts are read from `texts`; null: from the disk and the standard library inside this program.
  explicit Sources(TextsPointer texts = nullptr) : from(texts ? std::move(texts) : installedTexts()) {}
  const SourceProvider &texts() const { return *from; }
  /// From now on, texts are read from another provider.
  void readFrom(TextsPointer texts) { from = std::move(texts); }
  /// Adds a file and returns its index. `name` is how messages call it.
  uint32_t add(std::string name, std::string text);
  const std::string &name(uint32_t file) const { return files[file].name; }
  const std::string &text(uint32_t file) const { return files[file].text; }
  size_t size() const { return files.size(); }
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

struct Diagnostic {
  Severity severity = Severity::Error;
  Location location;
  std::string message;           ///< lower case, no final period
  std::vector<Diagnostic> parts; ///< notes and helps that belong to it
  Diagnostic &note(Location at, std::string text);
  Diagnostic &help(Location at, std::string text);
};

/// Collects diagnostics; a phase reports all its errors, then the caller stops.
class Diagnostics {
public:
  explicit Diagnostics(const Sources &sources) : sources(sources) {}
  Diagnostic &error(Location at, std::string message);
  Diagnostic &warning(Location at, std::string message);
  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  const std::vector<Diagnostic> &all() const { return list; }
  /// Prints everything, in the order of reporting, as `file:line:col: error: text`, the line and a caret.
  void print(std::ostream &out) const;

private:
  const Sources &sources;
  std::vector<Diagnostic> list;
  size_t errors = 0;
};

} // namespace npar::dsl
