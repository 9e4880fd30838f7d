// Checks the operations that a session posts against its program: every planned operation once per training step, with the planned sizes.
#pragma once

#include "engine/comm/Communicator.h"

#include <atomic>
#include <deque>
#include <unordered_map>

namespace npar::engine {

/// A rank that deviated from its program, and a description.
struct Offence {
  int64_t rank = -1; ///< -1: none
  std::string text;
  explicit operator bool() const { return rank >= 0; }
};

/// Thread-safe after `prepare`. Operations are identified by their tags; one that no plan lists is not checked.
class TurnRules {
public:
  void prepare(const CommunicationPlan &plan);
  /// Checks an operation when it is posted.
  Offence judge(const Operation &operation);
  /// Checks between training steps that all planned operations were posted the same number of times.
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
