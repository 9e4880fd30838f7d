// Maps the members of a group of ranks to processes.
#pragma once

#include "engine/comm/Communicator.h"

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace npar::engine {

/// The members of one group that are in one process, in member order.
struct Party {
  uint32_t process = 0;
  std::vector<uint32_t> members;
};

struct Group {
  std::vector<int64_t> members;
  std::vector<Party> parties; ///< by process, ascending
  size_t own = 0;             ///< this process's place in `parties`
  uint64_t digest = 0;        ///< digest of the members: the same in all processes

  const Party &ownParty() const { return parties[own]; }
  bool isLocal() const { return parties.size() == 1; }
  /// The place of a member in this process's party.
  size_t placeOf(uint32_t member) const;
  /// The place of another process's party; `parties.size()` when it has no member.
  size_t partyOf(uint32_t process) const;
};

/// Thread-safe. Groups of a plan are found without a lock, by the address of their list of members.
class Groups {
public:
  void prepare(const CommunicationPlan &plan, uint32_t process);
  const Group &of(const Operation &operation);

private:
  const Group &make(const int64_t *members, uint32_t count);

  uint32_t process = 0;
  std::vector<uint32_t> sessionOf;
  std::unordered_map<const int64_t *, const Group *> planned;
  std::mutex mutex;
  std::map<std::vector<int64_t>, std::unique_ptr<Group>> known;
};

} // namespace npar::engine
