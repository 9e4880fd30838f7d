// Locates processes on the network: the identity of a host, its IPv4 addresses, sockets to listen and connect with.
#pragma once

#include "engine/files/Descriptor.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

std::string hostName();

/// An identity that is equal for processes that reach each other by loopback and by signals: this boot, network and process numbering.
std::string hostIdentity();

/// Start time of a process by the kernel's clock, which distinguishes it from a later one with the same number. 0: there is no such
/// process.
uint64_t startOf(int64_t pid);

/// IPv4 addresses of this host in network byte order, without loopback.
std::vector<uint32_t> ownAddresses();

constexpr uint32_t loopbackAddress = 0x0100007f; // 127.0.0.1 in network byte order
constexpr uint32_t anyAddress = 0;               // all addresses of this host

/// Returns the address as text, such as "10.0.0.1".
std::string textOf(uint32_t address);

/// True for 127.0.0.0/8, which only processes of this host reach.
bool isLoopback(uint32_t address);

/// Tells whether sockets of this host can be bound to the address.
bool isOwnAddress(uint32_t address);

/// Returns the address of this end of a connection.
uint32_t localAddressOf(int socket);

struct Listener {
  files::Descriptor socket;
  uint16_t port = 0;
};

/// Listens at one address of this host, or at all (anyAddress); at any free port, or at `port`, which must be free.
Result<Listener> listenAt(uint32_t address, uint16_t port = 0);

/// The IPv4 addresses of a host by its name, or the address itself if `host` is one. "localhost" is the loopback without a look-up (RFC
/// 6761, 6.3.3): a host without /etc/hosts has no other way to know it.
Result<std::vector<uint32_t>> addressesOf(const std::string &host);

/// Tries the addresses in sequence until `deadline` (seconds of the steady clock).
Result<files::Descriptor> connectTo(const std::vector<uint32_t> &addresses, uint16_t port, double deadline);

/// Sets the options of every socket: no delay, no blocking.
void prepareSocket(int socket);

/// Seconds of the steady clock.
double steadyNow();

} // namespace npar::engine
