// Describes one process's part in an operation to another process before any data is accepted.
#include "engine/comm/process/Envelope.h"

#include "engine/comm/local/Exchange.h"

namespace npar::engine {

namespace {

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * uint64_t{0x9E3779B97F4A7C15};
  return hash ^ (hash >> 29);
}

} // namespace

MeetingKey MeetingKey::of(const Operation &operation) {
  return {operation.event, operation.micro, operation.transfers(), operation.members[0], operation.members[operation.memberCount - 1]};
}

size_t MeetingKeyHash::operator()(const MeetingKey &key) const {
  uint64_t hash = mixed(uint64_t{key.event} << 32 | key.micro, key.transfer);
  return mixed(mixed(hash, static_cast<uint64_t>(key.first)), static_cast<uint64_t>(key.last));
}

Envelope::Envelope(const Operation &operation, const Group &group, uint64_t turn)
    : key(MeetingKey::of(operation)), turn(turn), members(group.digest), step(static_cast<uint32_t>(operation.step)),
      kind(static_cast<uint32_t>(operation.kind)), op(static_cast<uint32_t>(operation.op)), type(static_cast<uint32_t>(operation.type)),
      memberCount(operation.memberCount), member(operation.member), shift(operation.shift), concatFirst(operation.concatFirst),
      count(operation.count), outer(operation.outer), split(operation.split), inner(operation.inner), middle(operation.middle),
      concat(operation.concat), whole(operation.whole), places(operation.places), entries(operation.entries), groups(operation.groups) {
  for (const Operation *part = &operation; part; part = part->next, ++parts)
    for (uint64_t value :
         {part->count, part->outer, part->split, part->inner, part->middle, part->concat, part->whole, part->places, part->entries,
          part->groups, uint64_t{part->shift}, uint64_t{part->concatFirst}, static_cast<uint64_t>(part->type)})
      digest = mixed(digest, operation.transfers() && value != part->count ? 0 : value);
}

bool Envelope::isSound() const {
  auto among = [](uint32_t value, auto least, auto greatest) {
    return value >= static_cast<uint32_t>(least) && value <= static_cast<uint32_t>(greatest);
  };
  return among(step, program::StepKind::MIN, program::StepKind::MAX) &&
         among(kind, program::CollectiveKind::MIN, program::CollectiveKind::MAX) &&
         among(op, program::ReduceOp::MIN, program::ReduceOp::MAX) && among(type, program::ElementType::MIN, program::ElementType::MAX) &&
         memberCount > 0 && member < memberCount;
}

std::string disagreement(const Operation &own, const Group &group, uint64_t turn, const Envelope &theirs) {
  Operation their;
  their.step = static_cast<program::StepKind>(theirs.step), their.kind = static_cast<program::CollectiveKind>(theirs.kind);
  their.op = static_cast<program::ReduceOp>(theirs.op), their.type = static_cast<program::ElementType>(theirs.type);
  their.members = own.members, their.memberCount = theirs.memberCount;
  their.member = std::min(theirs.member, own.memberCount - 1);
  their.count = theirs.count, their.outer = theirs.outer, their.split = theirs.split, their.inner = theirs.inner;
  their.middle = theirs.middle, their.concat = theirs.concat, their.whole = theirs.whole;
  their.places = theirs.places, their.entries = theirs.entries, their.groups = theirs.groups;
  their.concatFirst = theirs.concatFirst != 0, their.shift = theirs.shift;
  Operation ours = own;
  ours.next = nullptr; // of a bucket the first part is compared in words, all of them by the digest
  if (std::string differs = disagreement(ours, their); !differs.empty())
    return differs;
  std::string both = "rank " + std::to_string(own.rank()) + " and rank " + std::to_string(their.rank());
  Envelope mine(own, group, turn);
  if (mine.members != theirs.members)
    return both + " have different groups";
  if (mine.parts != theirs.parts)
    return both + " have different numbers of parts";
  if (mine.digest != theirs.digest)
    return both + " cut a part of the bucket differently";
  if (turn != theirs.turn)
    return "rank " + std::to_string(own.rank()) + " takes part for the " + std::to_string(turn + 1) + "th time, rank " +
           std::to_string(their.rank()) + " for the " + std::to_string(theirs.turn + 1) + "th: one of them skipped or repeated it";
  return "";
}

} // namespace npar::engine
