// Looks up, checks the type, remembers.
#include "engine/text/Fields.h"

#include "engine/text/Quoted.h"

namespace npar::engine {
namespace {

const Json nothing, emptyList = Json::array(), emptyObject = Json::object();

} // namespace

Fields::Fields(const Json &object, std::string what) : fields(object.is_object() ? object : emptyObject), what(std::move(what)) {
  if (!object.is_object())
    refuse("is no JSON object");
}

void Fields::refuse(const std::string &why) {
  if (wrong.empty())
    wrong = what + " " + why;
}

const Json &Fields::any(const char *name) {
  asked.insert(name);
  auto found = fields.find(name);
  return found == fields.end() || !wrong.empty() ? nothing : *found;
}

bool Fields::flag(const char *name, bool otherwise) {
  const Json &value = any(name);
  if (!value.is_boolean() && !value.is_null())
    refuse("has a '" + std::string(name) + "' that is neither true nor false");
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::string Fields::text(const char *name) {
  const Json &value = any(name);
  if (!value.is_string() && !value.is_null())
    refuse("has a '" + std::string(name) + "' that is no text");
  return value.is_string() ? value.get<std::string>() : "";
}

int64_t Fields::number(const char *name, int64_t otherwise) {
  const Json &value = any(name);
  bool fits = value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX));
  if (!fits && !value.is_null())
    refuse("has a '" + std::string(name) + "' that is no whole number");
  return fits ? value.get<int64_t>() : otherwise;
}

const Json &Fields::list(const char *name) {
  const Json &value = any(name);
  if (!value.is_array() && !value.is_null())
    refuse("has a '" + std::string(name) + "' that is no list");
  return value.is_array() ? value : emptyList;
}

const Json &Fields::object(const char *name) {
  const Json &value = any(name);
  if (!value.is_object() && !value.is_null())
    refuse("has a '" + std::string(name) + "' that is no object");
  return value.is_object() ? value : nothing;
}

Status Fields::mistake() const { return wrong.empty() ? Status() : Status::badInput(wrong); }

Status Fields::status() const {
  if (!wrong.empty())
    return mistake();
  for (const auto &field : fields.items())
    if (!asked.count(field.key()))
      return Status::badInput(what + " has the field " + inQuotes(field.key()) + ", which npar does not know");
  return {};
}

} // namespace npar::engine
