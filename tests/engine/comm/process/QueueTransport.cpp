// A transport for tests: threads stand for the processes, queues for the network, which may hold messages back and let others overtake.
#include "tests/engine/comm/process/QueueTransport.h"

#include <algorithm>
#include <cstring>

namespace npar::testing {

using namespace engine;

class QueueTransport final : public Transport {
public:
  QueueTransport(std::shared_ptr<QueueNetwork> network, uint32_t self) : network(std::move(network)), self(self) {}
  std::string name() const override { return "queues 1.0"; }
  uint32_t processes() const override { return static_cast<uint32_t>(network->inboxes.size()); }
  uint32_t process() const override { return self; }
  uint32_t greatestTag() const override { return 32767; } // as little as MPI may have
  void send(uint32_t to, uint32_t tag, const void *bytes, size_t size, MessageDone &done) override {
    auto *begin = static_cast<const uint8_t *>(bytes);
    auto taken = std::make_shared<std::atomic<bool>>(!network->options.rendezvous);
    sends.push_back({taken, &done});
    network->put(to, {self, tag}, {{begin, begin + size}, {}, std::move(taken)});
  }
  void receive(uint32_t from, uint32_t tag, void *bytes, size_t size, MessageDone &done) override {
    receives[{from, tag}].push_back({bytes, size, &done});
  }
  bool progress() override;
  Status leave() override { return {}; }

private:
  struct Send {
    std::shared_ptr<std::atomic<bool>> taken;
    MessageDone *done;
  };
  struct Receive {
    void *bytes;
    size_t size;
    MessageDone *done;
  };
  static Status take(const Receive &receive, const QueueNetwork::Message &message);

  std::shared_ptr<QueueNetwork> network;
  uint32_t self;
  std::deque<Send> sends;
  std::map<QueueNetwork::Row, std::deque<Receive>> receives;
};

bool QueueTransport::progress() {
  std::vector<std::pair<MessageDone *, Status>> told;
  for (auto send = sends.begin(); send != sends.end();)
    if (send->taken->load())
      told.emplace_back(send->done, Status()), send = sends.erase(send);
    else
      ++send;
  QueueNetwork::Inbox &inbox = network->inboxes[self];
  {
    std::lock_guard<std::mutex> lock(inbox.mutex);
    auto now = QueueNetwork::Clock::now();
    for (auto receive = receives.begin(); receive != receives.end();) {
      auto &[row, waiting] = *receive;
      auto messages = inbox.messages.find(row);
      for (; messages != inbox.messages.end() && !waiting.empty() && !messages->second.empty() && messages->second.front().due <= now;
           waiting.pop_front(), messages->second.pop_front())
        told.emplace_back(waiting.front().done, take(waiting.front(), messages->second.front()));
      if (messages != inbox.messages.end() && messages->second.empty())
        inbox.messages.erase(messages), inbox.last.erase(row);
      receive = waiting.empty() ? receives.erase(receive) : std::next(receive);
    }
  }
  for (const auto &[done, status] : told)
    done->messageDone(status);
  return !told.empty();
}

Status QueueTransport::take(const Receive &receive, const QueueNetwork::Message &message) {
  message.taken->store(true);
  if (message.bytes.size() != receive.size)
    return Status(Code::Internal, "a message of " + std::to_string(message.bytes.size()) + " bytes came where " +
                                      std::to_string(receive.size) + " were expected");
  if (receive.size > 0)
    std::memcpy(receive.bytes, message.bytes.data(), receive.size);
  return {};
}

QueueNetwork::QueueNetwork(size_t processes, QueueOptions options) : options(options), inboxes(processes), traffic(processes * processes) {
  for (size_t i = 0; i < processes; ++i)
    inboxes[i].random.seed(options.seed * 1000 + i);
}

void QueueNetwork::put(uint32_t to, const Row &row, Message message) {
  Traffic &pair = traffic[row.first * inboxes.size() + to];
  pair.bytes += message.bytes.size(), ++pair.messages;
  for (uint64_t seen = greatest.load(); seen < message.bytes.size() && !greatest.compare_exchange_weak(seen, message.bytes.size());) {
  }
  if (inboxes[row.first].cut.load())
    return;
  Inbox &inbox = inboxes[to];
  std::lock_guard<std::mutex> lock(inbox.mutex);
  Clock::time_point &last = inbox.last[row];
  double delay = std::uniform_real_distribution<double>(0, options.longestDelay)(inbox.random);
  message.due = last = std::max(last, Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(delay)));
  inbox.messages[row].push_back(std::move(message));
}

uint64_t QueueNetwork::messagesSent(size_t from) const {
  uint64_t sum = 0;
  for (size_t to = 0; to < inboxes.size(); ++to)
    sum += traffic[from * inboxes.size() + to].messages.load();
  return sum;
}

void QueueNetwork::forgetTraffic() {
  for (Traffic &pair : traffic)
    pair.bytes = 0, pair.messages = 0;
}

OpenTransport QueueNetwork::transport(std::shared_ptr<QueueNetwork> network, uint32_t process) {
  return [network, process]() -> Result<std::unique_ptr<Transport>> {
    return std::unique_ptr<Transport>(std::make_unique<QueueTransport>(network, process));
  };
}

} // namespace npar::testing
