// Asks the processor by CPUID (Intel SDM volume 2A, "CPUID"; AMD APM volume 3, appendix E) and the system by XCR0.
#include "engine/device/ProcessorFeatures.h"

#include <cpuid.h>
#include <cstdint>

namespace npar::engine {
namespace {

enum Register { Eax, Ebx, Ecx, Edx };

/// States of registers that the system must save, as bits of XCR0.
constexpr uint64_t none = 0, vectors = 0x6, masks = 0xe6, tiles = 0x60000;

struct Feature {
  const char *name;
  unsigned leaf;
  Register where;
  int bit;
  uint64_t state;
  unsigned subleaf = 0;
};

constexpr Feature features[] = {
    {"sse3", 1, Ecx, 0, none},
    {"ssse3", 1, Ecx, 9, none},
    {"fma", 1, Ecx, 12, vectors},
    {"cx16", 1, Ecx, 13, none},
    {"sse4.1", 1, Ecx, 19, none},
    {"sse4.2", 1, Ecx, 20, none},
    {"movbe", 1, Ecx, 22, none},
    {"popcnt", 1, Ecx, 23, none},
    {"avx", 1, Ecx, 28, vectors},
    {"f16c", 1, Ecx, 29, vectors},
    {"bmi", 7, Ebx, 3, none},
    {"avx2", 7, Ebx, 5, vectors},
    {"bmi2", 7, Ebx, 8, none},
    {"avx512f", 7, Ebx, 16, masks},
    {"avx512dq", 7, Ebx, 17, masks},
    {"avx512cd", 7, Ebx, 28, masks},
    {"avx512bw", 7, Ebx, 30, masks},
    {"avx512vl", 7, Ebx, 31, masks},
    {"amx-bf16", 7, Edx, 22, tiles},
    {"amx-tile", 7, Edx, 24, tiles},
    {"sahf", 0x80000001, Ecx, 0, none},
    {"lzcnt", 0x80000001, Ecx, 5, none},
    {"avx512bf16", 7, Eax, 5, masks, 1},
};

/// The states that the system saves (XCR0); 0 without XSAVE.
uint64_t savedStates() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
    return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32) | low;
}

bool has(const Feature &feature) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &a, &b, &c, &d) || (savedStates() & feature.state) != feature.state)
    return false;
  unsigned word = feature.where == Eax ? a : feature.where == Ebx ? b : feature.where == Ecx ? c : d;
  return (word >> feature.bit) & 1u;
}

} // namespace

const std::vector<std::string> &featuresOfOldestLevel() {
  static const std::vector<std::string> names = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"};
  return names;
}

std::optional<bool> hasFeature(std::string_view name) {
  for (const Feature &feature : features)
    if (feature.name == name)
      return has(feature);
  return std::nullopt;
}

Status checkProcessor(std::optional<bool> (*has)(std::string_view)) {
  std::string lacking;
  for (const std::string &name : featuresOfOldestLevel())
    if (!has(name).value_or(false))
      lacking += (lacking.empty() ? "" : ", ") + name;
  if (lacking.empty())
    return {};
  return Status::runFailed("npar needs an " + std::string(oldestLevel) + " processor (2009 or later); this one lacks " + lacking);
}

} // namespace npar::engine
