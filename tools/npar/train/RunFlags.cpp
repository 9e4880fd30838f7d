// Declares the flags of `npar train`.
#include "tools/npar/train/RunFlags.h"

#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/model/PartFlag.h"

namespace npar::driver {

/// A flag that takes a number of steps, or of epochs.
static void addInterval(CLI::App &app, const std::string &flag, Interval &interval, const std::string &help) {
  app.add_option_function<std::string>(
         flag,
         [flag, &interval](const std::string &text) {
           engine::Result<Interval> read = Interval::read(flag, text);
           if (!read.ok())
             throw CLI::ValidationError(read.status().message());
           interval = *read;
         },
         help)
      ->type_name("N|EPOCHS");
}

void RunFlags::addTo(CLI::App &app) {
  auto group = [&](const char *name) { app.option_defaults()->group(name); };
  group("Model and plan");
  addModelFlags(app, model);
  addWorldFlag(app, model);
  addAccumulateFlag(app, model);
  app.get_option("MODEL")->required(false);
  addMachineTo(app, model);

  foreign.addTo(app);
  app.add_flag("--nearest-model", nearestModel,
               "with --from: train npar's nearest model if it has none that computes the same; the differences are printed");
  app.add_flag("--from-scratch", fromScratch,
               "with --from: start from the seed's initial values, even if the run starts from trained weights");
  group("Training");
  CLI::Option *total = app.add_option("--steps", steps,
                                      "total number of training steps, including those before a checkpoint (default: the train block's "
                                      "epochs, or 100 steps)")
                           ->type_name("N")
                           ->check(wholeNumber(1, int64_t{1} << 40));
  app.add_option("--epochs", epochs, "passes over the data in place of --steps, such as 3 or 0.5")
      ->type_name("E")
      ->check(number(1e-6, 1e9))
      ->excludes(total);
  app.add_option("--seed", seed, "seed for initialization, dropout and data order (default: the train block's)")
      ->type_name("N")
      ->check(wholeNumber());
  app.add_option("--weights", weights, "initial weights: a .safetensors file, a Hugging Face folder, or a checkpoint")
      ->type_name("PATH")
      ->check(notEmpty());
  addPart(app, parts);
  app.add_option("--fresh", fresh,
                 "with --weights: parameters that get their initial values instead, such as a head for other classes; * matches any text; "
                 "can be repeated")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->check(notEmpty());
  app.add_option("-o,--output", saveWeights, "write the final weights to this file")->type_name("FILE.safetensors")->check(notEmpty());
  app.add_option("--nonfinite", nonfinite,
                 "what to do after a step whose loss or gradient is not finite: stop, or continue; no parameter changes in that step")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"stop", "continue"}))
      ->capture_default_str();

  app.add_option(
         "--tune", tune,
         "try something in the first steps, which count as all others, and keep the fastest: buckets, the sizes of buckets of gradients")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"buckets"}));

  group("Data");
  data.addFilesTo(app);
  data.addTextsTo(app);
  data.addOrderTo(app);

  group("Checkpoints");
  app.add_option("--checkpoint", checkpoint, "folder of checkpoints; one is written when the run ends, also after Ctrl-C")
      ->type_name("DIR")
      ->check(notEmpty());
  addInterval(app, "--checkpoint-every", every, "steps between two checkpoints, or \"1 epoch\"; they are written while training continues");
  app.add_option("--checkpoint-keep", keep, "keep the N newest checkpoints (default: all)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app.add_flag("--resume", resume,
               "continue from the newest whole checkpoint, under this plan or another; start at step 0 if the folder has none");

  group("Evaluation");
  addInterval(app, "--eval-every", evalEvery,
              "steps between two evaluations on the last part of the data block's split, or on --eval-data; or \"1 epoch\", the default "
              "with --epochs");
  app.add_option("--eval-data", evalData, "file to evaluate on, read once per evaluation; INPUT=FILE.safetensors feeds a single input")
      ->type_name("[INPUT=]FILE")
      ->check(notEmpty());
  app.add_option("--eval-stop-after", stopAfter, "stop after K evaluations in a row without an improvement on the best one")
      ->type_name("K")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app.add_option("--eval-stop-on", stopOn, "loss or metric that must improve (default: the loss)")->type_name("NAME")->check(notEmpty());

  group("Reports");
  app.add_option(
         "--log", logs,
         "write a row per step: columns to FILE.csv, TensorBoard events to FOLDER/ or to a file with 'tfevents' in its name, JSON objects "
         "to any other file; may be repeated; the file is called FILE.partial until the run ends")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->check(notEmpty());
  app.add_option("--trace", trace, "write the measured timeline for Perfetto or chrome://tracing")
      ->type_name("FILE.json")
      ->check(notEmpty());
  app.add_option("--trace-steps", traceSteps, "training steps in the timeline, from the first (default: 5)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app.add_flag("--quiet", quiet, "print errors only");
  app.add_flag("--json", json, "print a summary as one JSON object");

  group("Devices");
  app.add_option("--threads", threads, "worker threads (default: the machine's cores, shared by the processes of a job on it)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  app.add_option("--backend", device.backend, "cpu; cuda: the GPUs that `npar devices` lists; null: no arithmetic, planned times")
      ->check(CLI::IsMember({"cpu", "cuda", "null"}))
      ->capture_default_str();
  device.addOrderTo(app);
  device.addGpuFlagsTo(app);

  group("Processes");
  job.addTo(app);
  app.add_option("--timeout", timeout, "give up after this many seconds without progress")
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
  app.add_option("--check-replicas", checkReplicas,
                 "steps between two comparisons of parameters and optimizer state that several ranks hold; the run ends with exit code 3 "
                 "if they differ, as after an error in a machine's memory or processor (default: never)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
}

} // namespace npar::driver
