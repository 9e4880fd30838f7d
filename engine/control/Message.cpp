// Messages of the control channel as FlatBuffers. Lists end where the message would become too long.
#include "engine/control/Message.h"

#include "engine/control/CutText.h"
#include "engine/control/Message_generated.h"
#include "engine/tables/Tables.h"

#include <algorithm>

namespace npar::engine {

namespace {

using flatbuffers::Offset;
using flatbuffers::Vector;

constexpr size_t shortText = 200, longText = 12 << 10; // bytes
constexpr size_t mostMissing = 64, mostWaits = 8, mostRanks = 4096, mostStates = 64, mostQuestions = 256;
constexpr size_t roomForLists = 40 << 10; // after it a list takes nothing more

wire::MeetingPlace encode(const MeetingPlace &meeting) {
  return {meeting.round, meeting.first, meeting.last, meeting.event, meeting.micro, meeting.session, meeting.transfer};
}

MeetingPlace decode(const wire::MeetingPlace &meeting) {
  return {meeting.round(), meeting.transfer(), meeting.event(), meeting.micro(), meeting.first(), meeting.last(), meeting.session()};
}

class Encoder {
public:
  flatbuffers::FlatBufferBuilder builder;

  Offset<flatbuffers::String> text(const std::string &text, size_t limit) {
    return text.empty() ? 0 : builder.CreateString(cutText(text, limit));
  }
  template <typename Number> Offset<Vector<Number>> numbers(const std::vector<Number> &numbers, size_t most) {
    return numbers.empty() ? 0 : builder.CreateVector(numbers.data(), std::min(numbers.size(), most));
  }
  /// Puts as many of the elements as the message has room for.
  template <typename Element> auto list(const std::vector<Element> &elements, size_t most) {
    std::vector<decltype(put(elements[0]))> made;
    for (size_t i = 0; i < elements.size() && i < most && builder.GetSize() < roomForLists; ++i)
      made.push_back(put(elements[i]));
    return made;
  }

  Offset<wire::Place> put(const Place &place) {
    return wire::CreatePlace(builder, place.rank, place.trainingStep, place.micro, text(place.task, shortText),
                             text(place.operation, shortText), text(place.source, shortText), place.round, place.evaluates);
  }
  Offset<wire::Wait> put(const Wait &wait) {
    const wire::MeetingPlace meeting = encode(wait.meeting);
    return wire::CreateWait(builder, put(wait.place), &meeting, numbers(wait.missing, mostMissing), wait.lost);
  }
  Offset<wire::RankState> put(const RankState &rank) {
    auto waits = list(rank.waits, mostWaits);
    auto more = static_cast<uint32_t>(rank.moreWaits + rank.waits.size() - waits.size());
    return wire::CreateRankStateDirect(builder, put(rank.place), rank.inStep, &waits, more);
  }
  Offset<wire::ProcessState> put(const ProcessState &state) {
    auto phase = text(state.phase, shortText);
    auto ranks = list(state.ranks, mostStates);
    return wire::CreateProcessState(builder, state.progress, state.stalledSeconds, state.lateSeconds, phase, builder.CreateVector(ranks));
  }
  Offset<wire::Told> put(const Told &told) {
    return wire::CreateTold(builder, static_cast<uint8_t>(told.code), text(told.text, longText), put(told.place), told.accused);
  }
  Offset<wire::Waiting> put(const FailureReport::Waiting &waiting) {
    return wire::CreateWaiting(builder, put(waiting.wait), waiting.process, text(waiting.host, shortText));
  }
  Offset<wire::FailureReport> put(const FailureReport &report) {
    auto message = text(report.message, longText), host = text(report.host, shortText);
    auto place = put(report.place);
    auto lost = numbers(report.lost, mostMissing);
    auto waiting = list(report.waiting, mostStates);
    auto more = static_cast<uint32_t>(report.moreWaiting + report.waiting.size() - waiting.size());
    return wire::CreateFailureReport(builder, static_cast<uint8_t>(report.cause), static_cast<uint8_t>(report.code), message, place, host,
                                     report.process, report.speaker, lost, builder.CreateVector(waiting), more);
  }
};

/// Copies what is within the limits. After the first that is not, `good` is false.
class Decoder {
public:
  bool good = true;

  std::string text(const flatbuffers::String *text, size_t limit) {
    good = good && (!text || text->size() <= limit);
    return good && text ? text->str() : "";
  }
  /// `get` makes an element of what a vector has at an index.
  template <typename Element, typename List, typename Get> void list(std::vector<Element> &to, const List *from, size_t most, Get get) {
    good = good && (!from || from->size() <= most);
    for (flatbuffers::uoffset_t i = 0; good && from && i < from->size(); ++i)
      to.push_back(get(from->Get(i)));
  }
  template <typename Number> void list(std::vector<Number> &to, const Vector<Number> *from, size_t most) {
    list(to, from, most, [](Number number) { return number; });
  }
  template <typename Number> Number among(uint8_t number, Number first, Number last) {
    good = good && number >= static_cast<uint8_t>(first) && number <= static_cast<uint8_t>(last);
    return good ? static_cast<Number>(number) : first;
  }

  Place get(const wire::Place &from) {
    return {from.rank(),
            from.training_step(),
            from.micro(),
            text(from.task(), shortText),
            text(from.operation(), shortText),
            text(from.source(), shortText),
            from.round(),
            from.evaluates()};
  }
  Wait get(const wire::Wait &from) {
    Wait wait{get(*from.place()), decode(*from.meeting()), {}, from.lost()};
    list(wait.missing, from.missing(), mostMissing);
    return wait;
  }
  RankState get(const wire::RankState &from) {
    RankState rank{get(*from.place()), from.in_step(), {}, from.more_waits()};
    list(rank.waits, from.waits(), mostWaits, [&](auto *wait) { return get(*wait); });
    return rank;
  }
  ProcessState get(const wire::ProcessState &from) {
    ProcessState state{from.progress(), from.stalled_seconds(), from.late_seconds(), text(from.phase(), shortText), {}};
    list(state.ranks, from.ranks(), mostStates, [&](auto *rank) { return get(*rank); });
    return state;
  }
  Told get(const wire::Told &from) {
    return {among(from.code(), Code::BadInput, Code::Internal), text(from.text(), longText), get(*from.place()), from.accused()};
  }
  FailureReport get(const wire::FailureReport &from) {
    FailureReport report;
    report.cause = among(from.cause(), Cause::Failed, Cause::Unknown), report.code = among(from.code(), Code::BadInput, Code::Internal);
    report.message = text(from.message(), longText), report.place = get(*from.place()), report.host = text(from.host(), shortText);
    report.process = from.process(), report.speaker = from.speaker(), report.moreWaiting = from.more_waiting();
    list(report.lost, from.lost(), mostMissing);
    list(report.waiting, from.waiting(), mostStates,
         [&](auto *each) { return FailureReport::Waiting{get(*each->wait()), each->process(), text(each->host(), shortText)}; });
    return report;
  }
};

} // namespace

std::vector<uint8_t> encode(const Message &message) {
  Encoder encoder;
  std::vector<wire::Question> questions;
  for (size_t i = 0; message.kind == Message::Kind::Question && i < std::min(message.questions.size(), mostQuestions); ++i)
    questions.emplace_back(message.questions[i].rank, encode(message.questions[i].meeting));
  Offset<Vector<int64_t>> ranks;
  Offset<wire::ProcessState> state;
  Offset<wire::Told> told;
  Offset<Vector<const wire::Question *>> asked;
  Offset<Vector<uint8_t>> answers;
  Offset<wire::FailureReport> report;
  switch (message.kind) {
  case Message::Kind::Holds:
    ranks = encoder.numbers(message.ranks, mostRanks);
    break;
  case Message::Kind::Beat:
    state = encoder.put(message.state);
    break;
  case Message::Kind::Told:
    told = encoder.put(message.told);
    break;
  case Message::Kind::Question:
    asked = encoder.builder.CreateVectorOfStructs(questions);
    break;
  case Message::Kind::Answer:
    answers = encoder.builder.CreateVectorScalarCast<uint8_t>(message.answers.data(), std::min(message.answers.size(), mostQuestions));
    break;
  case Message::Kind::Verdict:
    report = encoder.put(message.report);
    break;
  case Message::Kind::Alive:
    state = wire::CreateProcessState(encoder.builder, 0, 0, message.state.lateSeconds);
    break;
  case Message::Kind::Ask:
  case Message::Kind::Bye:
    break;
  }
  const auto kind = static_cast<uint8_t>(message.kind);
  return tables::finish(encoder.builder,
                        wire::CreateMessage(encoder.builder, kind, message.round, ranks, state, told, asked, answers, report));
}

std::optional<Message> decode(const uint8_t *bytes, size_t size) {
  if (size > greatestMessage)
    return std::nullopt;
  const std::vector<uint8_t> aligned(bytes, bytes + size); // `bytes` may begin anywhere
  auto *from = tables::read<wire::Message>(aligned);
  if (!from)
    return std::nullopt;
  Decoder decoder;
  Message message = Message::of(decoder.among(from->kind(), Message::Kind::Holds, Message::Kind::Bye), from->round());
  decoder.list(message.ranks, from->ranks(), mostRanks);
  decoder.list(message.questions, from->questions(), mostQuestions,
               [](auto *each) { return Question{each->rank(), decode(each->meeting())}; });
  decoder.list(message.answers, from->answers(), mostQuestions,
               [&](uint8_t each) { return decoder.among(each, Joined::Unknown, Joined::Done); });
  if (from->state())
    message.state = decoder.get(*from->state());
  if (from->told())
    message.told = decoder.get(*from->told());
  if (from->report())
    message.report = decoder.get(*from->report());
  const bool lacks = (message.kind == Message::Kind::Beat && !from->state()) || (message.kind == Message::Kind::Told && !from->told()) ||
                     (message.kind == Message::Kind::Verdict && !from->report());
  return decoder.good && !lacks ? std::optional(std::move(message)) : std::nullopt;
}

} // namespace npar::engine
