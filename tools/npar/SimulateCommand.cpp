// `npar simulate`: a training step of a plan on a machine that need not be there, in simulated time.
#include "tools/npar/Command.h"

#include "dsl/machine/Hosts.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/PendingFile.h"
#include "engine/json/Json.h"
#include "engine/program/Ranks.h"
#include "tools/lib/foreign/AsRun.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/simulate/OutlookPicture.h"
#include "tools/lib/planner/simulate/Prediction.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/ForeignFlags.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/plan/OutlookFlags.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

#include <fmt/format.h>
#include <iostream>

namespace npar::driver {
namespace {

struct SimulateFlags {
  ModelOptions model;
  ForeignFlags foreign;
  const foreign::ForeignProgram *as = nullptr; ///< null: not given
  std::optional<std::string> place;
  int64_t hosts = 0; ///< 0: as many as the ranks need
  planner::OutlookRequest outlook;
  std::string svg, trace, html;
  bool json = false, postValidated = false, gathersPassOn = false, sumsApart = false, workUnmoved = false;
  std::vector<double> rowsSent;  ///< parts of the rows of experts: to other ranks, to other hosts; empty: all
  std::vector<double> taskTimes; ///< milliseconds: forward, backward, weights' gradients, a message; empty: what the machine says
};

/// The simulated step as a picture, a trace, a page.
ExitCode writePictures(const SimulateFlags &flags, const program::Program &program, const planner::Outlook &outlook) {
  using planner::PictureKind;
  for (const auto &[path, kind] :
       {std::pair(flags.svg, PictureKind::Svg), std::pair(flags.trace, PictureKind::Trace), std::pair(flags.html, PictureKind::Page)}) {
    if (path.empty())
      continue;
    std::string picture = planner::pictureOf(kind, program, outlook);
    if (engine::Status status = files::writeFileAtomically(path, picture.data(), picture.size()); !status.ok())
      return fail(status);
  }
  return ExitCode::Good;
}

ExitCode runSimulate(const SimulateFlags &flags) {
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage,
                "a compiled program has the times of its own machine: give the model file (.npar) instead of '" + flags.model.model + "'");
  if (ExitCode code = checkOutlook(flags.outlook); code != ExitCode::Good)
    return code;
  FileClaims files;
  files.write("--svg", flags.svg, {".svg"});
  files.write("--html", flags.html, {".html"});
  files.write("--trace", flags.trace, {".json"});
  if (flags.foreign.from.empty())
    files.read("the model", flags.model.file());
  files.read("--from", flags.foreign.from);
  if (flags.foreign.modelConfig)
    files.read("--model-config", *flags.foreign.modelConfig);
  if (flags.model.machine)
    files.read("--machine", *flags.model.machine);
  if (ExitCode code = reported(files.check()); code != ExitCode::Good)
    return code;
  for (const std::string &path : {flags.svg, flags.trace, flags.html})
    if (!path.empty())
      if (engine::Status status = files::checkWritable(path); !status.ok())
        return fail(status);
  Outcome<dsl::Machine> machine = reported(planner::readMachineFile(flags.model.machine, terminal()));
  if (!machine.ok())
    return machine.code();
  if (ExitCode code = reported(planner::limitDevices(*machine, flags.model.devices)); code != ExitCode::Good)
    return code;
  // Ranks that fill the hosts asked for; 0: none are.
  const int64_t devicesGiven = flags.hosts > 0 || flags.model.devices > 0 ? dsl::placesOf(*machine, std::max<int64_t>(1, flags.hosts)) : 0;
  std::optional<foreign::ForeignModel> other;
  if (!flags.foreign.from.empty()) {
    Outcome<foreign::ForeignModel> made = reported(foreign::modelOfRun(flags.foreign, flags.model, devicesGiven, terminal()));
    if (!made.ok())
      return made.code();
    if (ExitCode code = flags.foreign.checkPlan(*made); code != ExitCode::Good)
      return code;
    other = std::move(*made);
    if (flags.foreign.printPlan) {
      std::cout << other->text;
      return ExitCode::Good;
    }
    if (flags.as) {
      Outcome<std::string> written = reported(foreign::planAs(other->options, *flags.as, &other->run, terminal()));
      if (!written.ok())
        return written.code();
      std::cout << *written;
      return ExitCode::Good;
    }
  }
  ModelOptions model = other ? other->options : flags.model;
  model.world = devicesGiven;
  model.place = flags.place;
  model.movesWork = !flags.workUnmoved;
  Outcome<ProgramPointer> loaded = loadModel(model, files, /*withoutKernels=*/true);
  if (!loaded.ok() && other)
    printRemark("this is in the plan made from '" + flags.foreign.from + "'; --print-plan shows it");
  if (!loaded.ok())
    return loaded.code();
  const program::Program &program = (*loaded)->root();
  Outcome<program::PlaceWords> words = placeWords(flags.place, program);
  if (!words.ok())
    return words.code();
  bool isSpread = other && other->run.hosts > 1 && flags.hosts == 0;
  Outcome<std::vector<program::HostRoom>> rooms =
      reported(isSpread ? planner::roomsSpreadOver(*machine, program::worldOf(program), other->run.hosts)
                        : planner::roomsFor(*machine, program::worldOf(program), flags.hosts));
  if (!rooms.ok())
    return rooms.code();
  engine::Result<std::vector<std::vector<int64_t>>> places = placeOnHosts(program, *words, *rooms);
  if (!places.ok())
    return fail(places.status());
  cost::Deviations deviations;
  deviations.postValidated = flags.postValidated;
  deviations.gathersPassOn = flags.gathersPassOn;
  deviations.sumsApart = flags.sumsApart;
  if (!flags.rowsSent.empty())
    deviations.sentToRanks = flags.rowsSent[0], deviations.sentToHosts = flags.rowsSent[1];
  if (const std::vector<double> &times = flags.taskTimes; !times.empty())
    deviations.taskTimes = {times[0] / 1000, times[1] / 1000, times[2] / 1000, times[3] / 1000};
  Outcome<planner::Outlook> outlook = reported(planner::outlookOf(flags.outlook, program, *machine, *places, deviations, terminal()));
  if (!outlook.ok())
    return outlook.code();
  // Files first: what cannot be written leaves no half answer on standard output.
  if (ExitCode code = writePictures(flags, program, *outlook); code != ExitCode::Good)
    return code;
  if (flags.json) {
    OrderedJson json = planner::predictionJson(program, outlook->prediction);
    planner::addOutlook(json, *outlook);
    if (other)
      json["from"] = foreign::foreignJson(flags.foreign, *other);
    printJson(std::move(json));
  } else {
    std::cout << (other ? foreign::foreignText(flags.foreign, *other) : "") << planner::predictionText(program, outlook->prediction)
              << planner::outlookText(*outlook);
  }
  return ExitCode::Good;
}

} // namespace

Command addSimulateCommand(CLI::App &driver) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App *app = driver.add_subcommand(
      "simulate",
      "predict a training step on any machine\n\n"
      "Example:\n"
      "  npar simulate gpt2 --config gpt2-medium --machine dgx-a100 --hosts 2 --set mesh.dp=4 --set batch=64 --set compute=bf16\n"
      "  npar simulate gpt2 --machine p4d --set batch=64 --slow rank=3:1.5 --jitter 5% --svg step.svg --trace step.json\n"
      "  npar simulate gpt2 --machine p4d --set batch=64 --mtbf 50000 --checkpoint-seconds 30 --restart-seconds 600 --total-tokens 300B\n"
      "  npar simulate --from train.sh --machine dgx-a100 --hosts 16\n\n"
      "Compiles the plan's program for the machine and runs its steps, messages and collectives in simulated\n"
      "time. Concurrent messages share links. MFU is relative to the peak that the machine file states.\n");
  auto group = [app](const char *name) { app->option_defaults()->group(name); };
  group("Model and plan");
  addModelFlags(*app, flags->model);
  addWorldFlag(*app, flags->model);
  addAccumulateFlag(*app, flags->model);
  app->get_option("MODEL")->required(false)->description("model file (.npar), or name of a model in the standard library");
  flags->foreign.addTo(*app);
  addProgramFlag(*app, "--as", flags->as,
                 "with --from: print the run's own plan in the format of another program (" + foreign::programFiles(/*written=*/true) +
                     "), and stop",
                 /*written=*/true);
  group("Machine");
  addMachineTo(*app, flags->model);
  app->add_option("--hosts", flags->hosts, "number of hosts (default: what the ranks need)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 20));
  addDevicesTo(*app, flags->model);
  addPlaceTo(*app, flags->place);
  addOutlookTo(*app, flags->outlook);
  group("Reports");
  app->add_option("--svg", flags->svg, "draw the simulated step: one lane per stage, communication, live memory")
      ->type_name("FILE.svg")
      ->check(notEmpty());
  app->add_option("--trace", flags->trace, "write the simulated step for Perfetto or chrome://tracing")
      ->type_name("FILE.json")
      ->check(notEmpty());
  app->add_option("--html", flags->html,
                  "write an interactive page of the simulated step, and of the undisturbed step below it if ranks or links are slow;\n"
                  "needs no network")
      ->type_name("FILE.html")
      ->check(notEmpty());
  app->add_flag("--json", flags->json, "print the result as one JSON object");
  group("Assumptions");
  app->add_option("--task-times", flags->taskTimes,
                  "measured milliseconds of a stage's forward, backward, weight gradients, and of a message to the next stage, for a "
                  "micro-batch; they replace the machine's figures, and nothing else takes time")
      ->type_name("F,B,W,MESSAGE")
      ->delimiter(',')
      ->expected(4)
      ->option_text("F,B,W,MESSAGE") // without the count that CLI11 adds
      ->check(number(0.0, 1e9));
  app->add_flag("--post-validated", flags->postValidated,
                "assume that the update does not wait for the global gradient norm, and is undone if the norm is not finite");
  app->add_flag("--overlapped-gathers", flags->gathersPassOn,
                "assume that gathers of updated parameters overlap the next step's first forward");
  app->add_flag("--unfused-sums", flags->sumsApart,
                "assume that a separate pass, not the matrix product, adds each micro-batch's gradients to their sum");
  app->add_flag("--unmoved-work", flags->workUnmoved,
                "assume that work is not moved between collectives and the first use of their results");
  app->add_option(
         "--rows-sent", flags->rowsSent,
         "assume that only these parts of the rows of experts go to other ranks and to other hosts by all_to_all, since a position "
         "is sent once to each rank and host with experts of its choice")
      ->type_name("RANKS,HOSTS")
      ->delimiter(',')
      ->expected(2)
      ->option_text("RANKS,HOSTS")
      ->check(number(0.0, 1.0));
  return {app, [flags] {
            if (ExitCode code = flags->foreign.check(flags->model); code != ExitCode::Good)
              return code;
            if (flags->as && flags->foreign.from.empty())
              return fail(ExitCode::Usage, "--as needs --from FILE; `npar inspect --as` writes a plan of npar");
            if (flags->as && (flags->foreign.printPlan || flags->json))
              return fail(ExitCode::Usage,
                          fmt::format("--as and {} both write to standard output: give only one", flags->json ? "--json" : "--print-plan"));
            ExitCode code = findMachine(flags->model);
            return code == ExitCode::Good ? runSimulate(*flags) : code;
          }};
}

} // namespace npar::driver
