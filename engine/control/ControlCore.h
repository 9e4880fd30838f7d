// The rules of the control channel without sockets or a clock: the messages between processes, their times, and the detection of failures.
#pragma once

#include "engine/control/Judge.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace npar::engine {

/// A process's identity for the others.
struct PeerName {
  std::string host;
  int64_t pid = 0;
};

/// Interface of a core to its environment; called from within the core's functions.
class ControlLink {
public:
  virtual ~ControlLink() = default;
  /// Sends a message. Processes 0 and 1 reach all others, which reach only these two. A message to a process that is gone is dropped.
  virtual void send(uint32_t to, const Message &message) = 0;
  /// The positions of this process's ranks; with `waits` also the operations for which they wait, which costs more.
  virtual ProcessState look(bool waits) = 0;
  virtual Joined joined(const Question &question) = 0;
  /// Called once, with the reason, when the job has failed. By then, the report was sent to all processes that must get it from here.
  virtual void decided(const FailureReport &report) = 0;
};

struct CoreOptions {
  uint32_t process = 0;
  double timeoutSeconds = 300;
  std::vector<PeerName> peers; ///< by process
};

/// Process 0 is the judge. All others send it a beat at every interval, and it answers each, so the number of messages grows linearly with
/// the number of processes. It judges when a process is gone, has reported a failure or has been silent for the time limit. Process 1 is
/// the deputy: a process that no longer hears the judge turns to it, and if the deputy does not hear the judge either, it judges itself. A
/// process that reaches neither judges from its own knowledge. A process that is late itself extends all others' limits by its delay, and
/// every limit is extended by the worst delay that any process reported.
///
/// Times are seconds of one process's steady clock; times of different processes are never compared. Not thread-safe.
class ControlCore {
public:
  ControlCore(const CoreOptions &options, ControlLink &link, double now);

  void received(double now, uint32_t from, Message message);
  /// Reports that the connection to a process is gone; `why` in words, such as "its connection closed".
  void lost(double now, uint32_t process, const std::string &why);
  /// Must be called at `due`; a later call means that this process did not get CPU time.
  void tick(double now);
  double due() const { return nextTick; }
  /// Reports a failure of this process.
  void tell(double now, const Told &told);
  /// Sets the ranks of this process.
  void hold(const std::vector<int64_t> &ranks);
  /// Reports that this process ends normally.
  void leave();

  const std::optional<FailureReport> &verdict() const { return report; }
  double interval() const { return beatSeconds; }
  /// The worst delay of this process's wake-ups in the last seconds.
  double lateSeconds() const { return late; }

private:
  using Standing = ProcessEvidence::Standing;
  struct Peer {
    double heard = 0;
    double late = 0;
    uint32_t answered = 0; ///< last round that it answered
    bool appeals = false;  ///< appeals to this process, the deputy
  };

  uint32_t self() const { return options.process; }
  bool alive(uint32_t process) const { return evidence.processes[process].standing == Standing::Alive; }
  bool isJudge() const { return judge == self(); }
  bool reaches(uint32_t process) const { return process != self() && (self() <= 1 || process <= 1); }
  double allowance() const;
  double quietSeconds() const { return 3 * beatSeconds + 0.2 + allowance(); }
  bool quiet(double now, uint32_t process) const { return now - peers[process].heard > quietSeconds(); }

  void beat();
  void sendBeat(uint32_t to, uint32_t round);
  ProcessState look(bool waits);
  void watchOthers(double now);
  /// Turns away from a judge that is gone, or that this process cannot reach.
  void turnFrom(double now, uint32_t process);
  /// Asks all processes for their positions. If the cause is certain, the answers only complete the report.
  void trigger(double now, bool certain);
  void proceed(double now);
  /// True if every process that can has answered this round. A process that has not answered and was quiet for long counts as silent.
  bool heardAll(double now);
  void question(double now);
  void decide();
  void conclude(const FailureReport &report);

  CoreOptions options;
  ControlLink &link;
  std::vector<Peer> peers;
  Evidence evidence;
  std::optional<FailureReport> report;
  uint32_t judge = 0;
  double beatSeconds, nextTick, nextBeat;
  double late = 0;
  std::vector<Told> own; ///< failures reported by this process
  double toldAt = 0;     ///< time of the first report, or of the latest turn to another judge
  uint64_t lastProgress = 0;
  double movedAt = 0;
  double clock = 0; ///< the latest time this core was given

  enum class Stage { Watching, Hearing, Questioning } stage = Stage::Watching;
  bool certain = false; ///< the cause is known; hearing the others only completes the report
  double stageBegan = 0;
  uint32_t round = 0;
  std::vector<std::vector<Question>> asked; ///< by process
  bool left = false;
};

} // namespace npar::engine
