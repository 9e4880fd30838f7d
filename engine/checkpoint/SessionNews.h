// The messages between sessions that write a checkpoint together.
#pragma once

#include "engine/checkpoint/SessionNews_generated.h"
#include "engine/checkpoint/Shard.h"
#include "engine/runtime/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

using wire::SaveState;

struct SessionNews {
  SaveState state = SaveState::Working;
  Status failure;                  ///< of Failed and Lost
  std::string tag;                 ///< of the lowest session, at the beginning
  std::vector<ShardRecord> shards; ///< of Written
};

std::vector<uint8_t> pack(const SessionNews &news);
/// Returns nothing if the bytes are not valid news; accepts any bytes.
std::optional<SessionNews> unpackNews(const std::vector<uint8_t> &bytes);

/// Gives this session's news and gets those of all, by session: called by all of them, between steps.
Result<std::vector<SessionNews>> shareNews(const Session &session, const SessionNews &own);

} // namespace npar::engine
