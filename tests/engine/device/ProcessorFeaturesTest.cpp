// Compares the features of this processor with the compiler's own detection, and refuses processors that are too old.
#include "engine/device/ProcessorFeatures.h"

#include <gtest/gtest.h>

namespace npar::engine {
namespace {

TEST(ProcessorFeatures, AreThoseThatTheCompilerDetects) {
  __builtin_cpu_init();
  const std::pair<const char *, int> expected[] = {
      {"sse3", __builtin_cpu_supports("sse3")},         {"ssse3", __builtin_cpu_supports("ssse3")},
      {"sse4.1", __builtin_cpu_supports("sse4.1")},     {"sse4.2", __builtin_cpu_supports("sse4.2")},
      {"popcnt", __builtin_cpu_supports("popcnt")},     {"avx", __builtin_cpu_supports("avx")},
      {"avx2", __builtin_cpu_supports("avx2")},         {"fma", __builtin_cpu_supports("fma")},
      {"bmi", __builtin_cpu_supports("bmi")},           {"bmi2", __builtin_cpu_supports("bmi2")},
      {"avx512f", __builtin_cpu_supports("avx512f")},   {"avx512bw", __builtin_cpu_supports("avx512bw")},
      {"avx512cd", __builtin_cpu_supports("avx512cd")}, {"avx512dq", __builtin_cpu_supports("avx512dq")},
      {"avx512vl", __builtin_cpu_supports("avx512vl")}};
  for (auto [name, has] : expected)
    EXPECT_EQ(hasFeature(name), std::optional(has != 0)) << name;
}

TEST(ProcessorFeatures, AnUnknownNameIsNeitherThereNorLacking) { EXPECT_EQ(hasFeature("unheardof"), std::nullopt); }

TEST(ProcessorFeatures, ThisProcessorIsNewEnough) { EXPECT_TRUE(checkProcessor().ok()); }

TEST(ProcessorFeatures, AnOldProcessorIsRefusedWithWhatItLacks) {
  Status status = checkProcessor([](std::string_view name) { return std::optional(name != "sse4.2" && name != "popcnt"); });
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_EQ(status.message(), "npar needs an x86-64-v2 processor (2009 or later); this one lacks popcnt, sse4.2");
}

} // namespace
} // namespace npar::engine
