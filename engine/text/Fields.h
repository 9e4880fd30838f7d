// Reads the fields of a JSON object by name and type. Fields that were never read, or have another type, are refused by name.
#pragma once

#include "engine/json/Json.h"
#include "engine/status/Status.h"

#include <set>
#include <string>

namespace npar::engine {

/// Keeps the first mistake. Fields read after it, and those that are absent or null, get their type's default value.
class Fields {
public:
  /// `what` names the object in messages, such as "pre-tokenizer 'Split'".
  Fields(const Json &object, std::string what);
  bool flag(const char *name, bool otherwise = false);
  std::string text(const char *name);
  int64_t number(const char *name, int64_t otherwise);
  /// The elements of a list.
  const Json &list(const char *name);
  /// An object; null if absent.
  const Json &object(const char *name);
  /// Any value; the caller must check it.
  const Json &any(const char *name);
  void ignore(std::initializer_list<const char *> names) { asked.insert(names.begin(), names.end()); }
  void refuse(const std::string &why);
  /// The first mistake.
  Status mistake() const;
  /// The first mistake, or a field that was never read.
  Status status() const;

private:
  const Json &fields;
  std::string what, wrong;
  std::set<std::string> asked;
};

} // namespace npar::engine
