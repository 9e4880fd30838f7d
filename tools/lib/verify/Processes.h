// The processes that share the ranks of a verified plan. All of them run the same verification and call the same functions in the same
// order.
#pragma once

#include "engine/runtime/Session.h"
#include "engine/status/Status.h"
#include "tools/lib/models/Compilation.h"

#include <functional>
#include <memory>
#include <vector>

namespace npar::verify {

/// This class is for a process alone, whose memory is not checked; a caller with several processes overrides it.
class Processes {
public:
  virtual ~Processes() = default;
  /// True in the one process that does the work that only one has to do.
  virtual bool isFirst() const { return true; }
  /// All processes meet here with the result of a phase. Every process gets an error if one of them failed.
  virtual engine::Status agree(const engine::Status &own) { return own; }

  /// Shared: each process runs some of the program's ranks; AllInEach: each runs all of them.
  enum class Ranks { Shared, AllInEach };
  /// A program that one process makes and all get. Every process gets an error if it cannot be made or its ranks cannot be shared.
  virtual engine::Result<models::ProgramPointer> share(const std::function<engine::Result<models::ProgramPointer>()> &make, Ranks) {
    return make();
  }
  /// Worker threads of this process; `asked` is 0 for the usual number. BadInput if the machine has fewer processors.
  virtual engine::Result<int> threads(int asked) { return asked; }
  /// BadInput if this machine has too little memory for these programs at the same time.
  virtual engine::Status checkMemory(const std::vector<models::ProgramPointer> &, int /*threads*/) { return {}; }
  /// A session with the ranks of this process.
  virtual engine::Result<std::unique_ptr<engine::Session>> createSession(const models::ProgramPointer &program,
                                                                         const engine::SessionOptions &options) {
    return engine::Session::create(program, options);
  }
  /// The arenas of all ranks of all processes' sessions, by rank.
  virtual engine::Result<std::vector<engine::ArenaUse>> arenaUse(const engine::Session &session) { return session.arenaUse(); }
};

} // namespace npar::verify
