// Messages over TCP: a connection between any two processes, and no library. Where no MPI is, as with torchrun's variables.
#pragma once

#include "engine/comm/process/Progress.h"
#include "engine/comm/tcp/TcpRendezvous.h"

namespace npar::engine {

/// Bytes of a message at most: what announces more is no process of the job. Everything larger is sent in pieces.
constexpr size_t greatestTcpMessage = size_t{64} << 20;

/// Opens when all processes of the job have. A peer whose connection ends fails what is under way with it. A message that nobody waits for
/// yet is kept, whole, until somebody does.
OpenTransport tcpTransport(TcpJob job);

} // namespace npar::engine
