// Exchanges and votes. The interpreter has seen to it that all lanes of a mask are there.
#include "tests/engine/backends/standin/ptx/Exchanges.h"

namespace npar::standin::ptx {

namespace {
enum class Way { Up, Down, Butterfly, Index };

/// PTX, shfl.sync: which lane a lane reads. Outside of its segment it reads itself.
template <Way way> std::pair<uint32_t, bool> sourceOf(uint32_t lane, uint32_t b, uint32_t c) {
  uint32_t clamp = c & 31, segment = c >> 8 & 31, last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  b &= 31;
  int64_t from = 0;
  switch (way) {
  case Way::Up:
    from = static_cast<int64_t>(lane) - b;
    return from >= static_cast<int64_t>(last) ? std::pair{static_cast<uint32_t>(from), true} : std::pair{lane, false};
  case Way::Down:
    from = lane + b;
    break;
  case Way::Butterfly:
    from = lane ^ b;
    break;
  case Way::Index:
    from = first | (b & ~segment);
    break;
  }
  return from <= static_cast<int64_t>(last) ? std::pair{static_cast<uint32_t>(from), true} : std::pair{lane, false};
}

template <Way way> void shuffle(const Instruction &instruction, Warp &warp, uint32_t active) {
  const auto *a = warp.at<uint32_t>(instruction.source[0]), *b = warp.at<uint32_t>(instruction.source[1]),
             *c = warp.at<uint32_t>(instruction.source[2]), *mask = warp.at<uint32_t>(instruction.source[3]);
  uint32_t values[warpLanes], inRange = 0;
  for (uint32_t lane = 0; lane < warpLanes; ++lane) {
    values[lane] = a[lane];
    if ((active >> lane & 1) == 0)
      continue;
    auto [from, valid] = sourceOf<way>(lane, b[lane], c[lane]);
    if ((mask[lane] >> from & 1) == 0)
      return warp.fail(Code::LaunchFailed, instruction, static_cast<int>(lane),
                       "reads lane " + std::to_string(from) + ", which the mask does not name");
    values[lane] = a[from];
    inRange |= static_cast<uint32_t>(valid) << lane;
  }
  auto *to = warp.at<uint32_t>(instruction.target[0]);
  for (int lane = 0; lane < warpLanes; ++lane)
    to[lane] = active >> lane & 1 ? values[lane] : to[lane];
  if (instruction.targets == 2) {
    uint32_t &predicate = warp.predicate(instruction.target[1]);
    predicate = (predicate & ~active) | inRange;
  }
}

enum class Vote { All, Any, Uniform, Ballot };

template <Vote vote> void countVotes(const Instruction &instruction, Warp &warp, uint32_t active) {
  uint32_t yes = warp.predicate(instruction.source[0]);
  const auto *mask = warp.at<uint32_t>(instruction.source[1]);
  uint32_t result = 0;
  for (int lane = 0; lane < warpLanes; ++lane) {
    if ((active >> lane & 1) == 0)
      continue;
    uint32_t votes = yes & mask[lane];
    if (vote == Vote::Ballot)
      warp.at<uint32_t>(instruction.target[0])[lane] = votes;
    else
      result |= static_cast<uint32_t>((vote != Vote::Any && votes == mask[lane]) || (vote == Vote::Any && votes != 0) ||
                                      (vote == Vote::Uniform && votes == 0))
                << lane;
  }
  if (vote != Vote::Ballot) {
    uint32_t &predicate = warp.predicate(instruction.target[0]);
    predicate = (predicate & ~active) | result;
  }
}

void meet(const Instruction &, Warp &, uint32_t) {}
} // namespace

const Operations &exchangeOperations() {
  static const Operations all = [] {
    Operations made;
    auto put = [&](const char *name, Handler run, const char *signature) { made[name] = {run, signature, Instruction::Kind::Gather}; };
    put("shfl.sync.up.b32", shuffle<Way::Up>, "wwwww");
    put("shfl.sync.down.b32", shuffle<Way::Down>, "wwwww");
    put("shfl.sync.bfly.b32", shuffle<Way::Butterfly>, "wwwww");
    put("shfl.sync.idx.b32", shuffle<Way::Index>, "wwwww");
    put("vote.sync.all.pred", countVotes<Vote::All>, "ppw");
    put("vote.sync.any.pred", countVotes<Vote::Any>, "ppw");
    put("vote.sync.uni.pred", countVotes<Vote::Uniform>, "ppw");
    put("vote.sync.ballot.b32", countVotes<Vote::Ballot>, "wpw");
    put("bar.warp.sync", meet, "-w");
    return made;
  }();
  return all;
}

} // namespace npar::standin::ptx
