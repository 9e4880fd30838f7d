// Compares the processor features that a program's kernels were generated for with those of this machine.
#include "engine/backends/cpu/CpuBackend.h"

#include <sstream>

namespace npar::engine {

Status checkTargetFeatures(const std::string &features) {
  __builtin_cpu_init();
  std::string missing;
  std::string text = features;
  for (char &c : text)
    if (c == ',' || c == ';')
      c = ' ';
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word[0] == '-')
      continue;
    std::string name = word[0] == '+' ? word.substr(1) : word;
    bool has = true;
#define NPAR_FEATURE(NAME)                                                                                                                 \
  if (name == NAME)                                                                                                                        \
    has = __builtin_cpu_supports(NAME);
    NPAR_FEATURE("avx")
    NPAR_FEATURE("avx2")
    NPAR_FEATURE("fma")
    NPAR_FEATURE("avx512f")
    NPAR_FEATURE("avx512bw")
    NPAR_FEATURE("avx512dq")
    NPAR_FEATURE("avx512vl")
    NPAR_FEATURE("avx512cd")
#undef NPAR_FEATURE
    if (!has)
      missing += (missing.empty() ? "" : ", ") + name;
  }
  if (missing.empty())
    return {};
  return Status::badInput("the program's kernels need CPU features that this machine lacks: " + missing +
                          "; compile the program on this machine");
}

} // namespace npar::engine
