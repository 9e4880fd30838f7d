// Prints the outcome of checks as a table or as JSON.
#include "tools/npar/verify/VerifyReport.h"

#include "engine/program/Ranks.h"
#include "engine/readable/TableRow.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {

using readable::TableRow;

namespace {

nlohmann::ordered_json jsonOf(const RoundingWarning &warning, const dsl::Sources &sources) {
  nlohmann::ordered_json json;
  json["file"] = warning.location.file < sources.size() ? sources.name(warning.location.file) : "";
  json["line"] = warning.location.line;
  json["column"] = warning.location.column;
  json["operation"] = warning.operation;
  json["error"] = warning.error; // JSON has no infinity: a number beyond the type's range becomes null
  json["error_without"] = warning.without;
  json["message"] = warning.text();
  return json;
}

} // namespace

ExitCode report(const program::Program &program, const std::vector<Check> &checks, bool asJson,
                const std::optional<RoundingReport> &rounding, const dsl::Sources *sources) {
  bool good = std::all_of(checks.begin(), checks.end(), [](const Check &check) { return check.ok; });
  std::string plan = program.plan() ? program.plan()->str() : "";
  if (asJson) {
    nlohmann::ordered_json json, list = nlohmann::ordered_json::array();
    for (const Check &check : checks) {
      nlohmann::ordered_json one;
      one["name"] = check.name;
      one["ok"] = check.ok;
      if (check.maxRelativeError) // JSON has no infinity: a not finite error becomes null
        one["max_relative_error"] = *check.maxRelativeError;
      one["detail"] = check.detail;
      if (check.isOfOneRank)
        one["one_rank_too"] = true;
      list.push_back(one);
    }
    json["ok"] = good;
    json["plan"] = plan;
    json["checks"] = list;
    json["warnings"] = nlohmann::ordered_json::array();
    if (rounding && rounding->warning && sources)
      json["warnings"].push_back(jsonOf(*rounding->warning, *sources));
    if (rounding) // JSON has no infinity
      json["rounding_error"] = rounding->error;
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return good ? ExitCode::Good : ExitCode::CheckFailed;
  }
  std::cout << fmt::format("{} under plan {}: {} ranks, {} parameters\n", program.model() ? program.model()->str() : "", plan,
                           program::worldOf(program), program.parameters());
  for (const Check &check : checks) {
    std::string error = check.maxRelativeError ? fmt::format("{:.1e}", *check.maxRelativeError) : "";
    std::cout << TableRow(2).left(check.ok ? "ok" : "FAILED", 8).left(check.name, 26).right(error, 8).text("  " + check.detail).str();
  }
  std::cout << (good ? "all checks passed\n" : "some checks failed\n");
  return good ? ExitCode::Good : ExitCode::CheckFailed;
}

} // namespace npar::driver
