// Each stage keeps the end of its input that later text may change.
#include "engine/text/Normalizer.h"

namespace npar::engine {
namespace {

constexpr uint64_t mostGrowth = 64, alwaysAllowed = 1 << 16; // no form of Unicode makes more than 11 bytes of one

} // namespace

NormalizerChain::NormalizerChain(const Normalizers &normalizers) {
  for (const auto &normalizer : normalizers)
    stages.push_back({normalizer, {}, {}, {}, 0, 0});
}

Status NormalizerChain::push(std::string_view part, bool ends, std::string &out) {
  if (stages.empty()) {
    out += part;
    return {};
  }
  given += part.size();
  for (Stage &stage : stages) {
    std::string &to = &stage == &stages.back() ? out : stage.made;
    if (&stage != &stages.back())
      to.clear();
    stage.waiting += part;
    if (!stage.waiting.empty() && (ends || stage.waiting.size() >= stage.enough)) {
      const size_t before = to.size();
      TRY(size_t consumed, stage.normalizer->apply(stage.waiting, stage.state, !ends, to));
      stage.state.begins &= consumed == 0;
      stage.waiting.erase(0, consumed);
      stage.written += to.size() - before;
      if (stage.written > mostGrowth * given + alwaysAllowed)
        return Status::badInput("the normalizers make more than " + std::to_string(mostGrowth) + " times as many bytes of the text");
      stage.enough = 2 * stage.waiting.size();
    }
    if (ends)
      stage.state = {}, stage.waiting.clear(), stage.enough = 0;
    part = to;
  }
  return {};
}

Result<std::string> normalized(const Normalizers &normalizers, std::string_view text) {
  NormalizerChain chain(normalizers);
  std::string out;
  TRY_STATUS(chain.push(text, /*ends=*/true, out));
  return out;
}

} // namespace npar::engine
