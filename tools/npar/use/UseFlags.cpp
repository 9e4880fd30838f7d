// Defines the flags, and keeps a command to the checkpoint that it found.
#include "tools/npar/use/UseFlags.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/job/AgreedCheckpoint.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/PartFlag.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

void UseFlags::addModelTo(CLI::App &app) {
  app.option_defaults()->group("Model and plan");
  addModelFlags(app, model);
  addWorldFlag(app, model);
  app.get_option("MODEL")->description(
      "checkpoint or Hugging Face folder; with --weights: a model as for npar train, or a program compiled for "
      "this command (.npx)");
  app.get_option("--plan")->description("plan to use (default: none, one rank); the results are the same up to rounding beyond rounding");
  app.add_option("--weights", weights, "the model's weights: a .safetensors file, a Hugging Face folder, or a checkpoint")
      ->type_name("FILE|FOLDER")
      ->check(notEmpty());
  addPart(app, parts);
}

void UseFlags::addRunTo(CLI::App &app) {
  app.option_defaults()->group("Reports");
  app.add_flag("--quiet", quiet, "print errors only");
  app.add_flag("--json", json, "print the result as one JSON object");
  app.option_defaults()->group("Devices");
  app.add_option("--threads", threads, "number of worker threads (default: the machine's cores)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  device.addTo(app);
  app.option_defaults()->group("Processes");
  job.addTo(app);
  app.add_option("--timeout", timeout, "seconds without progress before the command fails")
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
}

trained::StartOptions UseFlags::start() const {
  trained::StartOptions options;
  device.applyTo(options.session);
  options.session.timeoutSeconds = timeout;
  options.threads = threads, options.quiet = quiet;
  return options;
}

ExitCode settleFolders(Job &job, UseFlags &flags) {
  std::vector<std::string *> paths = {&flags.model.model, &flags.weights};
  for (std::string &part : flags.parts)
    paths.push_back(&part);
  for (std::string *path : paths) {
    Outcome<std::string> settled = reported(job::settleCheckpoint(job, *path));
    if (!settled.ok())
      return settled.code();
    if (*settled != *path)
      flags.checkpoints.push_back(*settled);
    *path = *settled;
  }
  return ExitCode::Good;
}

ExitCode explained(ExitCode code, const UseFlags &flags) {
  for (const std::string &folder : code == ExitCode::BadInput ? flags.checkpoints : std::vector<std::string>())
    if (!engine::hasManifest(folder))
      printRemark("help: '" + folder + "' was removed by a running training after this command found it: try again");
  return code;
}

} // namespace npar::driver
