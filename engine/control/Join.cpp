// How the processes of a job find each other on the control channel.
#include "engine/control/Join.h"

#include "engine/control/Bytes.h"
#include "engine/control/Message.h"

#include <algorithm>
#include <list>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace npar::engine {

namespace {

constexpr size_t longestName = 256, longestError = 1024, mostAddresses = 64;
constexpr size_t mostStrangers = 256; ///< connections that have not yet said who they are

struct ListeningAt {
  uint16_t port = 0;
  ControlToken token{};
};

std::vector<uint8_t> introduce(const std::string &host) {
  ByteWriter to;
  to.text(host, longestName);
  to.text(hostIdentity(), longestName);
  to.number(static_cast<int64_t>(::getpid()));
  to.number(startOf(::getpid()));
  std::vector<uint32_t> addresses = ownAddresses();
  addresses.resize(std::min(addresses.size(), mostAddresses));
  to.number(static_cast<uint32_t>(addresses.size()));
  for (uint32_t address : addresses)
    to.number(address);
  return to.take();
}

bool readPeer(const std::vector<uint8_t> &bytes, JobPeer &peer) {
  ByteReader from(bytes.data(), bytes.size());
  peer.name.host = from.text(longestName);
  peer.identity = from.text(longestName);
  peer.name.pid = from.number<int64_t>();
  peer.start = from.number<uint64_t>();
  peer.addresses.resize(from.count(mostAddresses, sizeof(uint32_t)));
  for (uint32_t &address : peer.addresses)
    address = from.number<uint32_t>();
  return from.ended();
}

class Joining {
public:
  Joining(const JoinOptions &options, const GatherBytes &gather)
      : process(options.process), processes(options.processes), host(options.host), gather(gather),
        deadline(steadyNow() + options.seconds) {}

  Result<JoinedJob> run() {
    Status own;
    for (auto part : {&Joining::meet, &Joining::connect, &Joining::accept, &Joining::beWelcomed})
      if (own.ok())
        own = (this->*part)();
    // Nobody begins before all are connected, and all know who is not.
    ByteWriter said;
    said.text(own.message(), longestError);
    Result<std::vector<std::vector<uint8_t>>> all = gather(said.take());
    if (!own.ok())
      return own;
    if (!all.ok())
      return all.status();
    for (const std::vector<uint8_t> &one : *all)
      if (std::string error = ByteReader(one.data(), one.size()).text(longestError); !error.empty())
        return Status::runFailed(error);
    return std::move(job);
  }

private:
  bool listens() const { return process == 0 || (process == 1 && processes > 2); }
  uint32_t hubs() const { return processes > 2 ? 2 : 1; }

  Status meet() {
    Result<std::vector<std::vector<uint8_t>>> all = gather(introduce(host));
    if (!all.ok())
      return all.status();
    Status wrong;
    job.peers.resize(processes);
    job.connections.resize(processes);
    for (uint32_t i = 0; i < processes; ++i)
      if (i >= all->size() || !readPeer((*all)[i], job.peers[i]))
        wrong = Status(Code::Internal, "process " + std::to_string(i) + " does not introduce itself to the control channel");
    bool oneHost =
        std::all_of(job.peers.begin(), job.peers.end(), [&](const JobPeer &peer) { return peer.identity == job.peers.front().identity; });
    ByteWriter place;
    if (wrong.ok() && listens())
      wrong = listen(oneHost, place);
    all = gather(place.take()); // also by one for whom something is wrong
    if (!wrong.ok() || !all.ok())
      return wrong.ok() ? all.status() : wrong;
    for (uint32_t i = 0; i < hubs() && i < all->size(); ++i) {
      ByteReader from((*all)[i].data(), (*all)[i].size());
      hubsAt[i].port = from.number<uint16_t>();
      for (uint8_t &byte : hubsAt[i].token)
        byte = from.number<uint8_t>();
      if (!from.ended())
        return Status(Code::Internal, "process " + std::to_string(i) + " does not say where it listens");
    }
    return {};
  }

  Status listen(bool loopbackOnly, ByteWriter &place) {
    Result<Listener> made = listenAt(loopbackOnly);
    Result<ControlToken> token = makeToken();
    if (!made.ok() || !token.ok())
      return made.ok() ? token.status() : Status(made.status().code(), "the control channel " + made.status().message());
    listener = std::move(*made);
    place.number(listener.port);
    for (uint8_t byte : *token)
      place.number(byte);
    return {};
  }

  Status connect() {
    for (uint32_t hub = 0; hub < hubs() && hub < process; ++hub) {
      const JobPeer &peer = job.peers[hub];
      bool near = peer.identity == job.peers[process].identity;
      Result<Descriptor> socket = connectTo(near ? std::vector<uint32_t>{loopbackAddress} : peer.addresses, hubsAt[hub].port, deadline);
      if (!socket.ok())
        return Status(socket.status().code(), "process " + std::to_string(process) + " on host '" + job.peers[process].name.host +
                                                  "' does not reach process " + std::to_string(hub) + " on host '" + peer.name.host +
                                                  "': " + socket.status().message());
      job.connections[hub] = Connection(std::move(*socket), hubsAt[hub].token);
      Message hello = Message::of(Message::Kind::Hello);
      hello.process = process;
      job.connections[hub].send(encode(hello), true);
    }
    return {};
  }

  /// Strangers say who they are with their first message; who does not know the token, or says what is not so, is dropped.
  Status accept() {
    if (!listens())
      return {};
    std::list<Connection> strangers;
    uint32_t expected = processes - 1 - process;
    while (expected > 0) {
      std::vector<pollfd> waiting = {{listener.socket.get(), POLLIN, 0}};
      for (const Connection &stranger : strangers)
        waiting.push_back({stranger.descriptor(), POLLIN, 0});
      double left = deadline - steadyNow();
      if (left <= 0)
        return Status(Code::Timeout,
                      std::to_string(expected) + " of " + std::to_string(processes) + " processes have not come to the control channel");
      ::poll(waiting.data(), waiting.size(), static_cast<int>(std::min(left, 1.0) * 1000) + 1);
      int socket;
      while ((socket = ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        prepareSocket(socket);
        strangers.emplace_back(Descriptor(socket), hubsAt[process].token);
        if (strangers.size() > mostStrangers)
          strangers.pop_front();
      }
      for (auto stranger = strangers.begin(); stranger != strangers.end();) {
        uint32_t who = 0;
        std::string why = stranger->receive([&](const uint8_t *bytes, size_t size) {
          std::optional<Message> hello = decode(bytes, size);
          bool known = who == 0 && hello && hello->kind == Message::Kind::Hello && hello->process > process && hello->process < processes &&
                       !job.connections[hello->process].open();
          who = known ? hello->process : who;
          return known;
        });
        if (why.empty() && who > 0) {
          job.connections[who] = std::move(*stranger);
          job.connections[who].send(encode(Message::of(Message::Kind::Welcome)), true);
          --expected;
        }
        stranger = !why.empty() || who > 0 ? strangers.erase(stranger) : std::next(stranger);
      }
    }
    listener = Listener();
    return {};
  }

  Status beWelcomed() {
    for (uint32_t hub = 0; hub < hubs() && hub < process; ++hub) {
      bool welcome = false;
      while (!welcome) {
        pollfd waiting{job.connections[hub].descriptor(), POLLIN, 0};
        double left = deadline - steadyNow();
        std::string why = left <= 0 ? "no answer" : "";
        ::poll(&waiting, 1, static_cast<int>(std::clamp(left, 0.0, 1.0) * 1000) + 1);
        if (why.empty())
          why = job.connections[hub].receive([&](const uint8_t *bytes, size_t size) {
            std::optional<Message> message = decode(bytes, size);
            welcome |= message && message->kind == Message::Kind::Welcome;
            return message.has_value();
          });
        if (!why.empty())
          return Status::runFailed("process " + std::to_string(process) + " is not welcome on the control channel of process " +
                                   std::to_string(hub) + ": " + why);
      }
    }
    return {};
  }

  uint32_t process, processes;
  std::string host;
  const GatherBytes &gather;
  double deadline;
  JoinedJob job;
  Listener listener;
  ListeningAt hubsAt[2];
};

} // namespace

Result<JoinedJob> joinJob(const JoinOptions &options, const GatherBytes &gather) { return Joining(options, gather).run(); }

} // namespace npar::engine
