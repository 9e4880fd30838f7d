// `npar machine`: measures this machine, and shows machines.
#include "tools/npar/Command.h"

#include "engine/files/PendingFile.h"
#include "engine/json/Json.h"
#include "engine/readable/TableRow.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/machine/MeasureMachine.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Terminal.h"

#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using readable::TableRow;

namespace {

struct MachineFlags {
  std::string output, shown = "reference";
  bool quick = false, json = false;
};

OrderedJson jsonOf(const dsl::Machine &machine) {
  OrderedJson json = {{"name", machine.name}, {"figures", OrderedJson::object()}};
  dsl::Machine copy = machine;
  for (const dsl::Figure &figure : dsl::figuresSaid(copy))
    json["figures"][figure.path()] = *figure.value;
  for (const dsl::HostKind &kind : machine.kinds) {
    json["kinds"].push_back(jsonOf(kind.machine));
    json["kinds"].back()["hosts"] = kind.hosts;
  }
  return json;
}

ExitCode measure(const MachineFlags &flags) {
  std::string path = flags.output.empty() ? planner::herePath() : flags.output;
  if (path.empty())
    return fail(ExitCode::BadInput, "cannot store this machine's file: set HOME or XDG_CACHE_HOME, or give -o FILE");
  if (!flags.output.empty()) { // before a minute is spent on it
    if (planner::replacesOtherText(path))
      return fail(ExitCode::Usage, "-o '" + path + "' would replace a file that describes no machine; give another name");
    if (engine::Status status = files::checkWritable(path); !status.ok())
      return fail(status);
  }
  planner::MeasureOptions options;
  options.quick = flags.quick;
  Outcome<planner::Measured> measured = reported(planner::measureMachine(options, terminal()));
  if (!measured.ok())
    return measured.code();
  if (ExitCode code = reported(planner::writeMachineFile(path, measured->machine, measured->remark)); code != ExitCode::Good)
    return code;
  if (flags.json) {
    OrderedJson json = jsonOf(measured->machine);
    json["file"] = path;
    for (const planner::Residual &one : measured->residuals)
      json["residuals"].push_back({{"kind", one.kind}, {"steps", one.steps}, {"seconds", one.seconds}, {"relative", one.relative}});
    printJson(std::move(json));
    return ExitCode::Good;
  }
  std::cout << dsl::printMachine(measured->machine) << "\n"
            << TableRow().left("fit", 28).right("steps", 8).right("seconds", 12).right("error", 10).str();
  for (const planner::Residual &one : measured->residuals)
    std::cout << TableRow(2)
                     .left(one.kind, 26)
                     .right(fmt::format("{}", one.steps), 8)
                     .right(fmt::format("{:.4f}", one.seconds), 12)
                     .right(fmt::format("{:.1f} %", 100 * one.relative), 10)
                     .str();
  printRemark(fmt::format("wrote '{}'", path));
  return ExitCode::Good;
}

ExitCode show(const MachineFlags &flags) {
  Outcome<std::optional<std::string>> path = reported(planner::machineFile(flags.shown, terminal()));
  if (!path.ok())
    return path.code();
  Outcome<dsl::Machine> machine = reported(planner::readMachineFile(*path, terminal()));
  if (!machine.ok())
    return machine.code();
  if (flags.json)
    printJson(jsonOf(*machine));
  else
    std::cout << dsl::printMachine(*machine);
  return ExitCode::Good;
}

} // namespace

Command addMachineCommand(CLI::App &driver) {
  auto flags = std::make_shared<MachineFlags>();
  CLI::App *app = driver.add_subcommand("machine", "measure this machine for planned times, or print a machine\n\n"
                                                   "Example:\n"
                                                   "  npar machine measure\n"
                                                   "  npar inspect gpt2 --machine here\n");
  CLI::App *measuring =
      app->add_subcommand("measure", "measure this machine and write the file that --machine here reads\n\n"
                                     "Example:\n"
                                     "  npar machine measure -o big.npar && npar inspect gpt2 --machine big.npar\n\n"
                                     "Trains small models for about a minute and fits the machine's figures to their steps. Nothing else\n"
                                     "should run at the same time.\n");
  measuring->add_option("-o,--output", flags->output, "file to write (default: $XDG_CACHE_HOME/npar/machines/HOST.npar, else in ~/.cache)")
      ->type_name("FILE.npar")
      ->check(notEmpty());
  measuring->add_flag("--quick", flags->quick, "use only the smallest models, to test that it works; the figures are inaccurate");
  measuring->add_flag("--json", flags->json, "print the result as JSON");
  CLI::App *showing = app->add_subcommand("show", "print a machine: a file, a name of the standard library, or here\n\n"
                                                  "Example:\n"
                                                  "  npar machine show reference --json");
  showing
      ->add_option("MACHINE", flags->shown, "a file, a name of the standard library, or here, which is measured once (default: reference)")
      ->check(notEmpty());
  showing->add_flag("--json", flags->json, "print its figures as JSON: bytes, seconds, FLOP/s");
  for (CLI::App *inner : {measuring, showing}) {
    inner->allow_extras();
    inner->footer(exitCodeText);
  }
  return {app, [flags, app, measuring, showing] {
            if (measuring->parsed())
              return measure(*flags);
            if (showing->parsed())
              return show(*flags);
            return fail(ExitCode::Usage, "no subcommand: give measure or show\nnpar: see 'npar " + app->get_name() + " --help'");
          }};
}

} // namespace npar::driver
