// Checks flags before anything is read or written.
#include "tools/npar/model/FlagChecks.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace npar::driver {

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

CLI::Validator wholeNumber(int64_t least, int64_t most) {
  return CLI::Validator(
      [least, most](std::string &text) {
        int64_t value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool good = error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
        return good ? std::string() : "'" + text + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(most);
      },
      "");
}

const CLI::Validator &notEmpty() {
  static const CLI::Validator check([](std::string &text) { return text.empty() ? std::string("it is empty") : std::string(); }, "");
  return check;
}

} // namespace npar::driver
