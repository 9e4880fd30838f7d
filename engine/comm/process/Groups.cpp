// Maps the members of a group of ranks to processes.
#include "engine/comm/process/Groups.h"

#include <algorithm>

namespace npar::engine {

size_t Group::placeOf(uint32_t member) const {
  const std::vector<uint32_t> &own = ownParty().members;
  return static_cast<size_t>(std::lower_bound(own.begin(), own.end(), member) - own.begin());
}

size_t Group::partyOf(uint32_t process) const {
  auto before = [](const Party &party, uint32_t wanted) { return party.process < wanted; };
  auto place = std::lower_bound(parties.begin(), parties.end(), process, before);
  return place != parties.end() && place->process == process ? static_cast<size_t>(place - parties.begin()) : parties.size();
}

void Groups::prepare(const CommunicationPlan &plan, uint32_t self) {
  process = self;
  sessionOf = plan.sessionOf;
  for (const Operation *operation : plan.operations)
    planned.emplace(operation->members, &make(operation->members, operation->memberCount));
}

const Group &Groups::of(const Operation &operation) {
  if (auto found = planned.find(operation.members); found != planned.end() && found->second->members.size() == operation.memberCount)
    return *found->second;
  return make(operation.members, operation.memberCount);
}

const Group &Groups::make(const int64_t *members, uint32_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Group> &group = known[{members, members + count}];
  if (group)
    return *group;
  group = std::make_unique<Group>();
  group->members.assign(members, members + count);
  group->digest = count;
  std::map<uint32_t, std::vector<uint32_t>> byProcess;
  for (uint32_t i = 0; i < count; ++i) {
    group->digest = (group->digest ^ static_cast<uint64_t>(members[i])) * uint64_t{0x100000001B3} + (group->digest >> 31);
    byProcess[sessionOf[static_cast<size_t>(members[i])]].push_back(i);
  }
  for (auto &[each, own] : byProcess) {
    if (each == process)
      group->own = group->parties.size();
    group->parties.push_back({each, std::move(own)});
  }
  return *group;
}

} // namespace npar::engine
