// Compares calls by their verb phrases, then by their hashes.
#include "engine/job/Call.h"

#include "engine/job/JobMessage_generated.h"
#include "engine/tables/Tables.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::job {

using engine::Code;
using engine::Result;
using engine::Status;

namespace {

wire::JobMessageT messageOf(const Call &call) {
  wire::JobMessageT message;
  message.doing = call.doing;
  return message;
}

Result<std::vector<wire::JobMessageT>> readAll(const std::vector<std::vector<uint8_t>> &gathered) {
  std::vector<wire::JobMessageT> messages(gathered.size());
  for (size_t i = 0; i < gathered.size(); ++i)
    if (!tables::unpack(gathered[i], messages[i]) || messages[i].code > static_cast<uint8_t>(Code::Stopped))
      return Status::internal("internal error: the processes of the job perform different operations");
  return messages;
}

/// Names the first process whose call is not that of process `own`.
Status sameCall(const std::vector<wire::JobMessageT> &messages, size_t own, const std::vector<std::string> &names) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const wire::JobMessageT &here = messages[own], &there = messages[i];
    if (there.doing == here.doing && there.begins == here.begins)
      continue;
    // The same words in all processes that differ from each other in one place.
    const size_t first = std::min(i, own), second = std::max(i, own);
    auto phrase = [&](size_t process) {
      const wire::JobMessageT &message = messages[process];
      return fmt::format("{} {}{}", names[process], message.begins ? "" : "has not ended this call: it ", message.doing);
    };
    return Status::usage(
        fmt::format("{}, but {}: all processes of a job must make the same calls in the same order", phrase(first), phrase(second)));
  }
  return {};
}

} // namespace

std::vector<uint8_t> packBeginning(const Call &call) {
  wire::JobMessageT message = messageOf(call);
  message.begins = true, message.hash = call.hash;
  message.code = static_cast<uint8_t>(call.refusal.code()), message.error = call.refusal.message();
  return tables::pack(message);
}

std::vector<uint8_t> packInside(const Call &call, std::vector<uint8_t> content) {
  wire::JobMessageT message = messageOf(call);
  message.content = std::move(content);
  return tables::pack(message);
}

Status agreeOnCall(const std::vector<std::vector<uint8_t>> &gathered, const Call &call, size_t own, const std::vector<std::string> &names) {
  TRY_STATUS(call.refusal);
  if (std::all_of(gathered.begin(), gathered.end(), [&](const std::vector<uint8_t> &each) { return each == gathered[own]; }))
    return {};
  TRY(std::vector<wire::JobMessageT> messages, readAll(gathered));
  TRY_STATUS(sameCall(messages, own, names));
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].code != 0)
      return Status(static_cast<Code>(messages[i].code), fmt::format("{} fails before it {}: {}", names[i], call.doing, messages[i].error));
  for (size_t i = 1; i < messages.size(); ++i)
    if (messages[i].hash != messages[0].hash)
      return Status::badInput(fmt::format("{} of {} differs from that of {}: {}", call.given, names[i], names[0], call.rule));
  return {};
}

Result<std::vector<std::vector<uint8_t>>> contentsInside(const std::vector<std::vector<uint8_t>> &gathered, size_t own,
                                                         const std::vector<std::string> &names) {
  TRY(std::vector<wire::JobMessageT> messages, readAll(gathered));
  TRY_STATUS(sameCall(messages, own, names));
  std::vector<std::vector<uint8_t>> contents;
  for (wire::JobMessageT &message : messages)
    contents.push_back(std::move(message.content));
  return contents;
}

} // namespace npar::job
