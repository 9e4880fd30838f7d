// Whose a process at the other end of a connection within this host is.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace npar::engine {

/// The number of the user who opened (or accepted) the other end of an IPv4 connection over the loopback. Nothing where that end is not
/// accepted yet, is closed, or cannot be looked up: the kernel shows no user of such a socket. From /proc/net/tcp, see proc_net_tcp.txt of
/// the kernel's documentation.
std::optional<uint32_t> userAtOtherEnd(int socket);

/// RunFailed where the user cannot be told, BadInput where it is another one than this process's. `whom`: the process in messages.
Status checkOurs(int socket, const std::string &whom);

} // namespace npar::engine
