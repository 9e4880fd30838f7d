// What a session posts, held against what its program says: every planned operation once in a training step, with the planned sizes.
#pragma once

#include "engine/comm/Communicator.h"

#include <atomic>
#include <deque>
#include <unordered_map>

namespace npar::engine {

/// A rank that did what its program does not say, and what.
struct Offence {
  int64_t rank = -1; ///< -1: none
  std::string text;
  explicit operator bool() const { return rank >= 0; }
};

/// Thread-safe after `prepare`. Operations are known by their tags; one that no plan lists is not judged.
class TurnRules {
public:
  void prepare(const CommunicationPlan &plan);
  /// An operation comes.
  Offence judge(const Operation &operation);
  /// Between training steps: all planned operations must have come equally often.
  Offence judgeStep() const;

private:
  struct Planned {
    Planned(const Operation *operation) : operation(operation) {}
    const Operation *operation;
    std::atomic<uint64_t> posted{0};
  };
  std::deque<Planned> planned;
  std::unordered_map<uint64_t, Planned *> byTag;
  std::atomic<uint64_t> total{0};
};

} // namespace npar::engine
