// Connects the processes of a job by the address of one of them: all connect to process 0, then to each other.
#pragma once

#include "engine/network/ProvenConnections.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

struct TcpJob {
  uint32_t process = 0, processes = 1;
  std::string address;     ///< name or IPv4 address (as text) of process 0's host
  std::string addressFrom; ///< the variable that has it
  uint16_t port = 0;       ///< where process 0 listens
  std::string name;        ///< distinguishes jobs at the same port: the same in all processes
  double seconds = 0;      ///< time to wait for the others
  JobKeyPointer key;       ///< null: allowed only if `address` is a loopback address
  Remark remark;           ///< may be empty
};

struct TcpMeeting {
  std::vector<files::Descriptor> sockets; ///< by process: a connection to it; none for this process
  uint32_t address = 0;                   ///< address of this host over which the others reach this process
};

/// Process 0 listens at the port, on the address of its host that `address` names. Each other process listens at a port of its own, on the
/// local address of its route to process 0, until all have connected. Every connection begins with a Handshake. BadInput before anything
/// listens: the address is not a loopback address and the job has no key, or process 0 runs on another host. BadInput later: two processes
/// have the same number, different process counts or different secrets. Timeout: names the missing processes.
Result<TcpMeeting> meetByTcp(const TcpJob &job);

} // namespace npar::engine
