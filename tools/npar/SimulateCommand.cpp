// `npar simulate`: a training step of a plan on a machine that need not be there, in simulated time.
#include "tools/npar/Command.h"

#include "engine/program/Ranks.h"
#include "tools/npar/foreign/ForeignModel.h"
#include "tools/npar/machine/MachineFile.h"
#include "tools/npar/model/Compilation.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/PlaceFlag.h"
#include "tools/npar/simulate/HostRooms.h"
#include "tools/npar/simulate/Prediction.h"
#include "tools/npar/terminal/Talk.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

struct SimulateFlags {
  ModelOptions model;
  ForeignFlags foreign;
  std::optional<std::string> place;
  int64_t hosts = 0; ///< 0: as many as the ranks need
  bool json = false, postValidated = false, gathersPassOn = false;
  std::vector<double> taskTimes; ///< milliseconds: forward, backward, weights' gradients, a message; empty: what the machine says
};

ExitCode runSimulate(const SimulateFlags &flags) {
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage,
                "a compiled program has the times of the machine that it was compiled for; give the model text (.npar) instead of '" +
                    flags.model.model + "'");
  FileClaims files;
  Outcome<dsl::Machine> machine = readMachineFile(flags.model.machine);
  if (!machine.ok())
    return machine.code();
  std::optional<ForeignModel> foreign;
  if (!flags.foreign.from.empty()) {
    Outcome<ForeignModel> made = modelOfRun(flags.foreign, flags.model, flags.hosts * static_cast<int64_t>(machine->ranks));
    if (!made.ok())
      return made.code();
    foreign = std::move(*made);
    if (flags.foreign.printPlan) {
      std::cout << foreign->text;
      return ExitCode::Good;
    }
  }
  Outcome<ProgramPointer> loaded = loadModel(foreign ? foreign->options : flags.model, files, /*withoutKernels=*/true);
  if (!loaded.ok() && foreign)
    printRemark("this is of the plan that was made of '" + flags.foreign.from + "'; --print-plan shows it");
  if (!loaded.ok())
    return loaded.code();
  const program::Program &program = (*loaded)->root();
  Outcome<program::PlaceWords> words = placeWords(flags.place, program);
  if (!words.ok())
    return words.code();
  Outcome<std::vector<program::HostRoom>> rooms = roomsFor(*machine, program::worldOf(program), flags.hosts);
  if (!rooms.ok())
    return rooms.code();
  engine::Result<std::vector<std::vector<int64_t>>> places = placeOnHosts(program, *words, *rooms);
  if (!places.ok())
    return fail(places.status());
  cost::Deviations deviations;
  deviations.postValidated = flags.postValidated;
  deviations.gathersPassOn = flags.gathersPassOn;
  if (const std::vector<double> &times = flags.taskTimes; !times.empty())
    deviations.taskTimes = {times[0] / 1000, times[1] / 1000, times[2] / 1000, times[3] / 1000};
  engine::Result<Prediction> prediction = predict(program, *machine, *places, deviations);
  if (!prediction.ok())
    return fail(prediction.status());
  if (flags.json) {
    nlohmann::ordered_json json = predictionJson(program, *prediction);
    if (foreign)
      json["from"] = foreignJson(flags.foreign, *foreign);
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    std::cout << (foreign ? foreignText(flags.foreign, *foreign) : "") << predictionText(program, *prediction);
  }
  return ExitCode::Good;
}

} // namespace

Command addSimulateCommand(CLI::App &driver) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App *app = driver.add_subcommand(
      "simulate",
      "predict a training step on machines that need not be there\n\n"
      "Example:\n"
      "  npar simulate gpt2 --config gpt2-medium --machine dgx-a100 --hosts 2 --set mesh.dp=4 --set batch=64 --set compute=bf16\n"
      "  npar simulate --from train.sh --machine dgx-a100 --hosts 16\n\n"
      "The plan's program is compiled for the machine, and its own steps, messages and collectives pass in simulated\n"
      "time: links are shared by what is sent at the same time. MFU is a share of the peak that the machine's file states.\n");
  flags->model.addTo(*app);
  app->get_option("MODEL")->required(false);
  flags->foreign.addTo(*app);
  addMachineTo(*app, flags->model);
  app->add_option("--hosts", flags->hosts, "how many hosts of the machine there are (default: as many as the ranks need)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 20));
  addPlaceTo(*app, flags->place);
  app->add_option(
         "--task-times", flags->taskTimes,
         "milliseconds that a stage's forward, backward, weights' gradients and a message to the next stage were measured to take for a "
         "micro-batch, instead of what the machine says; nothing else takes time")
      ->type_name("F,B,W,MESSAGE")
      ->delimiter(',')
      ->expected(4)
      ->check(CLI::Range(0.0, 1e9));
  app->add_flag("--post-validated", flags->postValidated,
                "as if the update did not wait for the gradients' norm over all ranks, and were undone where that is not finite");
  app->add_flag("--overlapped-gathers", flags->gathersPassOn,
                "as if gathers of updated parameters passed beside the next step's first forward");
  app->add_flag("--json", flags->json, "one JSON object on standard output");
  return {app, [flags] {
            if (ExitCode code = flags->foreign.check(flags->model); code != ExitCode::Good)
              return code;
            ExitCode code = findMachine(flags->model);
            return code == ExitCode::Good ? runSimulate(*flags) : code;
          }};
}

} // namespace npar::driver
