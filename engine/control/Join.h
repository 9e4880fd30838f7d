// Connects the processes of a job on the control channel: a star around process 0, and one around its deputy.
#pragma once

#include "engine/control/Connection.h"
#include "engine/control/ControlCore.h"
#include "engine/network/ProvenConnections.h"

#include <functional>
#include <vector>

namespace npar::engine {

/// Gives every process the bytes of all, by process; all must call it the same number of times.
using GatherBytes = std::function<Result<std::vector<std::vector<uint8_t>>>(const std::vector<uint8_t> &)>;

struct JobPeer {
  PeerName name;
  uint64_t start = 0;      ///< start time of the process, see startOf
  std::string identity;    ///< identity of its host
  bool oneAddress = false; ///< its group uses the only one of `addresses`
  std::vector<uint32_t> addresses;
};

struct JoinedJob {
  std::vector<JobPeer> peers;
  std::vector<Connection> connections; ///< by process; open to the processes that this one reaches
};

struct JoinOptions {
  uint32_t process = 0, processes = 1;
  std::string host;     ///< name of this process's host in reports
  double seconds = 0;   ///< time to wait for the others
  uint32_t address = 0; ///< address at which the others reach this process; 0: any of its host's
  JobKeyPointer key;    ///< null: the gathered token is used instead
};

/// Called by all processes at the same time. Returns when all are connected, or the reason why they cannot be. Gathers three times, also
/// after an error. Afterwards no process listens.
///
/// If every process has an address, the listeners bind it. Otherwise they bind the loopback if all processes run on one host, and all
/// addresses if not. Each connection begins with a Handshake, by the job's key or by the token of the listening process.
Result<JoinedJob> joinJob(const JoinOptions &options, const GatherBytes &gather);

} // namespace npar::engine
