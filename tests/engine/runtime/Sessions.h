// One program in several sessions, with threads in place of processes: ranks of different sessions share no memory and reach each other by
// messages.
#pragma once

#include "engine/runtime/SessionParts.h"
#include "tests/engine/comm/BytesCommunicator.h"
#include "tests/engine/comm/FaultyCommunicator.h"
#include "tests/engine/comm/process/QueueProcesses.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace npar::testing {

struct SessionsOptions {
  size_t count = 2;
  bool inTurns = false;              ///< rank r is in session r modulo their number; otherwise each has the same number of neighbours
  std::string memory = "cpu";        ///< "cuda", or "offset", "queued": memory that only its backend can dereference (OffsetBackend.h)
  bool processes = false;            ///< with the communicator of processes (QueueProcesses.h), otherwise BytesCommunicator
  bool joined = false;               ///< with such processes, if the backends' devices have a network: messages use it
  BytesOptions bytes;                ///< for BytesCommunicator: how messages meet
  int64_t lostAtKernel = -1;         ///< for such memory's device: the kernel that fails, in the session of rank 0
  bool local = false;                ///< for one session: the local communicator
  engine::SessionOptions session;    ///< options of each session, except for its ranks
  std::vector<engine::Fault> faults; ///< faults of any session that has the rank
  std::map<size_t, std::vector<int64_t>> ranks;                               ///< ranks of these sessions, instead of those by `inTurns`
  std::function<void(size_t session, engine::SessionOptions &options)> alter; ///< changes the options of a session; null: all have the same
};

/// Opens all sessions at once.
class Sessions {
public:
  Sessions(std::shared_ptr<const program::LoadedProgram> program, const SessionsOptions &options);
  ~Sessions();

  /// The results of call(session) for all sessions, run at once, each in its own thread.
  template <typename Call> auto each(Call call) {
    std::vector<decltype(call(*sessions[0]))> results(sessions.size());
    inThreads([&](size_t i) { results[i] = call(*sessions[i]); });
    return results;
  }
  /// Runs one training step; returns the statuses of all, and sets `results` for the successful ones.
  std::vector<engine::Status> step(const engine::Batch &batch, int64_t step);

private:
  std::unique_ptr<QueueProcesses> processes; ///< outlives the sessions

public:
  std::vector<engine::Status> opened;
  std::vector<engine::StepResult> results; ///< results of the last step
  std::vector<std::unique_ptr<engine::Session>> sessions;

private:
  void inThreads(const std::function<void(size_t)> &body);
};

} // namespace npar::testing
