// Settings as they are taken out of a nested file, within the limits that all formats share.
#pragma once

#include "tools/lib/foreign/ForeignFile.h"

namespace npar::foreign {

constexpr size_t largestForeignFile = 1 << 20; ///< bytes; such files have a few thousand
constexpr size_t mostForeignEntries = 20'000;
constexpr size_t mostForeignValues = 50'000; ///< of a tree: lists, objects and what an alias stands for are counted
constexpr size_t longestForeignKey = 500;    ///< bytes, with those of the objects around it
constexpr size_t longestForeignList = 1000;  ///< bytes of the words of a list that is taken as one value
constexpr size_t deepestForeignFile = 32;    ///< lists and objects inside each other

/// Collects entries, reports the first limit that is exceeded and takes nothing after it.
class EntryList {
public:
  EntryList(uint32_t file, dsl::Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

  /// An entry; an empty value is none. False when it is one too many, or its key is too long.
  bool add(std::string key, std::string value, dsl::Location at, bool isCertain = true);
  /// Counts a value of a tree, `depth` levels below the root. False when that is too many, or too deep.
  bool enter(size_t depth, dsl::Location at);
  /// `parent.key`. False when that is too long.
  bool join(const std::string &parent, const std::string &key, dsl::Location at, std::string &path);
  bool refuse(dsl::Location at, const std::string &message);

  dsl::Location at(size_t line, size_t column, size_t length = 1) const {
    return {file, static_cast<uint32_t>(line), static_cast<uint32_t>(column), static_cast<uint32_t>(length)};
  }
  bool good() const { return !refused; }
  /// Nothing after an error.
  std::vector<ForeignEntry> take() { return refused ? std::vector<ForeignEntry>() : std::move(entries); }

private:
  uint32_t file;
  dsl::Diagnostics &diagnostics;
  std::vector<ForeignEntry> entries;
  size_t values = 0;
  bool refused = false;
};

/// The line (from 1) where brackets and braces are nested more than `most` deep; 0: nowhere. Those in texts and comments are counted too.
uint32_t lineOfDeepNesting(const std::string &text, size_t most);

} // namespace npar::foreign
