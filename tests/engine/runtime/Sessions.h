// One program in several sessions, threads in place of processes: ranks of different sessions share no memory and reach each other by
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
  bool inTurns = false;              ///< rank r is in session r modulo their number; else each has as many neighbours
  std::string memory = "cpu";        ///< "cuda", or "offset", "queued": memory that only its backend can follow (OffsetBackend.h)
  bool processes = false;            ///< over the communicator of processes (QueueProcesses.h), else BytesCommunicator
  bool joined = false;               ///< of such processes whose backends' devices have a network: messages go there
  BytesOptions bytes;                ///< of the latter: how messages meet
  int64_t lostAtKernel = -1;         ///< of such memory's device: the kernel that fails, in the session of rank 0
  bool local = false;                ///< of one session: the local communicator
  engine::SessionOptions session;    ///< of each, but for the ranks
  std::vector<engine::Fault> faults; ///< of whichever session has the rank
  std::map<size_t, std::vector<int64_t>> ranks;                               ///< of these sessions, whatever the rule says
  std::function<void(size_t session, engine::SessionOptions &options)> alter; ///< null: all are alike
};

/// Opens them all at once.
class Sessions {
public:
  Sessions(std::shared_ptr<const program::LoadedProgram> program, const SessionsOptions &options);
  ~Sessions();

  /// What call(session) returns, of all sessions at once, each in its thread.
  template <typename Call> auto each(Call call) {
    std::vector<decltype(call(*sessions[0]))> results(sessions.size());
    inThreads([&](size_t i) { results[i] = call(*sessions[i]); });
    return results;
  }
  /// One training step; the statuses of all, and their results where they are good.
  std::vector<engine::Status> step(const engine::Batch &batch, int64_t step);

private:
  std::unique_ptr<QueueProcesses> processes; ///< outlives the sessions

public:
  std::vector<engine::Status> opened;
  std::vector<engine::StepResult> results; ///< of the last step
  std::vector<std::unique_ptr<engine::Session>> sessions;

private:
  void inThreads(const std::function<void(size_t)> &body);
};

} // namespace npar::testing
