// Conformance test of transports, as one function that all processes (or threads in their place) call at once.
#include "tests/engine/comm/process/TransportConformance.h"

#include <chrono>
#include <deque>
#include <thread>
#include <vector>

namespace npar::testing {

using namespace engine;

namespace {

struct Noted final : MessageDone {
  void messageDone(const Status &status) override {
    ++calls;
    result = status;
  }
  int calls = 0;
  Status result;
};

/// The value at a place of message `number` from one process to another.
uint8_t valueOf(uint32_t from, uint32_t to, uint32_t tag, uint32_t number, size_t at) {
  return static_cast<uint8_t>(from * 31 + to * 17 + tag * 7 + number * 3 + at * 13 + (at >> 8));
}

std::vector<uint8_t> contentOf(uint32_t from, uint32_t to, uint32_t tag, uint32_t number, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t at = 0; at < size; ++at)
    bytes[at] = valueOf(from, to, tag, number, at);
  return bytes;
}

/// Sleeps if nothing moved: with more processes than cores, the others must get CPU time.
void progressOrWait(Transport &transport) {
  if (!transport.progress())
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

/// The messages in flight; their buffers do not move in memory.
struct Messages {
  struct Sent {
    std::vector<uint8_t> bytes;
    Noted done;
  };
  struct Received {
    std::vector<uint8_t> bytes, expected;
    Noted done;
  };
  std::deque<Sent> sent;
  std::deque<Received> received;

  void send(Transport &transport, uint32_t to, uint32_t tag, uint32_t number, size_t size) {
    Sent &message = sent.emplace_back();
    message.bytes = contentOf(transport.process(), to, tag, number, size);
    transport.send(to, tag, message.bytes.data(), size, message.done);
  }
  void receive(Transport &transport, uint32_t from, uint32_t tag, uint32_t number, size_t size) {
    Received &message = received.emplace_back();
    message.bytes.resize(size);
    message.expected = contentOf(from, transport.process(), tag, number, size);
    transport.receive(from, tag, message.bytes.data(), size, message.done);
  }
  /// Waits until all messages are done; returns an empty text, or what is wrong.
  std::string finish(Transport &transport) {
    auto waits = [&] {
      bool some = false;
      for (const Sent &message : sent)
        some |= message.done.calls == 0;
      for (const Received &message : received)
        some |= message.done.calls == 0;
      return some;
    };
    for (auto begun = std::chrono::steady_clock::now(); waits(); progressOrWait(transport))
      if (std::chrono::steady_clock::now() - begun > std::chrono::seconds(20))
        return "messages are not done after 20 s";
    for (int i = 0; i < 100; ++i)
      transport.progress();
    for (const Sent &message : sent)
      if (message.done.calls != 1 || !message.done.result.ok())
        return "a send was told " + std::to_string(message.done.calls) + " times: " + message.done.result.message();
    for (const Received &message : received)
      if (message.done.calls != 1 || !message.done.result.ok())
        return "a receive was told " + std::to_string(message.done.calls) + " times: " + message.done.result.message();
      else if (message.bytes != message.expected)
        return "a message of " + std::to_string(message.bytes.size()) + " bytes came with other content";
    sent.clear(), received.clear();
    return "";
  }
};

/// Passes a token on round the ring, from within `messageDone`.
struct Relay final : MessageDone {
  Relay(Transport &transport, uint32_t rounds) : transport(transport), left(rounds) {}
  uint32_t next() const { return (transport.process() + 1) % transport.processes(); }
  uint32_t previous() const { return (transport.process() + transport.processes() - 1) % transport.processes(); }
  void receive() { transport.receive(previous(), 9, &token, sizeof(token), *this); }
  void send(uint32_t value) {
    values.push_back(value);
    transport.send(next(), 9, &values.back(), sizeof(uint32_t), sent);
  }
  void messageDone(const Status &status) override {
    good &= status.ok();
    --left;
    if (transport.process() > 0 || left > 0)
      send(token + 1);
    if (left > 0)
      receive();
  }
  Transport &transport;
  uint32_t left, token = 0;
  std::deque<uint32_t> values; ///< contents of the messages sent
  bool good = true;
  Noted sent;
};

std::string whatIsWrongWithRelays(Transport &transport) {
  constexpr uint32_t rounds = 5;
  Relay relay(transport, rounds);
  relay.receive();
  if (transport.process() == 0)
    relay.send(0);
  for (auto begun = std::chrono::steady_clock::now(); relay.left > 0 || relay.sent.calls < static_cast<int>(rounds);
       progressOrWait(transport))
    if (std::chrono::steady_clock::now() - begun > std::chrono::seconds(20))
      return "a token is not back after 20 s";
  uint32_t before = transport.process() > 0 ? transport.process() - 1 : transport.processes() - 1;
  if (relay.token != (rounds - 1) * transport.processes() + before)
    return "a token came with the wrong number, " + std::to_string(relay.token);
  return relay.good ? "" : "a token came with an error";
}

} // namespace

std::string whatDoesNotConform(Transport &transport) {
  uint32_t self = transport.process(), count = transport.processes();
  if (transport.name().empty() || self >= count || transport.greatestTag() < 32767)
    return "name, process or greatest tag are wrong";
  if (transport.progress())
    return "progress without a message";
  Messages messages;
  // Messages to and from each process: sizes on both sides of any library's limits, receives before and after the sends, tags that are sent
  // in a different order than received, many messages with one tag.
  for (uint32_t sends = 0; sends < 2; ++sends) {
    auto all = [&](bool isSend) {
      for (uint32_t step = 1; step < count; ++step) {
        uint32_t peer = isSend ? (self + step) % count : (self + count - step) % count;
        auto message = [&](uint32_t tag, uint32_t number, size_t size) {
          isSend ? messages.send(transport, peer, tag, number, size) : messages.receive(transport, peer, tag, number, size);
        };
        uint32_t number = 0;
        for (size_t size : {size_t(0), size_t(1), size_t(1024), size_t(70000), size_t(300000)})
          message(3, number++, size);
        for (uint32_t tag : {isSend ? 5u : 6u, isSend ? 6u : 5u, transport.greatestTag()})
          message(tag, 0, 100);
        for (uint32_t i = 0; i < 200; ++i)
          message(8, i, 64);
      }
    };
    all(sends == 0);
    if (sends == 0)
      for (int i = 0; i < 10; ++i)
        transport.progress();
    all(sends != 0);
    if (std::string wrong = messages.finish(transport); !wrong.empty())
      return wrong;
  }
  return count > 1 ? whatIsWrongWithRelays(transport) : "";
}

} // namespace npar::testing
