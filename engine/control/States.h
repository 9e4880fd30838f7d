// The positions and waits of ranks, which processes report to each other to find a culprit.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace npar::engine {

/// Names a meeting of ranks: a collective or a transfer of one step and micro-batch, among the members from `first` to `last`.
struct MeetingPlace {
  int64_t round = -1; ///< number of the step among all steps of all sessions of a process, in the order in which they began
  bool transfer = false;
  uint32_t event = 0, micro = 0;
  int64_t first = -1, last = -1;
  uint32_t session = 0; ///< number of the session among those of its process

  auto tie() const { return std::tie(round, transfer, event, micro, first, last, session); }
  bool operator<(const MeetingPlace &other) const { return tie() < other.tie(); }
  bool operator==(const MeetingPlace &other) const { return tie() == other.tie(); }
};

/// A step of the program in the user's terms. Between training steps `task` is empty and `operation` describes the process's activity.
struct Place {
  int64_t rank = -1; ///< -1: no rank is known
  int64_t trainingStep = -1;
  uint32_t micro = 0;
  std::string task, operation, source; ///< such as "B0:1", "all_reduce h.3.attn", "gpt2.npar:14:3"
  int64_t round = -1;                  ///< as MeetingPlace::round: tells which rank is further, whichever session's step it is
  bool evaluates = false;              ///< the step belongs to an evaluation, whose steps are counted separately
};

/// One operation of a rank that has begun and not ended.
struct Wait {
  Place place;
  MeetingPlace meeting;
  std::vector<int64_t> missing; ///< members that have not joined; empty if it is queued after another operation of its rank
  bool lost = false;            ///< the communicator does not have it
};

struct RankState {
  Place place;             ///< step that the rank began last
  bool inStep = false;     ///< its session is in a training step
  std::vector<Wait> waits; ///< those of its operations that wait, in program order
  uint32_t moreWaits = 0;  ///< number of waits left out
};

/// A process's knowledge of itself. Some ranks of a session with many are left out.
struct ProcessState {
  uint64_t progress = 0;     ///< grows with every step of every rank
  double stalledSeconds = 0; ///< time since it last grew
  double lateSeconds = 0;    ///< the worst recent delay of this process's wake-ups
  std::string phase;         ///< such as "loading weights"
  std::vector<RankState> ranks;
};

/// State of a rank in a meeting, as its own process sees it.
enum class Joined : uint8_t { Unknown, NotYet, Posted, Done };

struct Question {
  int64_t rank = -1;
  MeetingPlace meeting;
  bool operator<(const Question &other) const { return std::tie(rank, meeting) < std::tie(other.rank, other.meeting); }
};

} // namespace npar::engine
