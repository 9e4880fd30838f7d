// Finds the user who owns the process at the other end of a connection within this host.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace npar::engine {

/// The number of the user who opened (or accepted) the other end of an IPv4 connection over the loopback. Nothing if that end is not
/// accepted yet, is closed, or cannot be looked up: the kernel shows no user for such a socket. Read from /proc/net/tcp, see
/// proc_net_tcp.txt of the kernel's documentation.
std::optional<uint32_t> userAtOtherEnd(int socket);

/// RunFailed if the user cannot be determined, BadInput if it is not this process's user. `whom`: the process in messages.
Status checkOurs(int socket, const std::string &whom);

} // namespace npar::engine
