// Checks flags before anything is read or written.
#include "tools/npar/model/FlagChecks.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

namespace npar::driver {

namespace {

/// Why a number may be read as another one: CLI11 takes 010 for 8 and 0x10 for 16. Empty: it may not.
std::string otherBase(const std::string &text) {
  size_t first = text.find_first_not_of("+-");
  bool isOther = first != std::string::npos && text[first] == '0' && first + 1 < text.size() &&
                 (std::isdigit(static_cast<unsigned char>(text[first + 1])) || text[first + 1] == 'x' || text[first + 1] == 'X');
  return isOther ? "'" + text + "' is not a decimal number: remove the leading zero" : "";
}

} // namespace

const CLI::Validator &decimalNumber() {
  static const CLI::Validator check([](std::string &text) { return otherBase(text); }, "");
  return check;
}

const CLI::Validator &seconds() {
  static const CLI::Validator check(
      [](std::string &text) {
        char *end = nullptr;
        double value = std::strtod(text.c_str(), &end);
        bool good = !text.empty() && !*end && std::isfinite(value) && value > 0;
        return good ? std::string() : "'" + text + "' is not a number of seconds above 0";
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
        return good ? otherBase(text) : "'" + text + "' is not a whole number from 0 to 2^64 - 1";
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
        return good ? otherBase(text)
                    : "'" + text + "' is not a whole number from " + std::to_string(least) + " to " + std::to_string(most);
      },
      "");
}

CLI::Validator number(double least, double most) {
  return CLI::Validator(
      [least, most](std::string &text) {
        char *end = nullptr;
        double value = std::strtod(text.c_str(), &end);
        bool good = !text.empty() && !*end && value >= least && value <= most;
        return good ? otherBase(text) : fmt::format("'{}' is not a number from {} to {}", text, least, most);
      },
      "");
}

const CLI::Validator &byteSize() {
  static const std::map<std::string, uint64_t> units = {{"", 1},
                                                        {"b", 1},
                                                        {"kb", 1000},
                                                        {"mb", 1000 * 1000},
                                                        {"gb", 1000 * 1000 * 1000},
                                                        {"tb", 1000ull * 1000 * 1000 * 1000},
                                                        {"kib", 1ull << 10},
                                                        {"mib", 1ull << 20},
                                                        {"gib", 1ull << 30},
                                                        {"tib", 1ull << 40}};
  static const CLI::Validator check(
      [](std::string &text) {
        uint64_t value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        std::string unit = text.substr(static_cast<size_t>(end - text.data()));
        std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        auto factor = units.find(unit);
        if (error != std::errc() || factor == units.end() || value == 0 || __builtin_mul_overflow(value, factor->second, &value))
          return "'" + text + "' is not a number of bytes above 0, such as 5GB or 500MiB";
        text = std::to_string(value);
        return std::string();
      },
      "");
  return check;
}

const CLI::Validator &notEmpty() {
  static const CLI::Validator check([](std::string &text) { return text.empty() ? std::string("it is empty") : std::string(); }, "");
  return check;
}

} // namespace npar::driver
