#include "tools/api/library/Arguments.h"
#include "tools/api/Texts.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace npar::api {

using engine::Result;
using engine::Status;

Arguments &Arguments::require(bool holds, const std::string &member, const std::string &problem) {
  if (!holds && first.ok())
    first = Status::usage(fmt::format("{}: {} {}", owner, member, problem));
  return *this;
}

Arguments &Arguments::content(npar_str value, const std::string &member) {
  return require(value.ptr || value.len == 0, member, fmt::format("is null, and its length is {}", value.len));
}

Arguments &Arguments::text(npar_str value, const std::string &member) {
  content(value, member);
  const void *zero = value.ptr && value.len > 0 ? std::memchr(value.ptr, 0, value.len) : nullptr;
  return require(!zero, member,
                 fmt::format("has a zero byte, number {} of {}", zero ? static_cast<const char *>(zero) - value.ptr : 0, value.len));
}

Arguments &Arguments::filled(npar_str value, const std::string &member) {
  return text(value, member).require(value.len > 0, member, "is empty");
}

Arguments &Arguments::array(const void *elements, size_t count, const std::string &member) {
  return require(elements || count == 0, member, fmt::format("is null, and its count is {}", count));
}

Arguments &Arguments::texts(const npar_str *elements, size_t count, const std::string &member) {
  array(elements, count, member);
  for (size_t i = 0; elements && i < count; ++i)
    text(elements[i], fmt::format("{}[{}]", member, i));
  return *this;
}

Arguments &Arguments::whole(int64_t value, const std::string &member, int64_t least, int64_t most) {
  std::string range = most == INT64_MAX ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
  return require(value >= least && value <= most, member, fmt::format("is {}: it must be {}", value, range));
}

Arguments &Arguments::number(double value, const std::string &member, double least, double most) {
  std::string range = most == 1e300 ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
  return require(std::isfinite(value) && value >= least && value <= most, member, fmt::format("is {}: it must be {}", value, range));
}

Arguments &Arguments::numbers(const double *elements, size_t count, const std::string &member, double most) {
  for (size_t i = 0; i < count; ++i)
    number(elements[i], fmt::format("{}[{}]", member, i), 0, most);
  return *this;
}

Result<npar_request> requestOf(const npar_request *given, const char *function) {
  TRY_STATUS(needs(given, function, "request"));
  TRY(npar_request request, optionsOf(given, "npar_request"));
  Arguments checks("npar_request");
  checks.whole(request.kind, "kind", NPAR_TRAINING, NPAR_GENERATION).content(request.text, "text");
  for (auto [value, member] : {std::pair(request.name, "name"), std::pair(request.file, "file"), std::pair(request.folder, "folder"),
                               std::pair(request.plan, "plan"), std::pair(request.train, "train"), std::pair(request.config, "config")})
    checks.text(value, member);
  checks.content(request.machine, "machine").array(request.settings, request.setting_count, "settings");
  for (size_t i = 0; request.settings && i < request.setting_count; ++i)
    checks.filled(request.settings[i].key, fmt::format("settings[{}].key", i))
        .filled(request.settings[i].value, fmt::format("settings[{}].value", i));
  checks.texts(request.targets, request.target_count, "targets");
  TRY_STATUS(checks.status());
  int models = (request.text.ptr != nullptr) + (request.file.len > 0) + (request.folder.len > 0);
  if (models != 1)
    return Status::usage(models == 0 ? "npar_request has no model: set text, file or folder"
                                     : "npar_request has several models: set only one of text, file and folder");
  return request;
}

} // namespace npar::api
