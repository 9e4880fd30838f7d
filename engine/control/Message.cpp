// Bytes of the control channel's messages. Lists end where the message would become too long.
#include "engine/control/Message.h"

#include "engine/control/Bytes.h"

#include <algorithm>

namespace npar::engine {

namespace {

constexpr size_t shortText = 200, longText = 12 << 10; // bytes
constexpr size_t mostMissing = 64, mostWaits = 8, mostRanks = 4096, mostStates = 64, mostQuestions = 256;
constexpr size_t roomForLists = 40 << 10; // after it a list takes nothing more

void put(ByteWriter &to, const Place &place) {
  to.number(place.rank);
  to.number(place.trainingStep);
  to.number(place.micro);
  to.text(place.task, shortText);
  to.text(place.operation, shortText);
  to.text(place.source, shortText);
  to.number(place.round);
  to.number<uint8_t>(place.evaluates);
}

void get(ByteReader &from, Place &place) {
  place.rank = from.number<int64_t>();
  place.trainingStep = from.number<int64_t>();
  place.micro = from.number<uint32_t>();
  place.task = from.text(shortText);
  place.operation = from.text(shortText);
  place.source = from.text(shortText);
  place.round = from.number<int64_t>();
  place.evaluates = from.flag();
}

void put(ByteWriter &to, const MeetingPlace &meeting) {
  to.number(meeting.round);
  to.number<uint8_t>(meeting.transfer);
  to.number(meeting.event);
  to.number(meeting.micro);
  to.number(meeting.first);
  to.number(meeting.last);
  to.number(meeting.session);
}

void get(ByteReader &from, MeetingPlace &meeting) {
  meeting.round = from.number<int64_t>();
  meeting.transfer = from.flag();
  meeting.event = from.number<uint32_t>();
  meeting.micro = from.number<uint32_t>();
  meeting.first = from.number<int64_t>();
  meeting.last = from.number<int64_t>();
  meeting.session = from.number<uint32_t>();
}

void put(ByteWriter &to, const std::vector<int64_t> &numbers, size_t most) {
  size_t count = std::min(numbers.size(), most);
  to.number(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i)
    to.number(numbers[i]);
}

void get(ByteReader &from, std::vector<int64_t> &numbers, size_t most) {
  numbers.resize(from.count(most, sizeof(int64_t)));
  for (int64_t &number : numbers)
    number = from.number<int64_t>();
}

void put(ByteWriter &to, const Wait &wait) {
  put(to, wait.place);
  put(to, wait.meeting);
  put(to, wait.missing, mostMissing);
  to.number<uint8_t>(wait.lost);
}

void get(ByteReader &from, Wait &wait) {
  get(from, wait.place);
  get(from, wait.meeting);
  get(from, wait.missing, mostMissing);
  wait.lost = from.flag();
}

void put(ByteWriter &to, const RankState &rank) {
  put(to, rank.place);
  to.number<uint8_t>(rank.inStep);
  size_t count = std::min(rank.waits.size(), mostWaits);
  to.number(static_cast<uint32_t>(rank.moreWaits + rank.waits.size() - count));
  to.number(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i)
    put(to, rank.waits[i]);
}

void get(ByteReader &from, RankState &rank) {
  get(from, rank.place);
  rank.inStep = from.flag();
  rank.moreWaits = from.number<uint32_t>();
  rank.waits.resize(from.count(mostWaits, 1));
  for (Wait &wait : rank.waits)
    get(from, wait);
}

void put(ByteWriter &to, const ProcessState &state) {
  to.number(state.progress);
  to.number(state.stalledSeconds);
  to.number(state.lateSeconds);
  to.text(state.phase, shortText);
  for (size_t i = 0; i < state.ranks.size() && i < mostStates && to.size() < roomForLists; ++i) {
    to.number<uint8_t>(1);
    put(to, state.ranks[i]);
  }
  to.number<uint8_t>(0);
}

void get(ByteReader &from, ProcessState &state) {
  state.progress = from.number<uint64_t>();
  state.stalledSeconds = from.number<double>();
  state.lateSeconds = from.number<double>();
  state.phase = from.text(shortText);
  while (state.ranks.size() <= mostStates && from.flag())
    get(from, state.ranks.emplace_back());
}

void put(ByteWriter &to, const FailureReport &report) {
  to.number(static_cast<uint8_t>(report.cause));
  to.number(static_cast<uint8_t>(report.code));
  to.text(report.message, longText);
  put(to, report.place);
  to.text(report.host, shortText);
  to.number(report.process);
  to.number(report.speaker);
  put(to, {report.lost.begin(), report.lost.end()}, mostMissing);
  size_t count = 0;
  for (; count < report.waiting.size() && count < mostStates && to.size() < roomForLists; ++count) {
    to.number<uint8_t>(1);
    put(to, report.waiting[count].wait);
    to.number(report.waiting[count].process);
    to.text(report.waiting[count].host, shortText);
  }
  to.number<uint8_t>(0);
  to.number(static_cast<uint32_t>(report.moreWaiting + report.waiting.size() - count));
}

std::optional<Code> codeOf(uint8_t number) {
  switch (static_cast<Code>(number)) {
  case Code::BadInput:
  case Code::Usage:
  case Code::CheckFailed:
  case Code::RunFailed:
  case Code::Timeout:
  case Code::Internal:
    return static_cast<Code>(number);
  case Code::Ok:
    break;
  }
  return std::nullopt;
}

/// False when a number is none of an enumeration's.
bool get(ByteReader &from, FailureReport &report) {
  auto cause = from.number<uint8_t>();
  std::optional<Code> code = codeOf(from.number<uint8_t>());
  report.message = from.text(longText);
  get(from, report.place);
  report.host = from.text(shortText);
  report.process = from.number<int64_t>();
  report.speaker = from.number<uint32_t>();
  std::vector<int64_t> lost;
  get(from, lost, mostMissing);
  report.lost.assign(lost.begin(), lost.end());
  while (report.waiting.size() <= mostStates && from.flag()) {
    FailureReport::Waiting &one = report.waiting.emplace_back();
    get(from, one.wait);
    one.process = from.number<uint32_t>();
    one.host = from.text(shortText);
  }
  report.moreWaiting = from.number<uint32_t>();
  if (cause > static_cast<uint8_t>(Cause::Unknown) || !code)
    return false;
  report.cause = static_cast<Cause>(cause), report.code = *code;
  return true;
}

} // namespace

std::vector<uint8_t> encode(const Message &message) {
  ByteWriter to;
  to.number(static_cast<uint8_t>(message.kind));
  to.number(message.round);
  switch (message.kind) {
  case Message::Kind::Holds:
    put(to, message.ranks, mostRanks);
    break;
  case Message::Kind::Beat:
    put(to, message.state);
    break;
  case Message::Kind::Told:
    to.number(static_cast<uint8_t>(message.told.code));
    to.text(message.told.text, longText);
    put(to, message.told.place);
    to.number(message.told.accused);
    break;
  case Message::Kind::Question:
    to.number(static_cast<uint32_t>(std::min(message.questions.size(), mostQuestions)));
    for (size_t i = 0; i < message.questions.size() && i < mostQuestions; ++i) {
      to.number(message.questions[i].rank);
      put(to, message.questions[i].meeting);
    }
    break;
  case Message::Kind::Answer:
    to.number(static_cast<uint32_t>(std::min(message.answers.size(), mostQuestions)));
    for (size_t i = 0; i < message.answers.size() && i < mostQuestions; ++i)
      to.number(static_cast<uint8_t>(message.answers[i]));
    break;
  case Message::Kind::Verdict:
    put(to, message.report);
    break;
  case Message::Kind::Alive:
    to.number(message.state.lateSeconds);
    break;
  case Message::Kind::Ask:
  case Message::Kind::Bye:
    break;
  }
  return to.take();
}

std::optional<Message> decode(const uint8_t *bytes, size_t size) {
  if (size > greatestMessage)
    return std::nullopt;
  ByteReader from(bytes, size);
  Message message;
  auto kind = from.number<uint8_t>();
  if (kind > static_cast<uint8_t>(Message::Kind::Bye))
    return std::nullopt;
  message.kind = static_cast<Message::Kind>(kind);
  message.round = from.number<uint32_t>();
  bool known = true;
  switch (message.kind) {
  case Message::Kind::Holds:
    get(from, message.ranks, mostRanks);
    break;
  case Message::Kind::Beat:
    get(from, message.state);
    break;
  case Message::Kind::Told: {
    std::optional<Code> code = codeOf(from.number<uint8_t>());
    known = code.has_value();
    message.told.code = code.value_or(Code::Internal);
    message.told.text = from.text(longText);
    get(from, message.told.place);
    message.told.accused = from.number<int64_t>();
    break;
  }
  case Message::Kind::Question:
    message.questions.resize(from.count(mostQuestions, sizeof(int64_t)));
    for (Question &question : message.questions) {
      question.rank = from.number<int64_t>();
      get(from, question.meeting);
    }
    break;
  case Message::Kind::Answer:
    message.answers.resize(from.count(mostQuestions, 1));
    for (Joined &answer : message.answers) {
      auto number = from.number<uint8_t>();
      known &= number <= static_cast<uint8_t>(Joined::Done);
      answer = static_cast<Joined>(number);
    }
    break;
  case Message::Kind::Verdict:
    known = get(from, message.report);
    break;
  case Message::Kind::Alive:
    message.state.lateSeconds = from.number<double>();
    break;
  case Message::Kind::Ask:
  case Message::Kind::Bye:
    break;
  }
  return known && from.ended() ? std::optional<Message>(std::move(message)) : std::nullopt;
}

} // namespace npar::engine
