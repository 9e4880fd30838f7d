// How the processes of a job find each other on the control channel: a star around process 0, and one around its deputy.
#pragma once

#include "engine/control/Connection.h"
#include "engine/control/ControlCore.h"
#include "engine/network/ProvenConnections.h"

#include <functional>
#include <vector>

namespace npar::engine {

/// Every process gives some bytes and gets those of all, by process; all call it equally often.
using GatherBytes = std::function<Result<std::vector<std::vector<uint8_t>>>(const std::vector<uint8_t> &)>;

struct JobPeer {
  PeerName name;
  uint64_t start = 0;   ///< of the process, see startOf
  std::string identity; ///< of its host
  bool oneAddress = false; ///< its group goes over the only one of `addresses`
  std::vector<uint32_t> addresses;
};

struct JoinedJob {
  std::vector<JobPeer> peers;
  std::vector<Connection> connections; ///< by process; open to those whom this process reaches
};

struct JoinOptions {
  uint32_t process = 0, processes = 1;
  std::string host;     ///< what reports call this process's host
  double seconds = 0;   ///< how long one waits for the others
  uint32_t address = 0; ///< over which the others reach this process; 0: any of its host's
  JobKeyPointer key;    ///< null: the token, which is gathered, takes its place
};

/// Called by all processes at the same time; returns when all are connected, or with why they cannot be. Gathers three times, also where
/// something is wrong. Nobody listens afterwards.
///
/// If every process has an address, the listeners bind it. Otherwise they bind the loopback if all processes run on one host, and all
/// addresses if not. Each connection begins with a Handshake, by the job's key or by the token of the listening process.
Result<JoinedJob> joinJob(const JoinOptions &options, const GatherBytes &gather);

} // namespace npar::engine
