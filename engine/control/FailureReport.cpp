// Words a report for people and for programs.
#include "engine/control/FailureReport.h"

#include "engine/logging/Json.h"

namespace npar::engine {

namespace {

std::string jsonText(const std::string &text) { return text.empty() ? "null" : jsonString(text); }

template <typename T> std::string jsonCount(T value) { return value < 0 ? "null" : std::to_string(value); }

std::string jsonPlace(const Place &place, const std::string &host, int64_t process) {
  return "\"rank\": " + jsonCount(place.rank) + ", \"host\": " + jsonText(host) + ", \"process\": " + jsonCount(process) +
         ", \"step\": " + jsonCount(place.trainingStep) + ", \"evaluation\": " + (place.evaluates ? "true" : "false") + ", \"task\": " + jsonText(place.task) +
         ", \"micro_index\": " + (place.task.empty() ? "null" : std::to_string(place.micro)) +
         ", \"operation\": " + jsonText(place.operation) + ", \"source\": " + jsonText(place.source);
}

template <typename T> std::string jsonList(const std::vector<T> &numbers) {
  std::string text = "[";
  for (T number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

std::string listed(const std::vector<int64_t> &ranks) {
  constexpr size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < most; ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return ranks.size() > most ? text + " and " + std::to_string(ranks.size() - most) + " more" : text;
}

} // namespace

const char *wordOf(Cause cause) {
  switch (cause) {
  case Cause::Failed:
    return "failed";
  case Cause::Gone:
    return "gone";
  case Cause::Silent:
    return "silent";
  case Cause::Skipped:
    return "skipped";
  case Cause::Lost:
    return "lost";
  case Cause::Slow:
    return "slow";
  case Cause::Unknown:
    break;
  }
  return "unknown";
}

std::string describePlace(const Place &place) {
  std::string text = "rank " + std::to_string(place.rank);
  if (!place.task.empty())
    text += ", task " + place.task;
  if (!place.operation.empty())
    text += ", '" + place.operation + "'";
  return place.source.empty() ? text : text + " (" + place.source + ")";
}

std::string describeStep(const Place &place) {
  return (place.evaluates ? "evaluation step " : "training step ") + std::to_string(place.trainingStep);
}

std::string describeWait(const Wait &wait) { return describePlace(wait.place) + " waits for " + listed(wait.missing); }

std::string FailureReport::text() const {
  std::string result = message;
  for (const Waiting &one : waiting)
    result += "\n  " + describeWait(one.wait);
  if (moreWaiting)
    result += "\n  ... and " + std::to_string(moreWaiting) + " more";
  return result;
}

std::string FailureReport::toJson() const {
  std::string result = std::string("{\"cause\": \"") + wordOf(cause) + "\", \"code\": " + std::to_string(static_cast<int>(code)) + ", " +
                       jsonPlace(place, host, process) + ", \"message\": " + jsonString(message) + ", \"lost\": " + jsonList(lost) +
                       ", \"waiting\": [";
  bool first = true;
  for (const Waiting &one : waiting) {
    result += std::string(first ? "" : ", ") + "{" + jsonPlace(one.wait.place, one.host, one.process) +
              ", \"for\": " + jsonList(one.wait.missing) + "}";
    first = false;
  }
  return result + "], \"more_waiting\": " + std::to_string(moreWaiting) + "}";
}

} // namespace npar::engine
