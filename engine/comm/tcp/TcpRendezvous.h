// How the processes of a job find each other by the address of one of them alone: all come to process 0, then to each other.
#pragma once

#include "engine/network/Descriptor.h"
#include "engine/status/Status.h"

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
};

/// By process: a connection to it; none to this one. Process 0 listens at the port, on all addresses of its host, and each other one at a
/// port of its own, until all have come. Who says something else than a process of this job does is not heard. RunFailed: whoever was
/// missing when the time was over, or why nobody can come; BadInput: two processes that take themselves for the same one, or count
/// differently.
Result<std::vector<Descriptor>> meetByTcp(const TcpJob &job);

} // namespace npar::engine
