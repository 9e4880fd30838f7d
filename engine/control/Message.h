// The messages of the control channel, and their conversion to bytes of bounded size and back.
#pragma once

#include "engine/control/FailureReport.h"
#include "engine/control/States.h"

#include <optional>

namespace npar::engine {

/// A failure that a process reports.
struct Told {
  Code code = Code::Ok;
  std::string text;
  Place place;          ///< place of the failure; rank -1: no particular place
  int64_t accused = -1; ///< a rank that deviated from its program; -1: none
};

struct Message {
  enum class Kind : uint8_t {
    Holds,    ///< to a judge: this process has `ranks`
    Beat,     ///< to a judge: `state`; `round` when it was asked for
    Alive,    ///< from a judge, at every beat
    Told,     ///< to a judge: `told`
    Ask,      ///< from a judge: send a beat with this `round`
    Question, ///< from a judge: asks whether ranks have joined `questions`
    Answer,   ///< `answers`, one for each of `questions`
    Verdict,  ///< from a judge: `report`
    Bye       ///< this process ends normally
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

/// Limit on the size of a message. Contents that do not fit are left out, and counted if the message has a field for that.
constexpr size_t greatestMessage = 64 << 10;

std::vector<uint8_t> encode(const Message &message);
/// Returns nothing if the bytes are not a valid message; accepts any bytes.
std::optional<Message> decode(const uint8_t *bytes, size_t size);

} // namespace npar::engine
