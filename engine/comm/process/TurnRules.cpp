// Checks the operations that a session posts against its program: every planned operation once per training step, with the planned sizes.
#include "engine/comm/process/TurnRules.h"

#include "engine/comm/local/Exchange.h"

namespace npar::engine {

namespace {

std::string named(const Operation &operation) {
  return std::string(nameOf(operation)) + " of event " + std::to_string(operation.event) + ", micro-batch " +
         std::to_string(operation.micro);
}

} // namespace

void TurnRules::prepare(const CommunicationPlan &plan) {
  for (const Operation *operation : plan.operations) {
    planned.emplace_back(operation);
    byTag[operation->tag] = &planned.back();
  }
}

Offence TurnRules::judge(const Operation &operation) {
  auto found = byTag.find(operation.tag);
  if (found == byTag.end())
    return {};
  Planned &own = *found->second;
  int64_t rank = own.operation->rank();
  if (operation.rank() != rank)
    return {operation.rank(),
            "rank " + std::to_string(operation.rank()) + " joins " + named(operation) + " for rank " + std::to_string(rank)};
  if (operation.count != own.operation->count)
    return {rank, named(operation) + " of rank " + std::to_string(rank) + " has " + std::to_string(operation.count) +
                      " elements, its program says " + std::to_string(own.operation->count)};
  if (!disagreement(*own.operation, operation).empty())
    return {rank, named(operation) + " of rank " + std::to_string(rank) + " has other sizes than its program says"};
  uint64_t step = total.fetch_add(1) / planned.size(), before = own.posted.fetch_add(1);
  if (before > step)
    return {operation.rank(), "rank " + std::to_string(operation.rank()) + " joins " + named(operation) + " twice in one training step"};
  return {};
}

Offence TurnRules::judgeStep() const {
  if (planned.empty() || total.load() % planned.size() == 0)
    return {};
  // Some operations were posted once more than the others; the smaller set is wrong.
  uint64_t least = planned.front().posted.load(), most = least;
  for (const Planned &each : planned)
    least = std::min(least, each.posted.load()), most = std::max(most, each.posted.load());
  size_t behind = 0;
  for (const Planned &each : planned)
    behind += each.posted.load() < most;
  bool skipped = behind * 2 <= planned.size();
  for (const Planned &each : planned)
    if (each.posted.load() == (skipped ? least : most))
      return {each.operation->rank(), "rank " + std::to_string(each.operation->rank()) + (skipped ? " has skipped " : " has repeated ") +
                                          named(*each.operation) + " in this training step"};
  return {};
}

} // namespace npar::engine
