// Greetings of one size, and a table of where everybody listens, which process 0 gives to all.
#include "engine/comm/tcp/TcpRendezvous.h"

#include "engine/network/Addresses.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <list>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace npar::engine {

namespace {

constexpr uint32_t magic = 0x5450524e; // "NRPT"
constexpr size_t mostStrangers = 1024; ///< who come and say nothing yet

/// What a process says first to whom it connects with.
struct Greeting {
  uint32_t magic, process, processes, port;
  uint64_t job;
};
/// Where a process listens; address 0: on the host of process 0.
struct Place {
  uint32_t address, port;
};

uint64_t numberOf(const std::string &name) { // FNV-1a, the same on every machine
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

struct Arrived {
  Descriptor socket;
  uint32_t port = 0, address = 0; ///< address: as it is seen from here
};

class Meeting {
public:
  explicit Meeting(const TcpJob &job) : job(job), deadline(steadyNow() + job.seconds), number(numberOf(job.name)) {}
  Result<std::vector<Descriptor>> run() { return job.process == 0 ? asFirst() : asOther(); }

private:
  Result<std::vector<Descriptor>> asFirst();
  Result<std::vector<Descriptor>> asOther();
  /// Until all processes from `first` on have come.
  Status accept(int listener, uint32_t first);
  Result<bool> hear(Arrived &stranger, const Greeting &greeting, uint32_t first);
  Result<Descriptor> greet(const std::vector<uint32_t> &addresses, uint16_t port, uint32_t ownPort, const std::string &whom);
  Status waitFor(int socket, short events, const std::string &what) const;
  Status exactly(int socket, void *bytes, size_t size, bool sends, const std::string &whom) const;
  std::string missing(uint32_t first) const;

  const TcpJob &job;
  const double deadline;
  const uint64_t number;
  std::vector<Arrived> arrived;
};

int milliseconds(double seconds) { return static_cast<int>(std::ceil(std::min(std::max(0.0, seconds), 1e6) * 1000)); }

Status Meeting::waitFor(int socket, short events, const std::string &what) const {
  pollfd waiting{socket, events, 0};
  int ready;
  do
    ready = ::poll(&waiting, 1, milliseconds(deadline - steadyNow()));
  while (ready < 0 && errno == EINTR);
  return ready > 0 ? Status() : Status::runFailed(what + " within " + std::to_string(static_cast<int>(job.seconds)) + " s");
}

Status Meeting::exactly(int socket, void *bytes, size_t size, bool sends, const std::string &whom) const {
  for (size_t at = 0; at < size;) {
    if (Status status = waitFor(socket, sends ? POLLOUT : POLLIN, whom + " does not answer"); !status.ok())
      return status;
    char *place = static_cast<char *>(bytes) + at;
    ssize_t count = sends ? ::send(socket, place, size - at, MSG_NOSIGNAL) : ::recv(socket, place, size - at, 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
      continue;
    if (count <= 0)
      return Status::runFailed(whom + (count < 0 ? std::string(": ") + std::strerror(errno) : " has closed its connection"));
    at += static_cast<size_t>(count);
  }
  return {};
}

/// Tries until the time is over: whoever is called may start later.
Result<Descriptor> Meeting::greet(const std::vector<uint32_t> &addresses, uint16_t port, uint32_t ownPort, const std::string &whom) {
  for (auto pause = std::chrono::milliseconds(5);; pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
    Result<Descriptor> socket = connectTo(addresses, port, deadline);
    if (socket.ok()) {
      Greeting greeting{magic, job.process, job.processes, ownPort, number};
      Status status = exactly(socket->get(), &greeting, sizeof(greeting), true, whom);
      return status.ok() ? std::move(socket) : Result<Descriptor>(status);
    }
    if (steadyNow() + 0.5 > deadline)
      return Status::runFailed(whom + " is not there: " + socket.status().message());
    std::this_thread::sleep_for(pause);
  }
}

std::string Meeting::missing(uint32_t first) const {
  std::string text;
  size_t count = 0;
  for (uint32_t process = first; process < job.processes; ++process)
    if (!arrived[process].socket && ++count <= 16)
      text += (text.empty() ? "" : ", ") + std::to_string(process);
  return std::string(count == 1 ? "process " : "processes ") + text + (count > 16 ? ", ... " : " ") + (count == 1 ? "has" : "have") +
         " not come";
}

/// False: nobody of this job.
Result<bool> Meeting::hear(Arrived &stranger, const Greeting &greeting, uint32_t first) {
  if (greeting.magic != magic || greeting.job != number)
    return false;
  if (greeting.processes != job.processes)
    return Status::badInput("process " + std::to_string(greeting.process) + " is one of " + std::to_string(greeting.processes) +
                            " processes, process " + std::to_string(job.process) + " one of " + std::to_string(job.processes));
  if (greeting.process < first || greeting.process >= job.processes || greeting.port > UINT16_MAX)
    return false;
  if (arrived[greeting.process].socket)
    return Status::badInput("two processes take themselves for process " + std::to_string(greeting.process) + " of " +
                            std::to_string(job.processes));
  stranger.port = greeting.port;
  arrived[greeting.process] = std::move(stranger);
  return true;
}

Status Meeting::accept(int listener, uint32_t first) {
  struct Stranger {
    Arrived arrived;
    Greeting greeting{};
    size_t heard = 0;
  };
  std::list<Stranger> strangers;
  for (uint32_t left = job.processes - first; left > 0;) {
    std::vector<pollfd> waiting = {{listener, POLLIN, 0}};
    for (const Stranger &stranger : strangers)
      waiting.push_back({stranger.arrived.socket.get(), POLLIN, 0});
    if (steadyNow() >= deadline)
      return Status::runFailed(missing(first) + " within " + std::to_string(static_cast<int>(job.seconds)) + " s");
    ::poll(waiting.data(), waiting.size(), std::min(milliseconds(deadline - steadyNow()), 1000));
    size_t at = 1;
    for (auto each = strangers.begin(); each != strangers.end(); ++at) {
      auto here = each++;
      if (!waiting[at].revents)
        continue;
      ssize_t count = ::recv(here->arrived.socket.get(), reinterpret_cast<char *>(&here->greeting) + here->heard,
                             sizeof(Greeting) - here->heard, MSG_DONTWAIT);
      if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        continue;
      here->heard += count > 0 ? static_cast<size_t>(count) : 0;
      if (count > 0 && here->heard < sizeof(Greeting))
        continue;
      Result<bool> known = count > 0 ? hear(here->arrived, here->greeting, first) : Result<bool>(false);
      if (!known.ok())
        return known.status();
      left -= *known;
      strangers.erase(here);
    }
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    int socket = waiting[0].revents ? ::accept4(listener, reinterpret_cast<sockaddr *>(&from), &size, SOCK_CLOEXEC) : -1;
    if (socket < 0)
      continue;
    prepareSocket(socket);
    Stranger &stranger = strangers.emplace_back();
    stranger.arrived.socket = Descriptor(socket), stranger.arrived.address = from.sin_addr.s_addr;
    if (strangers.size() > mostStrangers)
      strangers.pop_front();
  }
  return {};
}

Result<std::vector<Descriptor>> Meeting::asFirst() {
  arrived.resize(job.processes);
  Result<Listener> listener = listenAt(/*loopbackOnly=*/false, job.port);
  if (!listener.ok())
    return listener.status();
  if (Status status = accept(listener->socket.get(), 1); !status.ok())
    return status;
  std::vector<uint32_t> here = ownAddresses();
  std::vector<Place> places(job.processes);
  for (uint32_t process = 1; process < job.processes; ++process) {
    uint32_t address = arrived[process].address;
    bool near = address == loopbackAddress || std::count(here.begin(), here.end(), address);
    places[process] = {near ? 0 : address, arrived[process].port};
  }
  std::vector<Descriptor> sockets(job.processes);
  for (uint32_t process = 1; process < job.processes; ++process) {
    sockets[process] = std::move(arrived[process].socket);
    if (Status status =
            exactly(sockets[process].get(), places.data(), places.size() * sizeof(Place), true, "process " + std::to_string(process));
        !status.ok())
      return status;
  }
  return sockets;
}

Result<std::vector<Descriptor>> Meeting::asOther() {
  arrived.resize(job.processes);
  Result<std::vector<uint32_t>> first = addressesOf(job.address);
  if (!first.ok())
    return first.status();
  Result<Listener> listener = listenAt(/*loopbackOnly=*/false);
  if (!listener.ok())
    return listener.status();
  std::vector<Descriptor> sockets(job.processes);
  Result<Descriptor> toFirst = greet(*first, job.port, listener->port, "process 0, at " + job.address + ",");
  if (!toFirst.ok())
    return toFirst.status();
  sockets[0] = std::move(*toFirst);
  std::vector<Place> places(job.processes);
  if (Status status = exactly(sockets[0].get(), places.data(), places.size() * sizeof(Place), false, "process 0"); !status.ok())
    return status;
  for (uint32_t process = 1; process < job.process; ++process) {
    std::vector<uint32_t> at = places[process].address ? std::vector<uint32_t>{places[process].address} : *first;
    Result<Descriptor> socket = greet(at, static_cast<uint16_t>(places[process].port), 0, "process " + std::to_string(process));
    if (!socket.ok())
      return socket.status();
    sockets[process] = std::move(*socket);
  }
  if (Status status = accept(listener->socket.get(), job.process + 1); !status.ok())
    return status;
  for (uint32_t process = job.process + 1; process < job.processes; ++process)
    sockets[process] = std::move(arrived[process].socket);
  return sockets;
}

} // namespace

Result<std::vector<Descriptor>> meetByTcp(const TcpJob &job) { return Meeting(job).run(); }

} // namespace npar::engine
