// Flags of `npar generate`.
#pragma once

#include "engine/training/Sampling.h"
#include "tools/lib/trained/Prompt.h"
#include "tools/npar/use/UseFlags.h"

#include <optional>

namespace npar::driver {

struct GenerateFlags {
  UseFlags use;
  trained::PromptSource prompt;
  int64_t count = 100, top = 0;
  std::optional<int64_t> batch; ///< most prompts at once
  training::Sampling sampling;
  std::optional<double> temperature;
  std::optional<uint64_t> seed;
  bool window = false;

  bool samples() const { return sampling.topK > 0 || sampling.topP < 1 || seed; }
  /// Most prompts at once; matrix products with up to 16 rows take as long as with one.
  int64_t together() const { return batch.value_or(16); }
  bool hasList() const { return !prompt.list.empty(); }
};

} // namespace npar::driver
