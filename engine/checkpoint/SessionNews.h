// The messages between sessions that write a checkpoint together.
#pragma once

#include "engine/checkpoint/Shard.h"
#include "engine/runtime/Session.h"

#include <string>
#include <vector>

namespace npar::engine {

/// How far a session is. Begun: said by the session with rank 0, the folder is there, and all may write to it; Written: its shards are;
/// Committed: said by the session that writes the manifest; Lost: it has failed, and there is no snapshot to try it again with.
enum class SaveState : uint8_t { Working, Begun, Written, Committed, Failed, Lost };

struct SessionNews {
  SaveState state = SaveState::Working;
  Status failure;                  ///< of Failed and Lost
  std::string tag;                 ///< of the lowest session, at the beginning
  std::vector<ShardRecord> shards; ///< of Written
};

/// Gives this session's news and gets those of all, by session: called by all of them, between steps.
Result<std::vector<SessionNews>> shareNews(const Session &session, const SessionNews &own);

} // namespace npar::engine
