// Compares what ranks keep of the same parameter: a machine that computes or remembers wrongly makes its replica another one.
#pragma once

#include "engine/runtime/Session.h"

#include <optional>

namespace npar::engine {

/// Ranks that keep the same elements of a variable and do not have the same bits.
struct ReplicaDifference {
  std::string variable;
  bool parameter = true; ///< else a state, such as an optimizer's moments
  struct Group {
    std::string hash;           ///< XXH3-128 of the elements, 32 hex digits
    std::vector<int64_t> ranks; ///< ascending, that have these bits
  };
  std::vector<Group> groups; ///< two at least; the largest first, of equally large ones that of the lowest rank
  uint64_t more = 0;         ///< further pieces, of this and other variables, that differ

  /// "parameter 'wte.weight' differs between ranks that keep the same of it: ranks 0, 1, 3 have hash ..., rank 2 has hash ...".
  std::string text() const;
};

/// To be called by all sessions of the program between two steps. Looks at every parameter and every state, at pieces that more than one
/// rank keeps; nothing where all agree, else the first variable in the order of the program. The answer is the same in all sessions.
/// Changes nothing.
Result<std::optional<ReplicaDifference>> compareReplicas(const Session &session, const program::Program &program);

} // namespace npar::engine
