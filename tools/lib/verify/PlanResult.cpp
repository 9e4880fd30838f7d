// Judges what became of a plan's check from the report or the error that it left.
#include "tools/lib/verify/PlanResult.h"

#include "engine/json/Json.h"
#include "engine/readable/Printable.h"
#include "tools/lib/models/Compilation.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sstream>

namespace npar::verify {

using engine::Code;

namespace {

/// True if the text refuses its sizes without a plan, too.
bool refusesSizes(models::ModelOptions model) {
  model.plan = "none";
  engine::Result<dsl::FrontendOptions> frontend = model.frontend();
  dsl::Sources sources;
  return frontend.ok() && !models::elaborateQuietly(*frontend, sources);
}

/// Removes the folder's name, which means nothing to a reader.
std::string withoutFolder(std::string text, const std::string &folder) {
  for (size_t at = text.find(folder + "/"); at != std::string::npos; at = text.find(folder + "/", at))
    text.erase(at, folder.size() + 1);
  return text;
}

/// An error in place of a report.
struct PlanError {
  Code code = Code::Ok;
  std::string message;
  bool isLocated = false;
  bool refusesSizes = false; ///< the text does without a plan, too

  std::string toJson() const {
    Json json = {{"code", static_cast<int>(code)}, {"message", message}, {"located", isLocated}, {"refuses_sizes", refusesSizes}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  static PlanError of(const Json &json) {
    return {static_cast<Code>(json.value("code", static_cast<int>(Code::Internal))), json.value("message", ""),
            json.value("located", false), json.value("refuses_sizes", false)};
  }
};

void judgeReport(const Json &report, PlanResult &result) {
  result.error = 0;
  bool isOfOneRank = true; // all failed checks are
  for (const Json &check : report["checks"]) {
    std::string name = check["name"];
    bool inFloat64 = name != "finite differences" && name.rfind("in ", 0) != 0;
    double error = check.contains("max_relative_error") && inFloat64
                       ? (check["max_relative_error"].is_number() ? check["max_relative_error"].get<double>() : INFINITY)
                       : 0;
    result.error = std::max(*result.error, error);
    if (check["ok"].get<bool>())
      continue;
    isOfOneRank &= check.contains("one_rank_too");
    result.reason += (result.reason.empty() ? "" : "; ") + name + ": " + check["detail"].get<std::string>();
  }
  result.verdict = result.reason.empty() ? Verdict::Ok : isOfOneRank ? Verdict::Refused : Verdict::Failed;
}

/// The line of the first error in this plan's text; 0 if the first error is elsewhere or has no location.
uint32_t blamedLine(const std::string &message, const PlanDraft &draft) {
  size_t error = message.find(": error: ");
  size_t begin = error == std::string::npos ? std::string::npos : message.rfind('\n', error);
  begin = begin == std::string::npos ? 0 : begin + 1;
  std::string file = draft.name + ".npar:";
  return error != std::string::npos && message.compare(begin, file.size(), file) == 0
             ? static_cast<uint32_t>(std::strtoul(message.c_str() + begin + file.size(), nullptr, 10))
             : 0;
}

std::string planLine(const PlanDraft &draft, uint32_t firstLine, uint32_t line) {
  std::istringstream text(draft.text);
  std::string found;
  for (uint32_t at = firstLine; at <= line && std::getline(text, found); ++at)
    ;
  size_t first = found.find_first_not_of(' ');
  return first == std::string::npos ? "" : found.substr(first);
}

void judgeError(const PlanError &error, const PlanOutcome &outcome, const PlanDraft &draft, PlanResult &result) {
  constexpr const char *mark = "error: "; // after the location
  std::string message = withoutFolder(readable::printable(error.message), outcome.folder);
  size_t place = error.isLocated ? message.find(mark) : std::string::npos;
  size_t begin = place == std::string::npos ? 0 : place + std::strlen(mark);
  std::string line = message.substr(begin, message.find('\n', begin) - begin);
  uint32_t blamed = error.isLocated ? blamedLine(message, draft) : 0;
  result.reason = line.empty() ? fmt::format("exit code {} without a message", static_cast<int>(error.code)) : line;
  if (error.code != Code::BadInput)
    return;
  if (blamed >= outcome.firstLine) {
    result.verdict = Verdict::Refused;
    result.at = planLine(draft, outcome.firstLine, blamed);
  } else if (error.refusesSizes) {
    result.verdict = Verdict::Refused;
    result.reason = "the model refuses these sizes: " + line;
  } else {
    result.reason = "refused without a line of the plan: " + result.reason;
  }
}

} // namespace

const char *nameOf(Verdict verdict) { return verdict == Verdict::Ok ? "ok" : verdict == Verdict::Refused ? "refused" : "failed"; }

std::string leftBy(const engine::Result<VerifyReport> &report, const models::ModelOptions &model) {
  if (report.ok())
    return jsonOf(*report).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  const engine::Status &status = report.status();
  return PlanError{status.code(), status.message(), status.isLocated(), status.code() == Code::BadInput && refusesSizes(model)}.toJson();
}

PlanResult judge(const PlanOutcome &outcome, const PlanDraft &draft) {
  PlanResult result;
  result.output = withoutFolder(outcome.output, outcome.folder);
  Json left = Json::parse(outcome.left, nullptr, /*allow_exceptions=*/false);
  if (!left.is_object())
    result.reason = outcome.ended;
  else if (left.contains("checks"))
    judgeReport(left, result);
  else
    judgeError(PlanError::of(left), outcome, draft, result);
  return result;
}

std::string reasonKind(const std::string &reason) {
  std::string kind;
  for (size_t i = 0; i < reason.size(); ++i) {
    bool digit = std::isdigit(static_cast<unsigned char>(reason[i])) != 0;
    if (digit && !kind.empty() && kind.back() == 'N')
      continue;
    bool inWord = i > 0 && (std::isalpha(static_cast<unsigned char>(reason[i - 1])) || reason[i - 1] == '_');
    kind += digit && !inWord ? 'N' : reason[i];
  }
  return kind;
}

} // namespace npar::verify
