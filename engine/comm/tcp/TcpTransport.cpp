// Sends frames of tag, size and bytes on non-blocking sockets.
#include "engine/comm/tcp/TcpTransport.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <thread>
#include <utility>

namespace npar::engine {

namespace {

struct Header {
  uint32_t tag, size;
};
constexpr uint32_t farewellTag = ~0u;
constexpr size_t mostAtOnce = 4 << 20; ///< bytes that are read from one process before the others get their turn
constexpr size_t keptAtOnce = 1 << 20; ///< first memory of a message that has no receive yet; it doubles as bytes arrive

/// The bytes of an arriving message: into a receive's buffer, or kept for a later receive.
struct Arriving {
  uint8_t *bytes = nullptr;
  size_t size = 0;             ///< size of the receive
  MessageDone *done = nullptr; ///< null: no receive waits for it yet
  std::vector<uint8_t> kept;   ///< the bytes so far of a message without a receive, with some room; all bytes of a complete one
  bool whole = false;
};

struct Leaving {
  Header header;
  const uint8_t *bytes;
  MessageDone *done; ///< null: a farewell
  size_t sent = 0;   ///< bytes sent, header included
};

struct Peer {
  files::Descriptor socket;
  std::deque<Leaving> out;
  bool waitsToSend = false;                                        ///< epoll is asked to report when there is room
  std::map<uint32_t, std::deque<Arriving>> posted;                 ///< by tag: receives without a message yet
  std::map<uint32_t, std::deque<std::unique_ptr<Arriving>>> early; ///< by tag: messages that came before a receive was posted
  Header header{};
  size_t headerBytes = 0, bodyBytes = 0; ///< bytes received of the current frame
  Arriving direct;                       ///< the current message, if a receive was posted for it
  Arriving *current = nullptr;           ///< destination of its bytes; null: between frames
  bool saidFarewell = false;
  Status gone; ///< reason for the end of its connection
};

class TcpTransport final : public Transport {
public:
  Status open(const TcpJob &job);
  std::string name() const override { return "TCP"; }
  uint32_t processes() const override { return static_cast<uint32_t>(peers.size()); }
  uint32_t process() const override { return self; }
  uint32_t address() const override { return ownAddress; }
  uint32_t greatestTag() const override { return INT32_MAX; }
  void send(uint32_t to, uint32_t tag, const void *bytes, size_t size, MessageDone &done) override;
  void receive(uint32_t from, uint32_t tag, void *bytes, size_t size, MessageDone &done) override;
  bool progress() override;
  Status leave() override;

private:
  void tell(MessageDone *done, Status status = {}) { told.emplace_back(done, std::move(status)); }
  void flush(Peer &peer);
  void read(Peer &peer);
  bool beginFrame(Peer &peer);
  void endFrame(Peer &peer);
  void lose(Peer &peer, const std::string &why);
  void watch(Peer &peer, bool sends);
  std::string nameOf(const Peer &peer) const { return "process " + std::to_string(&peer - peers.data()); }

  uint32_t self = 0, ownAddress = 0;
  std::vector<Peer> peers; ///< by process
  files::Descriptor events;
  bool moved = false;                                 ///< bytes for a local receive have moved since the last `progress` or in it
  std::vector<std::pair<MessageDone *, Status>> told; ///< to be notified at the end of the next `progress`
};

Status sizesDiffer(const std::string &from, size_t came, size_t expected) {
  return Status::runFailed(from + " sent a message of " + std::to_string(came) + " bytes where " + std::to_string(expected) +
                           " were expected");
}

Status TcpTransport::open(const TcpJob &job) {
  Result<TcpMeeting> meeting = meetByTcp(job);
  if (!meeting.ok())
    return meeting.status();
  self = job.process, ownAddress = meeting->address;
  peers.resize(job.processes);
  events = files::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events)
    return Status::runFailed(std::string("sockets cannot be watched: ") + std::strerror(errno));
  for (uint32_t process = 0; process < job.processes; ++process) {
    if (process == self)
      continue;
    peers[process].socket = std::move(meeting->sockets[process]);
    epoll_event event{};
    event.events = EPOLLIN, event.data.u32 = process;
    if (::epoll_ctl(events.get(), EPOLL_CTL_ADD, peers[process].socket.get(), &event) != 0)
      return Status::runFailed(std::string("a socket cannot be watched: ") + std::strerror(errno));
  }
  return {};
}

void TcpTransport::watch(Peer &peer, bool sends) {
  if (peer.waitsToSend == sends || !peer.socket)
    return;
  peer.waitsToSend = sends;
  epoll_event event{};
  event.events = sends ? EPOLLIN | EPOLLOUT : EPOLLIN, event.data.u32 = static_cast<uint32_t>(&peer - peers.data());
  ::epoll_ctl(events.get(), EPOLL_CTL_MOD, peer.socket.get(), &event);
}

void TcpTransport::send(uint32_t to, uint32_t tag, const void *bytes, size_t size, MessageDone &done) {
  Peer &peer = peers[to];
  if (size > greatestTcpMessage)
    return tell(&done, Status(Code::Internal, "a message of " + std::to_string(size) + " bytes is too large, TCP takes " +
                                                  std::to_string(greatestTcpMessage)));
  if (!peer.gone.ok())
    return tell(&done, peer.gone);
  peer.out.push_back({{tag, static_cast<uint32_t>(size)}, static_cast<const uint8_t *>(bytes), &done});
  if (peer.out.size() == 1)
    flush(peer);
}

void TcpTransport::receive(uint32_t from, uint32_t tag, void *bytes, size_t size, MessageDone &done) {
  Peer &peer = peers[from];
  auto *target = static_cast<uint8_t *>(bytes);
  auto early = peer.early.find(tag);
  if (early != peer.early.end())
    for (auto message = early->second.begin(); message != early->second.end(); ++message) {
      Arriving &came = **message;
      if (came.done)
        continue;
      if (!came.whole) { // the rest of it is on its way
        came.bytes = target, came.size = size, came.done = &done;
        return;
      }
      if (came.kept.size() == size)
        std::copy(came.kept.begin(), came.kept.end(), target);
      tell(&done, came.kept.size() == size ? Status() : sizesDiffer(nameOf(peer), came.kept.size(), size));
      early->second.erase(message);
      if (early->second.empty())
        peer.early.erase(early);
      return;
    }
  if (!peer.gone.ok())
    return tell(&done, peer.gone);
  Arriving receive;
  receive.bytes = target, receive.size = size, receive.done = &done;
  peer.posted[tag].push_back(std::move(receive));
}

/// Writes what there is room for.
void TcpTransport::flush(Peer &peer) {
  while (peer.socket && !peer.out.empty()) {
    Leaving &message = peer.out.front();
    iovec parts[2] = {{reinterpret_cast<uint8_t *>(&message.header), sizeof(Header)},
                      {const_cast<uint8_t *>(message.bytes), message.header.size}};
    size_t skipped = message.sent;
    for (iovec &part : parts) {
      size_t skip = std::min(skipped, part.iov_len);
      part.iov_base = static_cast<uint8_t *>(part.iov_base) + skip, part.iov_len -= skip, skipped -= skip;
    }
    msghdr all{};
    all.msg_iov = parts, all.msg_iovlen = 2;
    ssize_t count = ::sendmsg(peer.socket.get(), &all, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return watch(peer, true);
    if (count < 0)
      return lose(peer, std::strerror(errno));
    message.sent += static_cast<size_t>(count), moved = true;
    if (message.sent < sizeof(Header) + message.header.size)
      continue;
    if (message.done)
      tell(message.done);
    peer.out.pop_front();
  }
  watch(peer, false);
}

/// Finds where the bytes of the frame go whose header has come; false: it is none.
bool TcpTransport::beginFrame(Peer &peer) {
  const Header &header = peer.header;
  if (header.tag == farewellTag && header.size == 0 && !peer.saidFarewell) {
    peer.saidFarewell = true, peer.headerBytes = 0;
    return true;
  }
  if (header.tag > greatestTag() || header.size > greatestTcpMessage || peer.saidFarewell)
    return false;
  auto posted = peer.posted.find(header.tag);
  if (posted != peer.posted.end() && posted->second.front().size == header.size) {
    peer.direct = std::move(posted->second.front());
    peer.current = &peer.direct;
  } else {
    auto early = std::make_unique<Arriving>();
    if (posted != peer.posted.end())
      early->done = posted->second.front().done, early->size = posted->second.front().size;
    peer.current = peer.early[header.tag].emplace_back(std::move(early)).get();
  }
  if (posted != peer.posted.end()) {
    posted->second.pop_front();
    if (posted->second.empty())
      peer.posted.erase(posted);
  }
  peer.bodyBytes = 0;
  return true;
}

void TcpTransport::endFrame(Peer &peer) {
  Arriving &message = *peer.current;
  message.whole = true;
  if (peer.current == &peer.direct) {
    tell(message.done);
  } else if (message.done) { // a receive was posted for it meanwhile
    bool fits = message.kept.size() == message.size;
    if (fits)
      std::copy(message.kept.begin(), message.kept.end(), message.bytes);
    tell(message.done, fits ? Status() : sizesDiffer(nameOf(peer), message.kept.size(), message.size));
    auto of = peer.early.find(peer.header.tag);
    for (auto each = of->second.begin(); each != of->second.end(); ++each)
      if (each->get() == &message) {
        of->second.erase(each);
        break;
      }
    if (of->second.empty())
      peer.early.erase(of);
  }
  peer.current = nullptr, peer.headerBytes = 0;
}

void TcpTransport::read(Peer &peer) {
  for (size_t all = 0; peer.socket && all < mostAtOnce;) {
    uint8_t *to = reinterpret_cast<uint8_t *>(&peer.header) + peer.headerBytes;
    size_t room = sizeof(Header) - peer.headerBytes;
    if (peer.current) {
      uint64_t end = peer.header.size;
      if (peer.current != &peer.direct) { // what has only been announced takes no memory
        std::vector<uint8_t> &kept = peer.current->kept;
        if (kept.size() == peer.bodyBytes)
          kept.resize(std::min<size_t>(end, kept.size() + std::max(keptAtOnce, kept.size())));
        end = kept.size();
      }
      to = (peer.current == &peer.direct ? peer.direct.bytes : peer.current->kept.data()) + peer.bodyBytes, room = end - peer.bodyBytes;
    }
    ssize_t count = ::recv(peer.socket.get(), to, room, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (count <= 0)
      return lose(peer, count < 0 ? std::strerror(errno) : "it has closed its connection");
    all += static_cast<size_t>(count);
    moved |= peer.current && peer.current->done;
    (peer.current ? peer.bodyBytes : peer.headerBytes) += static_cast<size_t>(count);
    if (!peer.current && peer.headerBytes == sizeof(Header) && !beginFrame(peer))
      return lose(peer, "it sent a message that does not belong to this job");
    if (peer.current && peer.bodyBytes == peer.header.size)
      endFrame(peer);
  }
}

/// Complete messages are kept.
void TcpTransport::lose(Peer &peer, const std::string &why) {
  peer.gone = Status::runFailed(nameOf(peer) + " is lost: " + why);
  if (peer.current && peer.current->done)
    tell(peer.current->done, peer.gone);
  if (peer.current && peer.current != &peer.direct)
    peer.early[peer.header.tag].pop_back();
  peer.current = nullptr;
  for (auto &[tag, receives] : peer.posted)
    for (Arriving &receive : receives)
      tell(receive.done, peer.gone);
  for (Leaving &message : peer.out)
    if (message.done)
      tell(message.done, peer.gone);
  peer.posted.clear(), peer.out.clear();
  peer.socket = files::Descriptor();
}

bool TcpTransport::progress() {
  epoll_event ready[64];
  int count = ::epoll_wait(events.get(), ready, 64, 0);
  for (int i = 0; i < count; ++i) {
    Peer &peer = peers[ready[i].data.u32];
    if (ready[i].events & EPOLLOUT)
      flush(peer);
    if (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
      read(peer);
  }
  std::vector<std::pair<MessageDone *, Status>> now;
  now.swap(told);
  for (const auto &[done, status] : now)
    done->messageDone(status);
  return std::exchange(moved, false) || !now.empty();
}

/// Waits neither for processes that are gone nor for receives without a send.
Status TcpTransport::leave() {
  for (Peer &peer : peers)
    if (peer.socket) {
      peer.out.push_back({{farewellTag, 0}, nullptr, nullptr});
      flush(peer);
    }
  auto waits = [&] {
    for (const Peer &peer : peers)
      if (peer.socket && (!peer.out.empty() || !peer.saidFarewell))
        return true;
    return false;
  };
  while (waits())
    if (!progress())
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  for (Peer &peer : peers)
    peer.socket = files::Descriptor();
  return {};
}

} // namespace

OpenTransport tcpTransport(TcpJob job) {
  return [job = std::move(job)]() -> Result<std::unique_ptr<Transport>> {
    auto transport = std::make_unique<TcpTransport>();
    if (Status status = transport->open(job); !status.ok())
      return status;
    return std::unique_ptr<Transport>(std::move(transport));
  };
}

} // namespace npar::engine
