// Where members of an operation find each other: those here by posting, those of other processes by what is told of them.
#pragma once

#include "engine/comm/process/Envelope.h"
#include "engine/comm/process/Exchange.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace npar::engine {

/// One operation of a training step, which comes again in each. Another process may be one turn ahead.
struct Meeting {
  const Group *group = nullptr;                       ///< null: nobody here has come yet
  uint64_t turn = 0;                                  ///< the next to begin, or the one under way
  std::vector<Operation> here;                        ///< of the own party's members; those that have not come have no completion
  size_t arrived = 0, told = 0;                       ///< of them; told: when the others last heard of it
  double since = 0;                                   ///< when the first of them came
  std::map<uint32_t, std::deque<Envelope>> envelopes; ///< by process
  std::map<uint32_t, News> news;                      ///< the last one, by process
  Envelope planned;                                   ///< what the plan is of
  std::unique_ptr<ExchangePlan> plan;
  std::unique_ptr<Exchange> exchange; ///< while all members here have come and something is to be done
  std::vector<bool> agreed;           ///< of it: parties whose part is known to agree

  /// Of the turn under way; null: not all of the process's members have come.
  const Envelope *envelopeOf(uint32_t process) const;
  /// Whether a process waits in vain for the members here, which had not all come when this process began its gather number `round`.
  bool isPassedBy(uint32_t process, uint64_t round) const;
};

/// The table, and its lock. The lock is held for a look-up only, never while messages move: others ask who waits for whom when they do not.
class Meetings {
public:
  struct Joined {
    Meeting *complete = nullptr; ///< all members here have come
    std::string wrong;
  };
  /// A member comes.
  Joined join(const Operation &operation, const Group &group, double now);
  /// On the progress thread.
  Meeting &add(uint32_t from, const Envelope &envelope);
  void add(uint32_t from, const News &news);
  /// Takes the members of a complete meeting.
  std::vector<Operation> begin(Meeting &meeting);
  void hold(Meeting &meeting, std::unique_ptr<Exchange> exchange);
  /// Ends the turn; returns the exchange, which is still alive.
  std::unique_ptr<Exchange> end(Meeting &meeting);
  /// Empties the table; returns what has not completed, and what must be kept as long as messages may come. `withExchanges`: also of those
  /// that are under way.
  std::vector<Operation> clear(bool withExchanges, std::vector<std::unique_ptr<Exchange>> *kept);
  std::vector<PendingOperation> pending() const;
  /// Which others do not know that some members here have come, long ago: what to tell them.
  std::vector<std::pair<const Group *, News>> untold(double now);
  /// Whether another process has told of a meeting that has not ended here.
  bool areAwaited() const;
  /// On the progress thread: whether one of them waits in vain (Meeting::isPassedBy).
  bool isPassed(const Meeting &meeting, uint32_t process, uint64_t round) const;
  /// The same for all meetings: which processes do, and where.
  std::vector<std::pair<uint32_t, Refusal>> passedBy(uint64_t round) const;
  /// A member here that waits in this meeting for one of this process; an error: none does. `missing`: the rank of one that has not come.
  Result<Operation> waitingFor(uint32_t process, const Refusal &refusal, int64_t &missing) const;

private:
  void missingOf(const Meeting &meeting, std::vector<int64_t> &missing) const;

  mutable std::mutex mutex;
  std::unordered_map<MeetingKey, Meeting, MeetingKeyHash> table;
  size_t queued = 0; ///< envelopes in it
};

} // namespace npar::engine
