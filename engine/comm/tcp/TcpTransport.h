// Sends messages over TCP, with a connection between any two processes and no library. For jobs without MPI, such as torchrun's.
#pragma once

#include "engine/comm/process/Progress.h"
#include "engine/comm/tcp/TcpRendezvous.h"

namespace npar::engine {

/// The most bytes of a message. A larger announcement is an error; larger data are sent in pieces.
constexpr size_t greatestTcpMessage = size_t{64} << 20;

/// Opens when all processes of the job have connected. A peer whose connection ends fails the messages in flight with it. A message without
/// a receive is kept, whole, until a receive is posted.
OpenTransport tcpTransport(TcpJob job);

} // namespace npar::engine
