// Merges verdicts by their texts.
#include "engine/job/Agreement.h"

#include "engine/job/Verdict_generated.h"
#include "engine/tables/Tables.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::job {

std::vector<uint8_t> pack(const Verdict &verdict) {
  wire::VerdictT message;
  message.code = static_cast<uint8_t>(verdict.code), message.errors = verdict.errors;
  return tables::pack(message);
}

Verdict unpackVerdict(const std::vector<uint8_t> &bytes) {
  wire::VerdictT message;
  if (!tables::unpack(bytes, message) || message.code > static_cast<uint8_t>(engine::Code::Internal))
    return {engine::Code::Internal, {"internal error: the processes of the job perform different operations"}};
  return {static_cast<engine::Code>(message.code), std::move(message.errors)};
}

Verdict agreeOn(const std::vector<Verdict> &verdicts, const std::vector<std::string> &names) {
  struct Text {
    std::string text;
    std::vector<std::string> of;
  };
  std::vector<Text> texts;
  Verdict agreed;
  size_t failed = 0; ///< processes that have anything to say
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (agreed.code == engine::Code::Ok)
      agreed.code = verdicts[i].code;
    failed += !verdicts[i].errors.empty();
    for (const std::string &error : verdicts[i].errors) {
      auto known = std::find_if(texts.begin(), texts.end(), [&](const Text &each) { return each.text == error; });
      if (known == texts.end())
        known = texts.insert(known, {error, {}});
      if (known->of.empty() || known->of.back() != names[i])
        known->of.push_back(names[i]);
    }
  }
  for (const Text &each : texts) {
    bool all = each.of.size() == verdicts.size();
    bool first = each.of.size() == 1 && each.of.front() == names.front() && failed == 1;
    constexpr size_t shown = 3;
    std::string of =
        fmt::format("{}", fmt::join(each.of.begin(), each.of.begin() + static_cast<std::ptrdiff_t>(std::min(shown, each.of.size())), ", "));
    if (each.of.size() > shown)
      of += fmt::format(" and {} more", each.of.size() - shown);
    size_t line = each.text.find('\n');
    agreed.errors.push_back(all || first ? each.text
                                         : each.text.substr(0, line) + "\nnpar: reported by " + of +
                                               (line == std::string::npos ? "" : each.text.substr(line)));
  }
  return agreed;
}

Verdict agreeOnPacked(const std::vector<std::vector<uint8_t>> &gathered, const std::vector<std::string> &names) {
  std::vector<Verdict> verdicts;
  for (const std::vector<uint8_t> &each : gathered)
    verdicts.push_back(unpackVerdict(each));
  return agreeOn(verdicts, names);
}

} // namespace npar::job
