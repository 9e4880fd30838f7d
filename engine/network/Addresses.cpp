// Finds where processes are on the network. IPv4 alone: a cluster's hosts have such addresses, and a launcher's hosts file names them.
#include "engine/network/Addresses.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <ifaddrs.h>
#include <iterator>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace npar::engine {

namespace {

std::string lineOf(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string linkOf(const char *path) {
  char text[128];
  ssize_t size = ::readlink(path, text, sizeof(text));
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : std::string();
}

sockaddr_in socketAddress(uint32_t address, uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = address;
  result.sin_port = htons(port);
  return result;
}

/// Empty, or why it cannot connect.
std::string connectOne(int socket, uint32_t address, uint16_t port, double deadline) {
  sockaddr_in to = socketAddress(address, port);
  if (::connect(socket, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0)
    return "";
  if (errno != EINPROGRESS)
    return std::strerror(errno);
  pollfd waiting{socket, POLLOUT, 0};
  int ready;
  do
    ready = ::poll(&waiting, 1, static_cast<int>(std::ceil(std::max(0.0, deadline - steadyNow()) * 1000)));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0)
    return "no answer";
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error ? std::strerror(error) : "";
}

} // namespace

double steadyNow() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string hostName() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

std::string hostIdentity() {
  return lineOf("/proc/sys/kernel/random/boot_id") + " " + linkOf("/proc/self/ns/net") + " " + linkOf("/proc/self/ns/pid");
}

uint64_t startOf(int64_t pid) {
  std::string line = lineOf("/proc/" + std::to_string(pid) + "/stat");
  // The name, in parentheses, may hold anything; the start is the 20th field after it.
  size_t at = line.rfind(')');
  for (int field = 0; field < 20 && at != std::string::npos; ++field)
    at = line.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at, nullptr, 10);
}

std::string textOf(uint32_t address) {
  char text[INET_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET, &address, text, sizeof(text));
  return text;
}

bool isLoopback(uint32_t address) { return (ntohl(address) >> 24) == 127; }

bool isOwnAddress(uint32_t address) {
  files::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = socketAddress(address, 0);
  return socket && address != anyAddress && ::bind(socket.get(), reinterpret_cast<sockaddr *>(&at), sizeof(at)) == 0;
}

uint32_t localAddressOf(int socket) {
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  ::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &size);
  return own.sin_addr.s_addr;
}

std::vector<uint32_t> ownAddresses() {
  std::vector<uint32_t> addresses;
  ifaddrs *all = nullptr;
  if (::getifaddrs(&all) != 0)
    return addresses;
  for (ifaddrs *one = all; one; one = one->ifa_next)
    if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) && !(one->ifa_flags & IFF_LOOPBACK))
      addresses.push_back(reinterpret_cast<sockaddr_in *>(one->ifa_addr)->sin_addr.s_addr);
  ::freeifaddrs(all);
  return addresses;
}

void prepareSocket(int socket) {
  int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

Result<std::vector<uint32_t>> addressesOf(const std::string &host) {
  if (host == "localhost")
    return std::vector<uint32_t>{loopbackAddress};
  addrinfo wanted{}, *all = nullptr;
  wanted.ai_family = AF_INET, wanted.ai_socktype = SOCK_STREAM;
  int code = ::getaddrinfo(host.c_str(), nullptr, &wanted, &all);
  if (code != 0)
    return Status::badInput("no IPv4 address of host '" + host + "' is known: " + ::gai_strerror(code));
  std::vector<uint32_t> addresses;
  for (addrinfo *one = all; one; one = one->ai_next)
    addresses.push_back(reinterpret_cast<sockaddr_in *>(one->ai_addr)->sin_addr.s_addr);
  ::freeaddrinfo(all);
  return addresses;
}

Result<Listener> listenAt(uint32_t address, uint16_t port) {
  auto failure = [&](const char *what) {
    std::string where = port ? " at port " + std::to_string(port) : "";
    return Status::runFailed(std::string("cannot ") + what + where + ": " + std::strerror(errno));
  };
  Listener listener;
  listener.socket = files::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.socket)
    return failure("make a socket");
  sockaddr_in at = socketAddress(address, port);
  socklen_t size = sizeof(at);
  int yes = 1; // a port that a job before has left is free
  ::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(listener.socket.get(), reinterpret_cast<sockaddr *>(&at), size) != 0 || ::listen(listener.socket.get(), 4096) != 0 ||
      ::getsockname(listener.socket.get(), reinterpret_cast<sockaddr *>(&at), &size) != 0)
    return failure("listen");
  listener.port = ntohs(at.sin_port);
  return listener;
}

Result<files::Descriptor> connectTo(const std::vector<uint32_t> &addresses, uint16_t port, double deadline) {
  std::string tried;
  for (size_t i = 0; i < addresses.size(); ++i) {
    files::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket)
      return Status::runFailed(std::string("cannot make a socket: ") + std::strerror(errno));
    // Divides the remaining time, so that an unreachable address leaves some for the others.
    double left = deadline - steadyNow();
    std::string why = connectOne(socket.get(), addresses[i], port, steadyNow() + left / static_cast<double>(addresses.size() - i));
    if (why.empty()) {
      prepareSocket(socket.get());
      return socket;
    }
    tried += (tried.empty() ? "" : ", ") + textOf(addresses[i]) + " (" + why + ")";
  }
  return Status::runFailed("no address is reached at port " + std::to_string(port) + ": " + (tried.empty() ? "there is none" : tried));
}

} // namespace npar::engine
