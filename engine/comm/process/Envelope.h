// Describes one process's part in an operation to another process before any data is accepted, in enough detail to check that both agree.
#pragma once

#include "engine/comm/StepMark.h"
#include "engine/comm/process/Frames.h"
#include "engine/comm/process/Groups.h"

namespace npar::engine {

/// Key of an instance of an operation, in which members meet once per training step. The same in all processes.
struct MeetingKey {
  uint32_t event = 0, micro = 0;
  uint64_t transfer = 0;       ///< 1: sends are numbered separately from collectives
  int64_t first = 0, last = 0; ///< first and last member: they distinguish groups (and directed pairs) of one event
  static MeetingKey of(const Operation &operation);
  bool operator==(const MeetingKey &other) const {
    return event == other.event && micro == other.micro && transfer == other.transfer && first == other.first && last == other.last;
  }
};

struct MeetingKeyHash {
  size_t operator()(const MeetingKey &key) const;
};

/// Plain data, for a frame. Sent when all members of the sending process have arrived.
struct Envelope {
  MeetingKey key;
  uint32_t dataTag = 0; ///< tag of the messages that follow, from the frame
  uint32_t unused = 0;
  uint64_t turn = 0;    ///< number of earlier meetings of these members, so that a skipped or repeated one is not taken for the next
  uint64_t round = 0;   ///< number of gathers (between training steps) that the sender had begun
  uint64_t members = 0; ///< Group::digest
  uint64_t parts = 0;   ///< number of parts of a bucket; otherwise 1
  uint64_t digest = 0;  ///< digest of the sizes of all parts
  uint32_t step = 0, kind = 0, op = 0, type = 0;
  uint32_t memberCount = 0, member = 0, shift = 0, concatFirst = 0; ///< member: one of the sender's
  uint64_t count = 0, outer = 0, split = 0, inner = 0, middle = 0, concat = 0, whole = 0;
  uint64_t places = 0, entries = 0, groups = 0;
  uint64_t givenRows = 0, takenRows = 0; ///< digests of the rows that the sender has for the receiver, and that it expects
  StepMark mark;                         ///< mark of the sender's program and step

  Envelope() = default;
  Envelope(const Operation &operation, const Group &group, uint64_t turn);
  /// Checks that every enumeration of a received envelope has a defined value.
  bool isSound() const;
  /// True if both move the same bytes between the same members.
  bool movesLike(const Envelope &other) const {
    return digest == other.digest && members == other.members && parts == other.parts && step == other.step && kind == other.kind;
  }
};

/// The disagreement between our part and that of another process's members, in words; empty when they agree.
std::string disagreement(const Operation &own, const Group &group, uint64_t turn, const Envelope &theirs);

/// Plain data, an answer to an envelope: the members of the sending process have already passed this meeting.
struct Refusal {
  MeetingKey key;
  uint64_t turn = 0;
};

/// Plain data: the members of the sending process that have arrived so far, when others have not.
struct News {
  static constexpr uint32_t most = 960 * 8 - 512; ///< limit on the number of members that a News can describe
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
