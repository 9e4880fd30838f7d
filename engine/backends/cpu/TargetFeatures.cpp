// Compares the processor that a program's kernels were generated for with this one.
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/device/ProcessorFeatures.h"

#include <sstream>

namespace npar::engine {

// The words are a triple, a processor, and features: "x86_64-pc-linux-gnu x86-64-v3 +avx,+avx2".
Status checkTargetFeatures(const std::string &target) {
  std::string text = target, lacking, unknown;
  for (char &c : text)
    if (c == ',' || c == ';')
      c = ' ';
  std::istringstream words(text);
  std::string triple, word;
  words >> triple;
  if (std::string own = "x86_64-"; !triple.empty() && triple.compare(0, own.size(), own) != 0)
    return Status::badInput("the program's kernels are for " + triple +
                            ", not for this x86_64 processor; compile the program on this machine");
  while (words >> word) {
    if (word[0] != '+')
      continue;
    std::optional<bool> has = hasFeature(word.substr(1));
    if (std::string &list = has ? lacking : unknown; !has.value_or(false))
      list += (list.empty() ? "" : ", ") + word.substr(1);
  }
  if (!unknown.empty())
    return Status::badInput("the program's kernels need CPU features that this npar does not know: " + unknown +
                            "; compile the program with this npar");
  if (!lacking.empty())
    return Status::badInput("the program's kernels need CPU features that this machine lacks: " + lacking +
                            "; compile the program on this machine");
  return {};
}

} // namespace npar::engine
