// `npar autopsy`: reads the flight records that the processes of a job left, and reports where its ranks first diverged.
#include "tools/npar/Command.h"

#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"

#include "engine/control/Autopsy.h"
#include "engine/files/Folders.h"
#include "engine/json/Json.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

namespace {

struct AutopsyFlags {
  std::string folder;
  bool json = false;
};

bool isRecord(const std::string &name) {
  std::string suffix = engine::flightSuffix;
  return name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// The readable records, and for each other one the reason why it cannot be read.
struct Records {
  std::vector<engine::FlightLog> logs;
  std::vector<std::string> damaged;
};

engine::Result<Records> readRecords(const std::string &folder) {
  engine::Result<std::vector<std::string>> names = files::namesIn(folder);
  if (!names.ok())
    return names.status();
  Records records;
  for (const std::string &name : *names) {
    if (!isRecord(name))
      continue;
    engine::Result<engine::FlightLog> log = engine::readFlight(folder + "/" + name);
    if (log.ok())
      records.logs.push_back(std::move(*log));
    else
      records.damaged.push_back(log.status().message());
  }
  if (records.logs.empty() && !records.damaged.empty())
    return engine::Status::badInput(records.damaged.front());
  if (records.logs.empty())
    return engine::Status::badInput("no flight record in '" + folder + "': give the folder that the run printed or that --flight named");
  return records;
}

void printMissing(const std::vector<engine::FlightLog> &logs) {
  constexpr size_t most = 16;
  uint32_t processes = logs.front().processes;
  std::string missing;
  size_t count = 0;
  for (uint32_t process = 0; process < processes && count <= most; ++process)
    if (std::none_of(logs.begin(), logs.end(), [&](const engine::FlightLog &log) { return log.process == process; }))
      missing += count++ == most ? ", ..." : (count > 1 ? ", " : "") + std::to_string(process);
  if (count > 0)
    printRemark(fmt::format("no record of process{} {}: the report uses the other records", count > 1 ? "es" : "", missing));
}

std::string sentence(std::string text) {
  if (text.empty())
    return "";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".\n";
}

ExitCode runAutopsy(const AutopsyFlags &flags) {
  engine::Result<Records> records = readRecords(flags.folder);
  if (!records.ok())
    return fail(records.status());
  for (const std::string &damaged : records->damaged)
    printRemark(damaged);
  printMissing(records->logs);
  engine::AutopsyReport report = engine::autopsy(records->logs);
  if (flags.json) {
    auto json = OrderedJson::parse(report.toJson());
    json["damaged"] = records->damaged;
    printJson(std::move(json));
  } else {
    std::cout << sentence(report.first) << sentence(report.second);
    for (const auto &one : report.failure.waiting)
      if (report.diverged)
        std::cout << "  " << engine::describeWait(one.wait) << "\n";
  }
  return report.diverged ? ExitCode::CheckFailed : ExitCode::Good;
}

} // namespace

Command addAutopsyCommand(CLI::App &driver) {
  auto flags = std::make_shared<AutopsyFlags>();
  CLI::App *app = driver.add_subcommand(
      "autopsy", "read the flight records of a failed job, and name the rank that failed or fell out of step first\n\n"
                 "Example:\n"
                 "  npar autopsy /tmp/npar-flight-0f1e2d3c4b5a69788796a5b4c3d2e1f0\n\n"
                 "A run in several processes writes the last 4,096 events of each rank to one file per process, which survives a crash\n"
                 "(npar train --flight FOLDER). Copy the records of several hosts into one folder first. The exit code is 3 if a rank\n"
                 "failed or fell out of step, else 0.");
  app->add_option("FOLDER", flags->folder, "folder with the flight records, process-N.flight")->required()->check(notEmpty());
  app->add_flag("--json", flags->json, "print the result as one JSON object");
  return {app, [flags] { return runAutopsy(*flags); }};
}

} // namespace npar::driver
