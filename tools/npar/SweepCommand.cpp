// `npar sweep`: simulates a training step on a machine for every combination of some settings.
#include "tools/npar/Command.h"

#include "dsl/machine/Hosts.h"
#include "engine/files/AtomicFile.h"
#include "engine/json/Json.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/search/Sweep.h"
#include "tools/lib/planner/search/Ways.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/plan/StoppableWork.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <map>

namespace npar::driver {
namespace {

constexpr size_t mostCombinations = 10'000;

struct SweepFlags {
  ModelOptions model;
  std::vector<std::string> over; ///< `mesh.tp=1,2,4`
  std::string ways;              ///< `dp,ddp`; empty: none
  int64_t hosts = 0;             ///< 0: as many as the ranks of each plan need
  int jobs = 0;
  std::string csv, svg;
  bool json = false;
};

/// Splits a list at its commas, except those inside brackets.
std::vector<std::string> valuesIn(const std::string &list) {
  std::vector<std::string> values(1);
  int depth = 0;
  for (char letter : list) {
    depth += letter == '[' || letter == '(' ? 1 : letter == ']' || letter == ')' ? -1 : 0;
    if (letter == ',' && depth == 0)
      values.emplace_back();
    else if (letter != ' ')
      values.back() += letter;
  }
  return values;
}

Outcome<std::vector<planner::SweptSetting>> sweptSettings(const SweepFlags &flags) {
  std::vector<planner::SweptSetting> over;
  size_t count = 1;
  if (flags.over.empty() && flags.ways.empty())
    return fail(ExitCode::Usage, "sweep needs --over or --ways");
  if (!flags.ways.empty()) {
    over.push_back({planner::waySetting, valuesIn(flags.ways)});
    count = over.front().values.size();
    for (const std::string &way : over.front().values)
      if (std::count(over.front().values.begin(), over.front().values.end(), way) > 1)
        return fail(ExitCode::Usage, fmt::format("--ways names '{}' twice", way));
    for (const std::string key : {"zero", "central"})
      for (const std::string &fixed : flags.model.settings)
        if (fixed.rfind(key + std::string("="), 0) == 0)
          return fail(ExitCode::Usage, fmt::format("'{}' is given to --set, and --ways sets it: remove one", key));
  }
  for (const std::string &text : flags.over) {
    std::optional<std::pair<std::string, std::string>> pair = models::settingOf(text);
    if (!pair)
      return fail(ExitCode::Usage, "--over needs KEY=VALUE,VALUE, such as 'mesh.tp=1,2,4', not '" + text + "'");
    planner::SweptSetting setting{pair->first, valuesIn(pair->second)};
    setting.key.erase(std::remove(setting.key.begin(), setting.key.end(), ' '), setting.key.end());
    for (const std::string &value : setting.values) {
      if (value.empty())
        return fail(ExitCode::Usage, "--over '" + text + "' has an empty value");
      if (std::count(setting.values.begin(), setting.values.end(), value) > 1)
        return fail(ExitCode::Usage, fmt::format("--over '{}' has the value '{}' twice", text, value));
    }
    for (const planner::SweptSetting &other : over)
      if (other.key == setting.key)
        return fail(ExitCode::Usage, "--over names '" + setting.key + "' twice: give all of its values in one --over");
    for (const std::string &fixed : flags.model.settings)
      if (fixed.rfind(setting.key + "=", 0) == 0)
        return fail(ExitCode::Usage, fmt::format("'{}' is given to both --set and --over: remove one", setting.key));
    count *= setting.values.size();
    if (count > mostCombinations)
      return fail(ExitCode::Usage, fmt::format("more than {} combinations, which is the limit", mostCombinations));
    over.push_back(std::move(setting));
  }
  return over;
}

/// Replaces the names of other settings of a combination in the values by what these settings say, so that `micro=batch/mesh.dp` is a
/// number for each of them. A name without "mesh." means the axis, too, unless another setting has it. Usage if settings depend on each
/// other.
class RowSettings {
public:
  explicit RowSettings(const std::vector<std::string> &settings) {
    for (const std::string &setting : settings)
      if (auto pair = models::settingOf(setting))
        given[pair->first] = pair->second;
  }

  engine::Result<std::vector<std::string>> resolved() {
    std::vector<std::string> all;
    for (const auto &[key, value] : given) {
      TRY(std::string text, resolve(key));
      all.push_back(key + "=" + text);
    }
    return all;
  }

private:
  engine::Result<std::string> resolve(const std::string &key) {
    if (std::find(open.begin(), open.end(), key) != open.end())
      return engine::Status::usage(
          fmt::format("the settings '{}' and '{}' depend on each other: give one of them a value", open.back(), key));
    const std::string &value = given.at(key);
    if (value.find('"') != std::string::npos) // a text
      return value;
    open.push_back(key);
    std::string text;
    for (size_t at = 0; at < value.size();) {
      size_t end = at + 1;
      auto letter = [&](size_t i) { return std::isalnum(static_cast<unsigned char>(value[i])) || value[i] == '_' || value[i] == '.'; };
      if (!letter(at)) {
        text += value[at++];
        continue;
      }
      while (end < value.size() && letter(end))
        ++end;
      std::string word = value.substr(at, end - at);
      std::string name = given.count(word) ? word : given.count("mesh." + word) ? "mesh." + word : "";
      const bool isPart = word.size() < value.size(); // a word alone is a value such as 1f1b
      if (!name.empty() && (isPart || name == word) && name != key) {
        TRY(std::string inner, resolve(name));
        text += "(" + inner + ")";
      } else {
        text += word;
      }
      at = end;
    }
    open.pop_back();
    return text;
  }

  std::map<std::string, std::string> given;
  std::vector<std::string> open; ///< keys whose values are being resolved
};

/// Writes nothing if no path is given.
ExitCode writeSweep(const std::string &path, const std::string &text) {
  if (path.empty())
    return ExitCode::Good;
  return reported(files::writeFileAtomically(path, text.data(), text.size()));
}

ExitCode runSweep(const SweepFlags &flags) {
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage, "'" + flags.model.model + "' is a compiled program: sweep needs the model file (.npar)");
  Outcome<std::vector<planner::SweptSetting>> over = sweptSettings(flags);
  if (!over.ok())
    return over.code();
  FileClaims files;
  Outcome<dsl::FrontendOptions> frontend = reported(flags.model.frontend());
  if (!frontend.ok())
    return frontend.code();
  files.read("the model", frontend->file);
  if (flags.model.machine)
    files.read("the machine", *flags.model.machine);
  files.write("--csv", flags.csv);
  files.write("--svg", flags.svg);
  if (ExitCode code = reported(files.check()); code != ExitCode::Good)
    return code;
  for (const std::string &path : {flags.csv, flags.svg}) // checked before minutes of simulation
    if (std::filesystem::path parent = std::filesystem::path(path).parent_path(); !parent.empty() && !std::filesystem::is_directory(parent))
      return fail(ExitCode::BadInput, "cannot write '" + path + "': there is no folder '" + parent.string() + "'");
  Outcome<dsl::Machine> machine = reported(planner::readMachineFile(flags.model.machine, terminal()));
  if (!machine.ok())
    return machine.code();
  if (ExitCode code = reported(planner::limitDevices(*machine, flags.model.devices)); code != ExitCode::Good)
    return code;

  planner::Sweep sweep{flags.model.model, machine->name, std::move(*over), {}};
  size_t count = 1;
  for (const planner::SweptSetting &setting : sweep.over)
    count *= setting.values.size();
  std::vector<ModelOptions> plans(count, flags.model);
  if (flags.hosts > 0 || flags.model.devices > 0)
    for (ModelOptions &plan : plans)
      plan.world = dsl::placesOf(*machine, std::max<int64_t>(1, flags.hosts));
  for (size_t row = 0; row < count; ++row) {
    std::vector<std::string> values = sweep.valuesOf(row);
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0 || flags.ways.empty()) {
        plans[row].settings.push_back(sweep.over[i].key + "=" + values[i]);
        continue;
      }
      Outcome<std::vector<std::string>> way = reported(planner::settingsOfWay(values[i]));
      if (!way.ok())
        return way.code();
      plans[row].settings.insert(plans[row].settings.end(), way->begin(), way->end());
    }
    Outcome<std::vector<std::string>> settings = reported(RowSettings(plans[row].settings).resolved());
    if (!settings.ok())
      return settings.code();
    plans[row].settings = std::move(*settings);
  }
  if (ExitCode code = reported(models::claimText(plans.front(), files)); code != ExitCode::Good)
    return code;
  std::string usage;
  planner::AttemptOptions options{*machine, flags.hosts};
  options.sent = !flags.ways.empty();
  ExitCode tried = reported(planner::tryPlans(plans, options, stoppableWork(flags.jobs), [&](size_t, const planner::Attempt &attempt) {
    sweep.rows.push_back(attempt);
    usage = attempt.isUsage ? attempt.reason : "";
    return usage.empty();
  }));
  if (tried != ExitCode::Good)
    return tried;
  if (!usage.empty())
    return fail(ExitCode::Usage, usage);

  for (auto [path, text] : {std::pair(&flags.csv, planner::sweepCsv), std::pair(&flags.svg, planner::sweepSvg)})
    if (ExitCode code = writeSweep(*path, text(sweep)); code != ExitCode::Good)
      return code;
  if (flags.json)
    printJson(planner::sweepJson(sweep));
  else
    std::cout << planner::sweepText(sweep);
  bool any = std::any_of(sweep.rows.begin(), sweep.rows.end(), [](const planner::Attempt &row) { return row.figures.has_value(); });
  return any ? ExitCode::Good : fail(ExitCode::BadInput, "every combination is refused");
}

} // namespace

Command addSweepCommand(CLI::App &driver) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App *app =
      driver.add_subcommand("sweep", "predict a training step for every combination of settings\n\n"
                                     "Example:\n"
                                     "  npar sweep gpt2 --machine dgx-a100 --over mesh.tp=1,2,4,8 --over micro=1,2 --svg sweep.svg\n"
                                     "\n"
                                     "Compiles and simulates each combination on the machine. A combination that the compiler refuses "
                                     "appears as a row with the reason.\n");
  addModelFlags(*app, flags->model);
  addWorldFlag(*app, flags->model);
  addAccumulateFlag(*app, flags->model);
  app->get_option("MODEL")->description("model file (.npar), or name of a model in the standard library");
  addMachineTo(*app, flags->model);
  addDevicesTo(*app, flags->model);
  app->add_option("--over", flags->over,
                  "setting and its values, which may be computed from other settings: micro=batch/dp; can be repeated, the last one varies "
                  "fastest")
      ->type_name("KEY=V,V")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--ways", flags->ways,
                  "compare ways to share the training among ranks with different samples: dp (DataParallel), ddp, zero1, zero2, zero3")
      ->type_name("WAY,WAY");
  app->add_option("--hosts", flags->hosts,
                  "number of hosts that the ranks must fill; other combinations are refused (default: what each needs)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 20));
  app->add_option("--jobs", flags->jobs, "number of plans compiled in parallel (default: the machine's cores)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  app->add_option("--csv", flags->csv, "also write the table to this file")->type_name("FILE.csv");
  app->add_option("--svg", flags->svg, "plot seconds against memory, and the speed-up against ranks")->type_name("FILE.svg");
  app->add_flag("--json", flags->json, "print the result as one JSON object");
  return {app, [flags] {
            ExitCode code = findMachine(flags->model);
            return code == ExitCode::Good ? runSweep(*flags) : code;
          }};
}

} // namespace npar::driver
