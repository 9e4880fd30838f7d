// What processes tell each other on the control channel, as bytes of bounded size and back.
#pragma once

#include "engine/control/FailureReport.h"
#include "engine/control/States.h"

#include <optional>

namespace npar::engine {

/// A failure that a process has met.
struct Told {
  Code code = Code::Ok;
  std::string text;
  Place place;          ///< where it failed; rank -1: nowhere in particular
  int64_t accused = -1; ///< a rank that has done what its program does not say
};

struct Message {
  enum class Kind : uint8_t {
    Holds,    ///< to a judge: this process has `ranks`
    Beat,     ///< to a judge: `state`; `round` when it was asked for
    Alive,    ///< from a judge, at every beat
    Told,     ///< to a judge: `told`
    Ask,      ///< from a judge: send a beat with this `round`
    Question, ///< from a judge: who has joined what?
    Answer,   ///< `answers`, one for each of `questions`
    Verdict,  ///< from a judge: `report`
    Bye       ///< this process ends in good order
  };
  Kind kind = Kind::Alive;
  uint32_t round = 0;
  std::vector<int64_t> ranks;
  ProcessState state;
  Told told;
  std::vector<Question> questions;
  std::vector<Joined> answers;
  FailureReport report;

  static Message of(Kind kind, uint32_t round = 0) {
    Message message;
    message.kind = kind, message.round = round;
    return message;
  }
};

/// No message is longer. What would not fit is left out, and counted where the message says so.
constexpr size_t greatestMessage = 64 << 10;

std::vector<uint8_t> encode(const Message &message);
/// Nothing when the bytes are no message, whatever they are.
std::optional<Message> decode(const uint8_t *bytes, size_t size);

} // namespace npar::engine
