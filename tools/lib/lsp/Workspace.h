// The texts that an editor looks at: open ones and those they import, each with its latest index.
#pragma once

#include "dsl/Diagnostics.h"
#include "dsl/SourceProvider.h"
#include "tools/lib/lsp/TextIndex.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace npar::lsp {

using IndexPointer = std::shared_ptr<const TextIndex>;

/// The errors of one text's syntax, with the text that they point into.
struct SyntaxReport {
  dsl::Sources sources;
  std::vector<dsl::Diagnostic> diagnostics;
  IndexPointer index; ///< null if the text has errors
};

/// Parses a text and reads its index.
SyntaxReport parseText(const std::string &path, TextPointer text);

/// A symbol of a text.
struct Place {
  std::string path;
  IndexPointer index;
  int symbol = -1;

  explicit operator bool() const { return symbol >= 0; }
  const Symbol &operator*() const { return index->symbols[static_cast<size_t>(symbol)]; }
  const Symbol *operator->() const { return &**this; }
  ByteRange whole() const { return index->wholes[static_cast<size_t>(symbol)]; }
};

/// Used by one thread.
class Workspace {
public:
  /// `search`: folders that imports are looked up in, after the importing text's own.
  explicit Workspace(std::vector<std::string> search) : search(std::move(search)) {}

  /// Sets or replaces an open text, and parses it.
  SyntaxReport open(const std::string &path, TextPointer text);
  void close(const std::string &path);
  bool isOpen(const std::string &path) const { return texts.count(path) > 0; }
  TextPointer text(const std::string &path) const;
  const std::map<std::string, TextPointer> &openTexts() const { return texts; }

  /// The index of the last text without errors of that path; null if there was none, or no such text.
  IndexPointer index(const std::string &path);
  /// The path of an imported text; empty if npar does not find it.
  std::string imported(const std::string &path, const std::string &name) const;
  /// The texts that one sees: itself and all it imports, nearest first.
  std::vector<std::pair<std::string, IndexPointer>> reach(const std::string &path);
  /// Open texts that import a text, directly or not.
  std::vector<std::string> openUsersOf(const std::string &path);

  /// The declaration that a reference of a text means; none if it means a word of the language.
  Place resolve(const std::string &path, const IndexPointer &index, const Reference &reference);
  /// The declaration of a kind with this name that a text sees. Optimizers of the standard library need no import.
  Place find(const std::string &path, SymbolKind kind, const std::string &name);
  /// Lists the layers of the standard library: {name, text to import}.
  const std::vector<std::pair<std::string, std::string>> &importableLayers();
  /// Forgets what the disk was like. Otherwise files are read again after two seconds, the list of the library's layers never.
  void forgetDisk();
  /// Names of the library's texts in a folder.
  std::vector<std::string> libraryNames(const std::string &folder) const;
  /// All places where a symbol is named: {path, range}, definitions first.
  std::vector<std::pair<std::string, ByteRange>> usesOf(const Place &symbol);

  const std::vector<std::string> search;

private:
  dsl::TextsPointer provider() const;
  Place axisOf(const std::string &path, const std::string &model, const std::string &name);
  /// The same symbol as another one.
  static bool same(const Place &a, const Place &b) { return a.symbol == b.symbol && a.path == b.path; }

  using Clock = std::chrono::steady_clock;
  static bool isFresh(Clock::time_point looked) { return Clock::now() - looked < std::chrono::seconds(2); }

  struct Known {
    TextPointer text; ///< from which the index was read, or tried to
    IndexPointer index;
    Clock::time_point looked = {}; ///< at the disk
  };
  struct Found {
    std::string path;
    Clock::time_point looked;
  };
  std::map<std::string, TextPointer> texts;
  std::map<std::string, Known> known;                                    ///< by path
  std::vector<std::pair<std::string, std::string>> layers;               ///< of the library
  mutable std::map<std::pair<std::string, std::string>, Found> resolved; ///< imports by importing path and name
  mutable dsl::TextsPointer provided;                                    ///< of the open texts; null: they changed
};

} // namespace npar::lsp
