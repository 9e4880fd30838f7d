// Looks at one part without trust: what is missing or has another type is nothing.
#include "engine/text/Component.h"

#include "engine/text/Quoted.h"

namespace npar::engine {

static const Json absent;

const Json &member(const Json &object, const char *name) {
  if (!object.is_object())
    return absent;
  auto found = object.find(name);
  return found == object.end() ? absent : *found;
}

std::string typeOf(const Json &part) {
  const Json &type = member(part, "type");
  return type.is_string() ? type.get<std::string>() : "";
}

Status unknownComponent(const std::string &what, const Json &part, const std::string &known) {
  return Status::badInput("its " + what + " is " + (part.is_null() ? "missing" : inQuotes(typeOf(part))) + ": npar knows " + known);
}

std::vector<const Json *> flattened(const Json &part, const char *list) {
  if (part.is_null())
    return {};
  if (typeOf(part) != "Sequence")
    return {&part};
  std::vector<const Json *> parts;
  const Json &members = member(part, list);
  if (!members.is_array())
    return {&part}; // whose kind, 'Sequence', is then refused
  for (const Json &each : members)
    for (const Json *inner : flattened(each, list))
      parts.push_back(inner);
  return parts;
}

} // namespace npar::engine
