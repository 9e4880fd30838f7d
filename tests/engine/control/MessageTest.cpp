// Messages of the control channel are read back as written, and hostile bytes are neither read as a message nor crash.
#include "engine/control/Message.h"

#include <gtest/gtest.h>
#include <random>

using namespace npar::engine;

namespace {

Wait someWait(size_t missing) {
  Wait wait;
  wait.place = {3, 12, 1, "B0:1", "all_reduce h.3.attn", "gpt2.npar:14:3"};
  wait.meeting = {12, true, 5, 1, 0, 3};
  wait.missing.assign(missing, 7);
  return wait;
}

std::vector<Message> someMessages() {
  std::vector<Message> messages;
  for (int kind = 0; kind <= static_cast<int>(Message::Kind::Bye); ++kind) {
    Message message = Message::of(static_cast<Message::Kind>(kind), 9);
    message.ranks = {4, 5};
    message.state.progress = 99, message.state.phase = "loading", message.state.lateSeconds = 0.25;
    message.state.ranks.resize(2);
    message.state.ranks[1].waits = {someWait(2), someWait(0)};
    message.told.code = Code::RunFailed, message.told.text = "a kernel failed", message.told.accused = 2;
    message.questions = {{3, someWait(0).meeting}};
    message.answers = {Joined::Done, Joined::NotYet};
    message.report.message = "rank 3 is slow", message.report.lost = {1, 2}, message.report.process = 1;
    message.report.waiting.push_back({someWait(3), 1, "left"});
    messages.push_back(message);
  }
  return messages;
}

TEST(MessageTest, WhatIsWrittenIsRead) {
  for (const Message &message : someMessages()) {
    std::vector<uint8_t> bytes = encode(message);
    std::optional<Message> read = decode(bytes.data(), bytes.size());
    ASSERT_TRUE(read) << static_cast<int>(message.kind);
    EXPECT_EQ(encode(*read), bytes);
    EXPECT_EQ(read->kind, message.kind);
    EXPECT_EQ(read->round, 9u);
  }
  std::vector<uint8_t> beat = encode(someMessages()[static_cast<size_t>(Message::Kind::Beat)]);
  std::optional<Message> read = decode(beat.data(), beat.size());
  EXPECT_EQ(read->state.ranks[1].waits[0].meeting, someWait(0).meeting);
  EXPECT_EQ(read->state.ranks[1].waits[0].missing, (std::vector<int64_t>{7, 7}));
}

// The size of a message is bounded for any number of ranks and waits, and the message has the number that it leaves out.
TEST(MessageTest, AMessageIsBounded) {
  Message beat = Message::of(Message::Kind::Beat), verdict = Message::of(Message::Kind::Verdict);
  beat.state.phase = std::string(100000, 'x');
  beat.state.ranks.resize(100);
  for (RankState &rank : beat.state.ranks)
    rank.waits.assign(100, someWait(100)), rank.place.operation = std::string(5000, 'y');
  verdict.report.message = std::string(1 << 20, 'm');
  verdict.report.waiting.assign(5000, {someWait(100), 0, std::string(300, 'h')});
  Message question = Message::of(Message::Kind::Question), holds = Message::of(Message::Kind::Holds);
  question.questions.resize(100000);
  holds.ranks.resize(100000);
  for (const Message &message : {beat, verdict, question, holds}) {
    std::vector<uint8_t> bytes = encode(message);
    EXPECT_LE(bytes.size(), greatestMessage);
    std::optional<Message> read = decode(bytes.data(), bytes.size());
    ASSERT_TRUE(read);
    if (message.kind == Message::Kind::Verdict) {
      EXPECT_EQ(read->report.waiting.size() + read->report.moreWaiting, 5000u);
    }
    if (message.kind == Message::Kind::Beat) {
      EXPECT_EQ(read->state.ranks[0].waits.size() + read->state.ranks[0].moreWaits, 100u);
    }
  }
}

TEST(MessageTest, HostileBytesAreNoMessageOrABoundedOne) {
  std::mt19937 random(1);
  std::vector<std::vector<uint8_t>> seeds;
  for (const Message &message : someMessages())
    seeds.push_back(encode(message));
  size_t refused = 0, rounds = 200000;
  for (size_t i = 0; i < rounds; ++i) {
    std::vector<uint8_t> bytes = seeds[random() % seeds.size()];
    switch (random() % 4) {
    case 0:
      bytes.resize(random() % (bytes.size() + 1));
      break;
    case 1:
      for (int flips = 0; flips < 4; ++flips)
        bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
      break;
    case 2:
      bytes.resize(bytes.size() + random() % 64, static_cast<uint8_t>(random()));
      break;
    default:
      bytes.resize(random() % 256);
      for (uint8_t &byte : bytes)
        byte = static_cast<uint8_t>(random());
    }
    if (std::optional<Message> read = decode(bytes.data(), bytes.size()))
      EXPECT_LE(encode(*read).size(), greatestMessage);
    else
      ++refused;
  }
  EXPECT_GT(refused, rounds / 3);
  std::vector<uint8_t> huge(greatestMessage + 1);
  EXPECT_FALSE(decode(huge.data(), huge.size()));
}

} // namespace
