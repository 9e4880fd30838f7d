// Reads the kernel's table of TCP sockets.
#include "engine/network/PeerUser.h"

#include "engine/network/JobSecret.h"

#include <cstdio>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace npar::engine {

namespace {

constexpr unsigned established = 1; ///< TCP_ESTABLISHED of the kernel

/// A connection's line in the table. `lineOf` returns nothing if the connection has none.
struct Line {
  unsigned state, user;
  unsigned long inode;
};

std::optional<Line> lineOf(const sockaddr_in &own, const sockaddr_in &peer) {
  std::unique_ptr<FILE, int (*)(FILE *)> table(std::fopen("/proc/self/net/tcp", "re"), std::fclose);
  if (!table)
    return std::nullopt;
  char line[512];
  while (std::fgets(line, sizeof(line), table.get())) {
    unsigned localAddress, localPort, remoteAddress, remotePort, state, user;
    unsigned long inode;
    // Addresses are printed in memory order, ports as numbers. A socket that no process holds has inode 0, and user 0 in the table.
    if (std::sscanf(line, " %*u: %8X:%4X %8X:%4X %2X %*X:%*X %*X:%*X %*X %u %*u %lu", &localAddress, &localPort, &remoteAddress,
                    &remotePort, &state, &user, &inode) == 7 &&
        localAddress == peer.sin_addr.s_addr && localPort == ntohs(peer.sin_port) && remoteAddress == own.sin_addr.s_addr &&
        remotePort == ntohs(own.sin_port))
      return Line{state, user, inode};
  }
  return std::nullopt;
}

} // namespace

std::optional<uint32_t> userAtOtherEnd(int socket) {
  sockaddr_in own{}, peer{};
  socklen_t ownSize = sizeof(own), peerSize = sizeof(peer);
  if (::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &ownSize) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr *>(&peer), &peerSize) != 0 || own.sin_family != AF_INET)
    return std::nullopt;
  // A table that changes while it is read may lack a line.
  for (int attempt = 0; attempt < 10; ++attempt)
    if (std::optional<Line> line = lineOf(own, peer))
      return line->state == established && line->inode != 0 ? std::optional<uint32_t>(line->user) : std::nullopt;
  return std::nullopt;
}

Status checkOurs(int socket, const std::string &whom) {
  std::optional<uint32_t> user = userAtOtherEnd(socket);
  if (!user)
    return Status::runFailed(whom + " has closed its connection");
  if (*user != ::geteuid())
    return Status::badInput(whom + " belongs to user " + std::to_string(*user) + ", this process to user " + std::to_string(::geteuid()) +
                            ", and there is no job secret; " + secretAdvice);
  return {};
}

} // namespace npar::engine
