// JSON documents for other programs. Each begins with the number of its schema, which tools/STABILITY.md explains.
#pragma once

#include "engine/json/Json.h"

#include <string>
#include <utility>

namespace npar::json {

/// The number of every schema in tools/api/schemas. A document whose members are removed, renamed or change their meaning needs a new one.
inline constexpr int schemaNumber = 1;

/// The layout of a document's text.
enum class Form {
  Indented, ///< a member per line
  OneLine,  ///< for long lists, and for lines that another program reads one by one
};

/// The object with the number of its schema as first member.
inline OrderedJson document(OrderedJson object) {
  OrderedJson all = {{"schema", schemaNumber}};
  for (auto &member : object.items())
    all.emplace(member.key(), std::move(member.value()));
  return all;
}

/// The document of an object as text without a final line break. Invalid UTF-8 becomes the replacement character.
inline std::string documentText(OrderedJson object, Form form = Form::Indented) {
  return document(std::move(object)).dump(form == Form::Indented ? 2 : -1, ' ', false, OrderedJson::error_handler_t::replace);
}

} // namespace npar::json
