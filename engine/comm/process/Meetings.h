// Brings the members of an operation together: local ones when they post, others through their processes' messages.
#pragma once

#include "engine/comm/process/Envelope.h"
#include "engine/comm/process/Exchange.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace npar::engine {

/// One operation of the training step, which recurs in every step. Another process may be one turn ahead.
struct Meeting {
  const Group *group = nullptr;                       ///< null: no member here has arrived yet
  uint64_t turn = 0;                                  ///< the next turn to begin, or the current one
  std::vector<Operation> here;                        ///< parts of the own party's members; those that have not arrived have no completion
  size_t arrived = 0, told = 0;                       ///< number of arrived members here; `told`: the number when the others were last
                                                      ///< informed
  double since = 0;                                   ///< arrival time of the first of them
  std::map<uint32_t, std::deque<Envelope>> envelopes; ///< by process
  std::map<uint32_t, News> news;                      ///< the latest, by process
  Envelope planned;                                   ///< envelope for which `plan` was made
  std::unique_ptr<ExchangePlan> plan;
  std::unique_ptr<Exchange> exchange; ///< exists from the arrival of all members here until the exchange is done
  std::vector<bool> agreed;           ///< parties whose part in the exchange is known to agree

  /// The process's envelope for the current turn; null if not all of its members have arrived.
  const Envelope *envelopeOf(uint32_t process) const;
  /// True if a process waits in vain for members here, because not all had arrived when this process began its gather number `round`.
  bool isPassedBy(uint32_t process, uint64_t round) const;
};

/// The table, and its lock. The lock is held only for look-ups, never while messages move, because others ask which ranks wait when nothing
/// moves.
class Meetings {
public:
  struct Joined {
    Meeting *complete = nullptr; ///< all members here have come
    std::string wrong;
  };
  /// Records the arrival of a member.
  Joined join(const Operation &operation, const Group &group, double now);
  /// Records a message of another process. On the progress thread.
  Meeting &add(uint32_t from, const Envelope &envelope);
  void add(uint32_t from, const News &news);
  /// Takes the members of a complete meeting.
  std::vector<Operation> begin(Meeting &meeting);
  void hold(Meeting &meeting, std::unique_ptr<Exchange> exchange);
  /// Ends the turn; returns the exchange, which is still alive.
  std::unique_ptr<Exchange> end(Meeting &meeting);
  /// Empties the table; returns the operations that have not completed, and the exchanges that must be kept as long as messages may arrive.
  /// `withExchanges`: includes the operations of running exchanges.
  std::vector<Operation> clear(bool withExchanges, std::vector<std::unique_ptr<Exchange>> *kept);
  std::vector<PendingOperation> pending() const;
  /// The arrivals here that other processes have not been told of for long, and the groups to tell.
  std::vector<std::pair<const Group *, News>> untold(double now);
  /// True if another process has announced a meeting that has not ended here.
  bool areAwaited() const;
  /// True if the process waits in vain in this meeting (Meeting::isPassedBy). On the progress thread.
  bool isPassed(const Meeting &meeting, uint32_t process, uint64_t round) const;
  /// The same for all meetings: the processes that wait in vain, and where.
  std::vector<std::pair<uint32_t, Refusal>> passedBy(uint64_t round) const;
  /// A member here that waits in this meeting for a member of the given process; an error if none does. `missing`: the rank of a missing
  /// member.
  Result<Operation> waitingFor(uint32_t process, const Refusal &refusal, int64_t &missing) const;

private:
  void missingOf(const Meeting &meeting, std::vector<int64_t> &missing) const;

  mutable std::mutex mutex;
  std::unordered_map<MeetingKey, Meeting, MeetingKeyHash> table;
  size_t queued = 0; ///< number of envelopes in the table
};

} // namespace npar::engine
