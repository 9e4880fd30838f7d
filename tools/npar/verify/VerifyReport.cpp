// Prints the outcome of checks as a table or as JSON.
#include "tools/npar/verify/VerifyReport.h"

#include "engine/program/Ranks.h"
#include "tools/npar/terminal/TableRow.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {

ExitCode report(const program::Program &program, const std::vector<Check> &checks, bool asJson) {
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
      list.push_back(one);
    }
    json["ok"] = good;
    json["plan"] = plan;
    json["checks"] = list;
    std::cout << json.dump(2) << '\n';
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
