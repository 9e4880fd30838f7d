// Checks flags before anything is read or written.
#include "tools/npar/FlagChecks.h"

#include "tools/npar/Talk.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

namespace npar::driver {
namespace {

/// The file that a path leads to, whatever way it is written.
std::string fileOf(const std::string &path) {
  std::error_code unknown;
  std::filesystem::path whole = std::filesystem::absolute(path, unknown);
  if (!unknown)
    whole = std::filesystem::weakly_canonical(whole, unknown);
  return unknown ? path : whole.string();
}

} // namespace

const CLI::Validator &seconds() {
  static const CLI::Validator check(
      [](std::string &text) {
        char *end = nullptr;
        double value = std::strtod(text.c_str(), &end);
        bool good = !text.empty() && !*end && std::isfinite(value) && value > 0;
        return good ? std::string() : "'" + text + "' is no number of seconds above 0";
      },
      "");
  return check;
}

const CLI::Validator &wholeNumber() {
  static const CLI::Validator check(
      [](std::string &text) {
        uint64_t value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool good = error == std::errc() && end == text.data() + text.size();
        return good ? std::string() : "'" + text + "' is no whole number from 0 to 2^64 - 1";
      },
      "");
  return check;
}

const CLI::Validator &notEmpty() {
  static const CLI::Validator check([](std::string &text) { return text.empty() ? std::string("it is empty") : std::string(); }, "");
  return check;
}

ExitCode checkDistinct(const std::vector<FileFlag> &outputs, const std::vector<FileFlag> &inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<FileFlag> others(outputs.begin(), outputs.begin() + static_cast<long>(i));
    others.insert(others.end(), inputs.begin(), inputs.end());
    for (const FileFlag &other : others)
      if (!outputs[i].path.empty() && !other.path.empty() && fileOf(outputs[i].path) == fileOf(other.path))
        return fail(ExitCode::Usage, outputs[i].flag + " and " + other.flag + " name the same file, '" + outputs[i].path + "'");
  }
  return ExitCode::Good;
}

} // namespace npar::driver
