// Connects the processes of a job on the control channel.
#include "engine/control/Join.h"

#include "engine/control/CutText.h"
#include "engine/control/Message_generated.h"
#include "engine/tables/Tables.h"

#include <algorithm>
#include <unistd.h>

namespace npar::engine {

namespace {

constexpr size_t longestName = 256, longestError = 1024, mostAddresses = 64;

struct ListeningAt {
  uint16_t port = 0;
  ControlToken token{};
};

std::vector<uint8_t> introduce(const std::string &host, uint32_t address) {
  wire::PeerT own;
  own.host = cutText(host, longestName), own.identity = cutText(hostIdentity(), longestName);
  own.pid = ::getpid(), own.start = startOf(::getpid());
  own.one_address = address != 0;
  own.addresses = address ? std::vector<uint32_t>{address} : ownAddresses();
  own.addresses.resize(std::min(own.addresses.size(), mostAddresses));
  return tables::pack(own);
}

bool readPeer(const std::vector<uint8_t> &bytes, JobPeer &peer) {
  auto *from = tables::read<wire::Peer>(bytes);
  if (!from || from->host()->size() > longestName || from->identity()->size() > longestName || from->addresses()->size() > mostAddresses)
    return false;
  peer.name.host = from->host()->str(), peer.identity = from->identity()->str();
  peer.name.pid = from->pid(), peer.start = from->start();
  peer.oneAddress = from->one_address();
  peer.addresses.assign(from->addresses()->begin(), from->addresses()->end());
  return !peer.oneAddress || peer.addresses.size() == 1;
}

class Joining {
public:
  Joining(const JoinOptions &options, const GatherBytes &gather)
      : options(options), process(options.process), processes(options.processes), gather(gather), deadline(options.seconds) {}

  Result<JoinedJob> run() {
    Status own;
    for (auto part : {&Joining::meet, &Joining::connect, &Joining::accept})
      if (own.ok())
        own = (this->*part)();
    // Nobody begins before all are connected, and all know who is not.
    const std::string said = cutText(own.message(), longestError);
    Result<std::vector<std::vector<uint8_t>>> all = gather({said.begin(), said.end()});
    if (!own.ok())
      return own;
    if (!all.ok())
      return all.status();
    for (const std::vector<uint8_t> &one : *all)
      if (!one.empty())
        return Status::runFailed({one.begin(), one.begin() + static_cast<ptrdiff_t>(std::min(one.size(), longestError))});
    return std::move(job);
  }

private:
  bool listens() const { return process == 0 || (process == 1 && processes > 2); }
  uint32_t hubs() const { return processes > 2 ? 2 : 1; }

  Status meet() {
    Result<std::vector<std::vector<uint8_t>>> all = gather(introduce(options.host, options.address));
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
    eachHasAnAddress = std::all_of(job.peers.begin(), job.peers.end(), [](const JobPeer &peer) { return peer.oneAddress; });
    std::vector<uint8_t> place;
    if (wrong.ok() && listens())
      wrong = listen(eachHasAnAddress ? options.address : oneHost ? loopbackAddress : anyAddress, place);
    all = gather(place); // also by one for whom something is wrong
    if (!wrong.ok() || !all.ok())
      return wrong.ok() ? all.status() : wrong;
    for (uint32_t i = 0; i < hubs() && i < all->size(); ++i) {
      auto *from = tables::read<wire::Listening>((*all)[i]);
      if (!from || from->token()->size() != hubsAt[i].token.size())
        return Status(Code::Internal, "process " + std::to_string(i) + " does not say where it listens");
      hubsAt[i].port = from->port();
      std::copy(from->token()->begin(), from->token()->end(), hubsAt[i].token.begin());
    }
    return {};
  }

  Status listen(uint32_t address, std::vector<uint8_t> &place) {
    Result<Listener> made = listenAt(address);
    if (!made.ok())
      return Status(made.status().code(), "the control channel " + made.status().message());
    listener = std::move(*made);
    const ControlToken token = makeToken();
    wire::ListeningT own;
    own.port = listener.port, own.token = {token.begin(), token.end()};
    place = tables::pack(own);
    return {};
  }

  /// Uses the token of the listening process if the job has no key: only processes of the job have gathered it.
  HandshakeTerms termsOf(uint32_t hub) const {
    const ControlToken &token = hubsAt[hub].token;
    JobKeyPointer key = options.key ? options.key : std::make_shared<JobKey>(token.data(), token.size());
    return {"control " + std::string(token.begin(), token.end()), process, processes, std::move(key)};
  }

  Status connect() {
    auto nowhere = [](uint32_t) { return Result<uint16_t>(uint16_t{0}); };
    for (uint32_t hub = 0; hub < hubs() && hub < process; ++hub) {
      const JobPeer &peer = job.peers[hub];
      bool near = !eachHasAnAddress && peer.identity == job.peers[process].identity;
      std::string whom = "process " + std::to_string(hub) + " on host '" + peer.name.host + "'";
      HandshakeTerms terms = termsOf(hub);
      Result<files::Descriptor> socket = connectProven(near ? std::vector<uint32_t>{loopbackAddress} : peer.addresses, hubsAt[hub].port,
                                                       terms, hub, nowhere, whom, deadline);
      if (!socket.ok())
        return Status(Code::RunFailed, "process " + std::to_string(process) + " on host '" + job.peers[process].name.host +
                                           "' does not reach the control channel: " + socket.status().message());
      job.connections[hub] = Connection(std::move(*socket), hubsAt[hub].token);
    }
    return {};
  }

  Status accept() {
    if (!listens())
      return {};
    HandshakeTerms terms = termsOf(process);
    Result<std::vector<Arrival>> arrived = acceptProven(listener.socket.get(), terms, process + 1, deadline, nullptr);
    listener = Listener();
    if (!arrived.ok())
      return Status(arrived.status().code(), "the control channel: " + arrived.status().message());
    for (uint32_t other = process + 1; other < processes; ++other)
      job.connections[other] = Connection(std::move((*arrived)[other].socket), hubsAt[process].token);
    return {};
  }

  const JoinOptions &options;
  uint32_t process, processes;
  const GatherBytes &gather;
  Deadline deadline;
  JoinedJob job;
  Listener listener;
  bool eachHasAnAddress = false;
  ListeningAt hubsAt[2];
};

} // namespace

Result<JoinedJob> joinJob(const JoinOptions &options, const GatherBytes &gather) { return Joining(options, gather).run(); }

} // namespace npar::engine
