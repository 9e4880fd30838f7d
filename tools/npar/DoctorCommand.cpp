// `npar doctor`: checks this machine for what npar needs.
#include "engine/json/Json.h"
#include "tools/npar/Command.h"

#include "engine/readable/TableRow.h"
#include "tools/lib/doctor/Checks.h"
#include "tools/lib/models/ModelOptions.h"
#include "tools/npar/terminal/PrintJson.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using namespace doctor;

namespace {

OrderedJson jsonOf(const std::vector<Finding> &findings, size_t problems) {
  OrderedJson json;
  json["problems"] = problems;
  json["checks"] = OrderedJson::array();
  for (const Finding &finding : findings)
    json["checks"].push_back({{"check", finding.check},
                              {"state", wordOf(finding.health)},
                              {"text", finding.text},
                              {"fix", finding.fix.empty() ? OrderedJson() : OrderedJson(finding.fix)}});
  return json;
}

std::string textOf(const std::vector<Finding> &findings, size_t problems) {
  std::string text;
  for (const Finding &finding : findings)
    text += readable::TableRow(2)
                .left(wordOf(finding.health), 6)
                .left(finding.check, 12)
                .text(finding.text + (finding.fix.empty() ? "" : ": " + finding.fix))
                .str();
  return text +
         (problems == 0 ? "no problems\n" : fmt::format("{} problem{}: see the lines with 'fix'\n", problems, problems == 1 ? "" : "s"));
}

} // namespace

Command addDoctorCommand(CLI::App &driver) {
  auto json = std::make_shared<bool>(false);
  CLI::App *app = driver.add_subcommand("doctor", "check this machine for what npar needs, and print what to mend\n\n"
                                                  "Example:\n"
                                                  "  npar doctor\n");
  app->add_flag("--json", *json, "print the result as one JSON object");
  return {app, [json] {
            std::vector<Finding> findings = checkAll(Surroundings(), models::standardLibrary(), models::libraryTexts("models").size());
            auto problems = static_cast<size_t>(
                std::count_if(findings.begin(), findings.end(), [](const Finding &finding) { return finding.health == Health::Problem; }));
            if (*json)
              printJson(jsonOf(findings, problems));
            else
              std::cout << textOf(findings, problems);
            return problems == 0 ? ExitCode::Good : ExitCode::CheckFailed;
          }};
}

} // namespace npar::driver
