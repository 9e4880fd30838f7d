// What one process tells another of its members' part in an operation before any data is taken: enough to see whether both mean the same.
#pragma once

#include "engine/comm/StepMark.h"
#include "engine/comm/process/Frames.h"
#include "engine/comm/process/Groups.h"

namespace npar::engine {

/// An instance of an operation: where members meet, once per training step. The same in all processes.
struct MeetingKey {
  uint32_t event = 0, micro = 0;
  uint64_t transfer = 0;       ///< 1: sends are numbered apart from collectives
  int64_t first = 0, last = 0; ///< of the members: they tell groups (and directed pairs) of one event apart
  static MeetingKey of(const Operation &operation);
  bool operator==(const MeetingKey &other) const {
    return event == other.event && micro == other.micro && transfer == other.transfer && first == other.first && last == other.last;
  }
};

struct MeetingKeyHash {
  size_t operator()(const MeetingKey &key) const;
};

/// Plain data, for a frame. All members of the sending process have come.
struct Envelope {
  MeetingKey key;
  uint32_t dataTag = 0; ///< of the messages that follow, from the frame
  uint64_t turn = 0;    ///< how often these members have met before: one that was skipped or repeated is not taken for the next
  uint64_t round = 0;   ///< how many gathers the sender had begun: those between training steps
  uint64_t members = 0; ///< Group::digest
  uint64_t parts = 0;   ///< of a bucket; 1
  uint64_t digest = 0;  ///< of the sizes of all parts
  uint32_t step = 0, kind = 0, op = 0, type = 0;
  uint32_t memberCount = 0, member = 0, shift = 0, concatFirst = 0; ///< member: one of the sender's
  uint64_t count = 0, outer = 0, split = 0, inner = 0, middle = 0, concat = 0, whole = 0;
  StepMark mark; ///< of the sender

  Envelope() = default;
  Envelope(const Operation &operation, const Group &group, uint64_t turn);
  /// Checks that every enumeration of a received envelope has a defined value.
  bool isSound() const;
  /// Whether the same bytes go the same ways.
  bool movesLike(const Envelope &other) const {
    return digest == other.digest && members == other.members && parts == other.parts && step == other.step && kind == other.kind;
  }
};

/// Empty, or how the part of another process's members disagrees with one of ours.
std::string disagreement(const Operation &own, const Group &group, uint64_t turn, const Envelope &theirs);

/// Plain data, an answer to an envelope: the members of the sending process have gone past this meeting.
struct Refusal {
  MeetingKey key;
  uint64_t turn = 0;
};

/// Plain data: of the members of the sending process only these have come so far.
struct News {
  static constexpr uint32_t most = 960 * 8 - 512; ///< members that it can speak of
  MeetingKey key;
  uint64_t turn = 0;
  uint8_t joined[most / 8] = {};
  bool has(uint32_t member) const { return member < most && (joined[member / 8] >> member % 8 & 1); }
  void add(uint32_t member) {
    if (member < most)
      joined[member / 8] |= static_cast<uint8_t>(1u << member % 8);
  }
};

} // namespace npar::engine
