// Reads the values in Python text that are known without running it: literals, names bound to them, and calls with such arguments.
#pragma once

#include "tools/lib/foreign/EntryList.h"

#include <map>
#include <memory>

namespace npar::foreign::python {

struct Line;
struct Value;
using ValuePointer = std::shared_ptr<const Value>;

struct Value {
  enum class Kind { None, Word, Text, List, Map, Unknown };
  Kind kind = Kind::None;
  std::string text;                                          ///< of a Text; of a Word, a number or "true" or "false"
  std::vector<ValuePointer> items;                           ///< of a List
  std::vector<std::pair<std::string, ValuePointer>> entries; ///< of a Map, each key once, in the order of the text
  std::vector<dsl::Location> places;                         ///< of the keys of a Map
  UnknownValue why;                                          ///< of Unknown
  dsl::Location at;
  size_t depth = 1; ///< levels of lists and maps

  /// The value of a key; null without it.
  const ValuePointer *find(const std::string &key) const;
};

/// A call with keyword arguments.
struct Call {
  std::string name; ///< the last name before the parenthesis
  dsl::Location at;
  ValuePointer arguments; ///< a Map
};

struct Literals {
  std::vector<Call> calls;                   ///< in the order of the text
  std::map<std::string, ValuePointer> names; ///< as they are bound at the end
  bool isCut = false;                        ///< the text has too much to follow, and its end was not read
};

/// Follows assignments in the order of the text, those in functions too. A name that a condition or a loop binds is unknown, and so is
/// everything that is computed, except sums of numbers and of texts.
Literals literalsOf(const std::vector<Line> &lines);

/// Adds a value's settings, with the keys of the maps around joined by points. Lists become words. False after an error.
bool addEntries(const std::string &path, const Value &value, dsl::Location at, EntryList &entries, size_t depth = 0);

} // namespace npar::foreign::python
