// Runs one loop over a listener and the connections that are not proven yet; and attempts to connect, with pauses between them.
#include "engine/network/ProvenConnections.h"

#include "engine/network/PeerUser.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <list>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <thread>

namespace npar::engine {

namespace {

constexpr size_t mostStrangers = 256; ///< connections that are not proven yet
constexpr double patience = 10;       ///< seconds that each of them has
constexpr double shortest = 1;        ///< seconds that each of them has at least, however many come
constexpr size_t mostRefused = 8;     ///< whom messages name

int milliseconds(double seconds) { return static_cast<int>(std::ceil(std::min(std::max(0.0, seconds), 1e6) * 1000)); }

Status waitFor(int socket, short events, const std::string &whom, const Deadline &deadline) {
  pollfd waiting{socket, events, 0};
  int ready;
  do
    ready = ::poll(&waiting, 1, milliseconds(deadline.left()));
  while (ready < 0 && errno == EINTR);
  return ready > 0 ? Status() : Status(Code::Timeout, whom + " does not answer " + deadline.text());
}

/// Calls `move(at)` for the bytes from `at` on until all have moved.
template <typename Move>
Status moveExactly(int socket, size_t size, short events, const std::string &whom, const Deadline &deadline, Move move) {
  for (size_t at = 0; at < size;) {
    if (Status status = waitFor(socket, events, whom, deadline); !status.ok())
      return status;
    ssize_t count = move(at);
    if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
      continue;
    if (count <= 0)
      return Status::runFailed(whom + (count < 0 ? std::string(": ") + std::strerror(errno) : " has closed its connection"));
    at += static_cast<size_t>(count);
  }
  return {};
}

struct Stranger {
  Stranger(files::Descriptor socket, uint32_t address, const HandshakeTerms &own)
      : arrival{std::move(socket), address, 0}, handshake(Handshake::accepting(own)), since(steadyNow()) {}
  Arrival arrival;
  Handshake handshake;
  double since;
};

class Reception {
public:
  Reception(int listener, const HandshakeTerms &own, uint32_t first, const Deadline &deadline, const Remark &remark)
      : listener(listener), own(own), first(first), deadline(deadline), remark(remark), arrived(own.processes),
        left(own.processes - std::min(first, own.processes)) {}

  Result<std::vector<Arrival>> run() {
    while (left > 0) {
      if (deadline.left() <= 0)
        return Status(Code::Timeout, missing());
      std::vector<pollfd> waiting = {{listener, static_cast<short>(isFull() ? 0 : POLLIN), 0}};
      for (const Stranger &stranger : strangers)
        waiting.push_back({stranger.arrival.socket.get(), POLLIN, 0});
      ::poll(waiting.data(), waiting.size(), std::min(milliseconds(deadline.left()), 200));
      size_t at = 1;
      for (auto each = strangers.begin(); each != strangers.end(); ++at) {
        auto here = each++;
        bool ended = waiting[at].revents ? hear(*here) : steadyNow() - here->since > patience;
        if (!wrong.ok())
          return wrong;
        if (ended)
          strangers.erase(here);
      }
      if (waiting[0].revents)
        accept();
    }
    return std::move(arrived);
  }

private:
  bool isFull() {
    if (strangers.size() >= mostStrangers && steadyNow() - strangers.front().since > shortest)
      strangers.pop_front();
    return strangers.size() >= mostStrangers;
  }

  void accept() {
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    int socket = ::accept4(listener, reinterpret_cast<sockaddr *>(&from), &size, SOCK_CLOEXEC);
    if (socket >= 0) {
      prepareSocket(socket);
      strangers.emplace_back(files::Descriptor(socket), from.sin_addr.s_addr, own);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (strangers.empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      else
        strangers.pop_front();
    }
  }

  /// Reads from a stranger; returns true when its handshake is over.
  bool hear(Stranger &stranger) {
    Handshake &handshake = stranger.handshake;
    uint8_t bytes[64];
    ssize_t count = ::recv(stranger.arrival.socket.get(), bytes, std::min(sizeof(bytes), handshake.wants()), MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
      return false;
    if (count <= 0)
      return true;
    handshake.hear(bytes, static_cast<size_t>(count));
    if (handshake.state() == Handshake::State::Claimed)
      judge(stranger);
    std::vector<uint8_t> answer = handshake.take();
    bool sent = answer.empty() || ::send(stranger.arrival.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                                      static_cast<ssize_t>(answer.size());
    if (handshake.state() == Handshake::State::Refused)
      refuse(stranger);
    if (handshake.state() == Handshake::State::Running && sent)
      return false;
    if (handshake.state() == Handshake::State::Done && sent) {
      stranger.arrival.port = static_cast<uint16_t>(handshake.claim().port);
      arrived[handshake.claim().process] = std::move(stranger.arrival);
      --left;
    }
    return true;
  }

  void judge(Stranger &stranger) {
    Handshake &handshake = stranger.handshake;
    uint32_t process = handshake.claim().process;
    handshake.answer(!own.key && !checkOurs(stranger.arrival.socket.get(), "it").ok() ? Handshake::Verdict::OtherUser
                     : process < first                                                ? Handshake::Verdict::OtherJob
                     : arrived[process].socket                                        ? Handshake::Verdict::Taken
                                                                                      : Handshake::Verdict::Welcome);
  }

  /// Ends the job for a proved contradiction, and reports an unproved claim.
  void refuse(const Stranger &stranger) {
    const Handshake &handshake = stranger.handshake;
    if (handshake.verdict() == Handshake::Verdict::CountsDiffer)
      wrong = Status::badInput("process " + std::to_string(handshake.claim().process) + " is one of " +
                               std::to_string(handshake.claim().processes) + " processes, process " + std::to_string(own.process) +
                               " one of " + std::to_string(own.processes));
    else if (handshake.verdict() == Handshake::Verdict::Taken)
      wrong = Status::badInput("two processes claim to be process " + std::to_string(handshake.claim().process) + " of " +
                               std::to_string(own.processes));
    else {
      bool named = handshake.verdict() && handshake.claim().process < own.processes;
      std::string text = (named ? "process " + std::to_string(handshake.claim().process) : "a process") + " at " +
                         textOf(stranger.arrival.address) + " was refused: " + handshake.why();
      if (refused.size() < mostRefused && refused.insert(text).second && remark)
        remark(text + "; " + secretAdvice);
    }
  }

  std::string missing() const {
    std::string text;
    size_t count = 0;
    for (uint32_t process = first; process < own.processes; ++process)
      if (!arrived[process].socket && ++count <= 16)
        text += (text.empty() ? "" : ", ") + std::to_string(process);
    text = std::string(count == 1 ? "process " : "processes ") + text + (count > 16 ? ", ... " : " ") + (count == 1 ? "has" : "have") +
           " not come " + deadline.text();
    for (const std::string &each : refused)
      text += "; " + each;
    return text;
  }

  int listener;
  const HandshakeTerms &own;
  uint32_t first;
  const Deadline &deadline;
  const Remark &remark;
  std::vector<Arrival> arrived;
  uint32_t left;
  std::list<Stranger> strangers;
  std::set<std::string> refused;
  Status wrong;
};

/// Runs one handshake; its state tells the outcome.
Status shakeHands(int socket, Handshake &handshake, const std::string &whom, const Deadline &deadline) {
  uint8_t bytes[64];
  for (;;) {
    std::vector<uint8_t> out = handshake.take();
    if (Status status = sendExactly(socket, out.data(), out.size(), whom, deadline); !status.ok())
      return status;
    if (handshake.state() != Handshake::State::Running)
      return {};
    size_t size = std::min(sizeof(bytes), handshake.wants());
    if (Status status = receiveExactly(socket, bytes, size, whom, deadline); !status.ok())
      return status;
    handshake.hear(bytes, size);
  }
}

} // namespace

Status sendExactly(int socket, const void *bytes, size_t size, const std::string &whom, const Deadline &deadline) {
  auto *begin = static_cast<const uint8_t *>(bytes);
  return moveExactly(socket, size, POLLOUT, whom, deadline, [&](size_t at) { return ::send(socket, begin + at, size - at, MSG_NOSIGNAL); });
}

Status receiveExactly(int socket, void *bytes, size_t size, const std::string &whom, const Deadline &deadline) {
  auto *begin = static_cast<uint8_t *>(bytes);
  return moveExactly(socket, size, POLLIN, whom, deadline, [&](size_t at) { return ::recv(socket, begin + at, size - at, 0); });
}

Result<std::vector<Arrival>> acceptProven(int listener, const HandshakeTerms &own, uint32_t first, const Deadline &deadline,
                                          const Remark &remark) {
  return Reception(listener, own, first, deadline, remark).run();
}

Result<files::Descriptor> connectProven(const std::vector<uint32_t> &addresses, uint16_t port, const HandshakeTerms &own, uint32_t peer,
                                        const std::function<Result<uint16_t>(uint32_t ownAddress)> &portFor, const std::string &whom,
                                        const Deadline &deadline) {
  for (auto pause = std::chrono::milliseconds(5);; pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
    Result<files::Descriptor> socket = connectTo(addresses, port, deadline.at);
    std::string why = socket.ok() ? "" : socket.status().message();
    if (socket.ok()) {
      Result<uint16_t> ownPort = portFor(localAddressOf(socket->get()));
      if (!ownPort.ok())
        return ownPort.status();
      Handshake handshake = Handshake::connecting(own, peer, *ownPort);
      Status status = shakeHands(socket->get(), handshake, "it", deadline);
      if (status.ok() && handshake.state() == Handshake::State::Done) {
        // Checked only now, because the other end has no user before it accepts. Its data have not been read yet.
        Status trusted = own.key ? Status() : checkOurs(socket->get(), whom);
        return trusted.ok() ? std::move(socket) : Result<files::Descriptor>(trusted);
      }
      if (status.ok() && handshake.state() == Handshake::State::Refused)
        return Status::badInput(whom + " and this process cannot join: " + handshake.why());
      why = status.ok() ? handshake.why() : status.message();
    }
    if (deadline.left() < 0.5)
      return Status(Code::Timeout, whom + " has not connected: " + why);
    std::this_thread::sleep_for(pause);
  }
}

} // namespace npar::engine
