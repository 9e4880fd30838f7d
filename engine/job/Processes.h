// The processes that run one command together. All of them call the same functions in the same order.
#pragma once

#include "engine/program/Loader.h"
#include "engine/runtime/MemoryNeed.h"
#include "engine/runtime/Session.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace npar::job {

/// This class is for a process alone, whose memory is not checked; a caller with several processes overrides it.
class Processes {
public:
  virtual ~Processes() = default;
  virtual bool isAlone() const { return true; }
  /// True in the one process that does the work that only one has to do.
  virtual bool isFirst() const { return true; }
  /// Names what this process does outside of training steps, such as "saving a checkpoint", for failure reports.
  virtual void phase(const std::string & /*what*/) const {}
  /// All processes meet here with the result of a phase. Every process gets an error if one of them failed.
  virtual engine::Status agree(const engine::Status &own) { return own; }
  /// Collects one value from each process, ordered by process.
  virtual engine::Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const {
    return std::vector<std::vector<uint8_t>>{own};
  }
  /// Lets the first process decide something that depends on files or on the machine, and returns its text in all processes. Only the first
  /// process calls `make`.
  virtual engine::Result<std::string> decide(const std::function<engine::Result<std::string>()> &make) { return make(); }

  /// Shared: each process runs some of the program's ranks; AllInEach: each runs all of them.
  enum class Ranks { Shared, AllInEach };
  /// A program that the first process makes and all get, even if the checks of Verify.h would fail. Every process gets an error if it
  /// cannot be made or its ranks cannot be shared.
  virtual engine::Result<program::ProgramPointer> share(const std::function<engine::Result<program::ProgramPointer>()> &make, Ranks) {
    return make();
  }
  /// Worker threads of this process; `asked` is 0 for the usual number. BadInput if the machine has fewer processors.
  virtual engine::Result<int> threads(int asked) const { return asked; }
  /// The processes on this process's host, which have `threads` workers each (0: the machine's).
  virtual engine::Crew crew(int threads, const std::string &backend) const;
  /// The ranks of all processes on this process's host; empty (which means all ranks) if this process is alone.
  virtual std::vector<int64_t> ranksOnHost(const program::Program &) const { return {}; }
  /// BadInput if this machine has too little memory for these programs at the same time.
  virtual engine::Status checkMemory(const std::vector<program::ProgramPointer> &, int /*threads*/) const { return {}; }
  /// The order of products of bf16 that the processes agree on (SessionOptions::fastestOrder).
  virtual program::ProductOrder fastestOrder() const { return program::ProductOrder::Fastest; }
  /// A session with the ranks of this process.
  virtual engine::Result<std::unique_ptr<engine::Session>> createSession(const program::ProgramPointer &program,
                                                                         const engine::SessionOptions &options) {
    return engine::Session::create(program, options);
  }
  /// The arenas of all ranks of all processes' sessions, by rank.
  engine::Result<std::vector<engine::ArenaUse>> arenaUse(const engine::Session &session) const;
};

} // namespace npar::job
