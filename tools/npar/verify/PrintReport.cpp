// Prints checks as a table.
#include "tools/npar/verify/PrintReport.h"

#include "engine/readable/TableRow.h"

#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

ExitCode print(const verify::VerifyReport &report, bool asJson) {
  ExitCode code = report.good() ? ExitCode::Good : ExitCode::CheckFailed;
  if (asJson) {
    std::cout << verify::jsonOf(report) << '\n';
    return code;
  }
  std::cout << fmt::format("{} under plan {}: {} ranks, {} parameters\n", report.model, report.plan, report.ranks, report.parameters);
  for (const verify::Check &check : report.checks) {
    std::string error = check.maxRelativeError ? fmt::format("{:.1e}", *check.maxRelativeError) : "";
    std::cout << readable::TableRow(2).left(check.ok ? "ok" : "FAILED", 8).left(check.name, 26).right(error, 8).text("  " + check.detail).str();
  }
  std::cout << (report.good() ? "all checks passed\n" : "some checks failed\n");
  return code;
}

} // namespace npar::driver
