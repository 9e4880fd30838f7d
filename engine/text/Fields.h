// The fields of a JSON object, each asked for by name and type: what nobody asked for, or has another type, is refused by name.
#pragma once

#include "engine/status/Status.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace npar::engine {

/// Remembers the first mistake; what is asked for after it, and what is absent or null, has its type's plain value.
class Fields {
public:
  /// `what` names the object in messages, such as "pre-tokenizer 'Split'".
  Fields(const nlohmann::json &object, std::string what);
  bool flag(const char *name, bool otherwise = false);
  std::string text(const char *name);
  int64_t number(const char *name, int64_t otherwise);
  /// The elements of a list.
  const nlohmann::json &list(const char *name);
  /// An object, or null where there is none.
  const nlohmann::json &object(const char *name);
  /// Any value: it is the caller's to check.
  const nlohmann::json &any(const char *name);
  void ignore(std::initializer_list<const char *> names) { asked.insert(names.begin(), names.end()); }
  void refuse(const std::string &why);
  /// The first mistake.
  Status mistake() const;
  /// The first mistake, or a field that nobody asked for.
  Status status() const;

private:
  const nlohmann::json &fields;
  std::string what, wrong;
  std::set<std::string> asked;
};

} // namespace npar::engine
