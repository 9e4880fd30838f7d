// The bytes that a class stores outside of the device's memory, and those that its copies move in a training step.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>

namespace npar::show {

/// Bytes of a rank. The second line counts one training step.
struct TierUse {
  uint64_t host = 0, file = 0;
  uint64_t toHost = 0, toDevice = 0, fromFile = 0, toFile = 0;
};

TierUse tierUseOf(const program::RankClass &rankClass);

/// "1.2 MiB to the host, 1.2 MiB from the host, 2.4 MiB from files, 2.4 MiB to files": what moves; empty if nothing does.
std::string movedText(const TierUse &use);
/// `{host_bytes, file_bytes, to_host_bytes, to_device_bytes, from_file_bytes, to_file_bytes}`.
OrderedJson tierJson(const TierUse &use);

} // namespace npar::show
