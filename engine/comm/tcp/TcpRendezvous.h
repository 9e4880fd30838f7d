// How the processes of a job find each other by the address of one of them alone: all come to process 0, then to each other.
#pragma once

#include "engine/network/ProvenConnections.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

struct TcpJob {
  uint32_t process = 0, processes = 1;
  std::string address; ///< of process 0's host: a name, or an IPv4 address as text
  uint16_t port = 0;   ///< where process 0 listens
  std::string name;    ///< tells jobs apart that come to the same port: the same in all processes
  double seconds = 0;  ///< how long the others are waited for
  JobKeyPointer key;   ///< null: only where `address` is a loopback address
  Remark remark;       ///< may be empty
};

struct TcpMeeting {
  std::vector<Descriptor> sockets; ///< by process: a connection to it; none to this one
  uint32_t address = 0;            ///< of this host, over which the others reach this process
};

/// Process 0 listens at the port, on the address of its host that `address` names; each other one at a port of its own, on the address that
/// its route to process 0 begins at; until all have come. Every connection begins with a Handshake. BadInput, before anything listens: the
/// address is not a loopback address and the job has no key, or process 0 runs on another host. BadInput, later: two processes have the
/// same number, count differently or have different secrets. Timeout: names the missing processes.
Result<TcpMeeting> meetByTcp(const TcpJob &job);

} // namespace npar::engine
