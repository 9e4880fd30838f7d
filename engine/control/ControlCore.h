// The rules of the control channel without sockets and without a clock: who tells whom what and when, and when something is wrong.
#pragma once

#include "engine/control/Judge.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace npar::engine {

/// A process as the others know it.
struct PeerName {
  std::string host;
  int64_t pid = 0;
};

/// What a core asks of its surroundings; called from within the core's functions.
class ControlLink {
public:
  virtual ~ControlLink() = default;
  /// Process 0 and process 1 reach everyone, the others reach these two. A message to one that is gone is dropped.
  virtual void send(uint32_t to, const Message &message) = 0;
  /// Where this process stands; with `waits` also what its ranks wait for, which costs more.
  virtual ProcessState look(bool waits) = 0;
  virtual Joined joined(const Question &question) = 0;
  /// Once: the job has failed, this is why. The report has been sent to whoever must hear it from here.
  virtual void decided(const FailureReport &report) = 0;
};

struct CoreOptions {
  uint32_t process = 0;
  double timeoutSeconds = 300;
  std::vector<PeerName> peers; ///< by process
};

/// Process 0 is the judge: all others send it a beat at every interval, and it answers each of them, so messages grow with the number of
/// processes and no faster. It judges when a process is gone, has met a failure or has been silent for the time limit. Process 1 is the
/// deputy: whoever no longer hears the judge turns to it, and when it does not hear him either it judges itself. Who reaches neither judges
/// from what he knows. A process that is late itself gives all others as much time more, and everyone the worst delay that any has told.
///
/// Times are seconds of one process's steady clock; no two are compared. Not thread-safe.
class ControlCore {
public:
  ControlCore(const CoreOptions &options, ControlLink &link, double now);

  void received(double now, uint32_t from, Message message);
  /// The connection to a process is gone; `why` in words, such as "its connection closed".
  void lost(double now, uint32_t process, const std::string &why);
  /// To be called at `due`; later means that this process was not given the time.
  void tick(double now);
  double due() const { return nextTick; }
  /// This process has met a failure.
  void tell(double now, const Told &told);
  /// This process holds these ranks.
  void hold(const std::vector<int64_t> &ranks);
  /// This process ends in good order.
  void leave();

  const std::optional<FailureReport> &verdict() const { return report; }
  double interval() const { return beatSeconds; }
  /// How long this process was late when it was woken up, the worst of the last seconds.
  double lateSeconds() const { return late; }

private:
  using Standing = ProcessEvidence::Standing;
  struct Peer {
    double heard = 0;
    double late = 0;
    uint32_t answered = 0; ///< the last round that it answered
    bool appeals = false;  ///< has turned to this process, the deputy
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
  /// The judge is not there, or not for this process.
  void turnFrom(double now, uint32_t process);
  /// All are asked where they stand. With a cause that is certain that only completes the report.
  void trigger(double now, bool certain);
  void proceed(double now);
  /// Whether all have answered this round who will: whoever has not, and is quiet for long, is silent.
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
  std::vector<Told> own; ///< what this process has told
  double toldAt = 0;     ///< when it did so first, or turned to another judge since
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
