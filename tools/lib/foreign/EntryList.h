// Collects the settings of a nested file, within limits that all formats share.
#pragma once

#include "tools/lib/foreign/ForeignFile.h"

namespace npar::foreign {

constexpr size_t largestForeignFile = 1 << 20; ///< bytes; such files have a few thousand
constexpr size_t mostForeignEntries = 20'000;
constexpr size_t mostForeignValues = 50'000; ///< values in a tree, including lists, objects and the targets of aliases
constexpr size_t longestForeignKey = 500;    ///< bytes, including the keys of the enclosing objects
constexpr size_t longestForeignList = 1000;  ///< bytes in a list of words that is read as one value
constexpr size_t deepestForeignFile = 32;    ///< levels of nested lists and objects

/// Collects entries until a limit is exceeded, which is reported as an error.
class EntryList {
public:
  EntryList(uint32_t file, dsl::Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

  /// Adds an entry, unless its value is empty. False if there are too many entries or the key is too long.
  bool add(std::string key, std::string value, dsl::Location at, std::optional<UnknownValue> unknown = std::nullopt);
  /// Counts a value of a tree, `depth` levels below the root. False if there are too many values or it is too deep.
  bool enter(size_t depth, dsl::Location at);
  /// Sets `path` to `parent.key`. False if that is too long.
  bool join(const std::string &parent, const std::string &key, dsl::Location at, std::string &path);
  bool refuse(dsl::Location at, const std::string &message);

  dsl::Location at(size_t line, size_t column, size_t length = 1) const {
    return {file, static_cast<uint32_t>(line), static_cast<uint32_t>(column), static_cast<uint32_t>(length)};
  }
  bool good() const { return !refused; }
  /// The entries; empty after an error.
  std::vector<ForeignEntry> take() { return refused ? std::vector<ForeignEntry>() : std::move(entries); }

private:
  uint32_t file;
  dsl::Diagnostics &diagnostics;
  std::vector<ForeignEntry> entries;
  size_t values = 0;
  bool refused = false;
};

/// The first line (from 1) where brackets and braces nest more than `most` deep; 0: none. Counts those in strings and comments too.
uint32_t lineOfDeepNesting(const std::string &text, size_t most);

} // namespace npar::foreign
