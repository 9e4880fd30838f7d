// Single JSON values as text, for files that are written line by line.
#include "engine/logging/Json.h"

#include "engine/json/Json.h"

#include <charconv>
#include <cmath>

namespace npar::engine {

std::string jsonString(const std::string &text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string jsonNumber(double value) {
  if (!std::isfinite(value))
    return "null";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

} // namespace npar::engine
