// `npar checkpoint`: shows, verifies, compares, consolidates and reshards checkpoints, offline.
#include "tools/npar/Command.h"

#include "tools/npar/checkpoint/CheckpointTools.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <functional>

namespace npar::driver {

namespace {

constexpr const char *checkpointWord =
    "a checkpoint (the folder with its manifest), or a folder of checkpoints, of which the newest is used";

void addJson(CLI::App &app, bool &json) { app.add_flag("--json", json, "print the result as one JSON object"); }

void addOnly(CLI::App &app, std::string &only) {
  app.add_option("--only", only, "kind of tensors: parameter, state (of the optimizer) or all")
      ->type_name("KIND")
      ->check(CLI::IsMember({"parameter", "state", "all"}))
      ->capture_default_str();
}

void addAlone(CLI::App &app, JobOptions &job) {
  app.add_flag("--alone", job.alone, "use this process only, even if a launcher started several");
}

/// Runs a command that writes files; several processes would all write the same ones.
ExitCode inOneProcess(const JobOptions &options, const std::string &command, const std::function<ExitCode()> &body) {
  return inJob(options, [&](Job &job) {
    ExitCode code = job.refuseOthers(command);
    return code == ExitCode::Good ? body() : code;
  });
}

} // namespace

Command addCheckpointCommand(CLI::App &driver) {
  struct All {
    ShowFlags show;
    VerifyCheckpointFlags verify;
    DiffFlags diff;
    ConsolidateFlags consolidate;
    ReshardFlags reshard;
    JobOptions job; ///< of consolidate and reshard
  };
  auto all = std::make_shared<All>();
  CLI::App *app = driver.add_subcommand("checkpoint", "show, verify, compare, consolidate and reshard checkpoints\n\n"
                                                      "Example:\n"
                                                      "  npar checkpoint show run\n"
                                                      "  npar checkpoint verify run/step-20\n"
                                                      "  npar checkpoint diff run model.safetensors\n"
                                                      "  npar checkpoint consolidate run -o model.safetensors\n"
                                                      "  npar checkpoint reshard run --shards 2 -o other");

  CLI::App *show = app->add_subcommand("show", "print a checkpoint's contents: step, model, plan, tensors, files\n\n"
                                               "Example:\n"
                                               "  npar checkpoint show run/step-20 --json");
  show->add_option("CHECKPOINT", all->show.path, checkpointWord)->required()->check(notEmpty());
  addJson(*show, all->show.json);

  CLI::App *verify =
      app->add_subcommand("verify", "compare every byte with the checkpoint's hashes and sizes; the exit code is 3 if any differs\n\n"
                                    "Example:\n"
                                    "  npar checkpoint verify run/step-20 --json");
  verify->add_option("CHECKPOINT", all->verify.path, checkpointWord)->required()->check(notEmpty());
  addJson(*verify, all->verify.json);

  CLI::App *diff = app->add_subcommand(
      "diff", "list the logical tensors that differ, by how much, and where first; the exit code is 3 if any differs\n\n"
              "Example:\n"
              "  npar checkpoint diff run/step-20 other/step-20\n"
              "  npar checkpoint diff run model.safetensors --only parameter\n\n"
              "Each side is a checkpoint of any plan, a safetensors file, or a folder of such files with an index. Optimizer\n"
              "state that only the checkpoint has does not count as a difference.");
  diff->add_option("FIRST", all->diff.left, "checkpoint, file or folder")->required()->check(notEmpty());
  diff->add_option("SECOND", all->diff.right, "checkpoint, file or folder")->required()->check(notEmpty());
  addOnly(*diff, all->diff.only);
  addJson(*diff, all->diff.json);

  CLI::App *consolidate = app->add_subcommand("consolidate", "write complete parameters to one file, or to several\n\n"
                                                             "Examples:\n"
                                                             "  npar checkpoint consolidate run/step-20 --only all -o all.safetensors\n"
                                                             "  npar checkpoint consolidate run --shard-size 5GB -o model\n"
                                                             "  npar checkpoint consolidate run --format pytorch -o model.pt");
  consolidate->add_option("CHECKPOINT", all->consolidate.path, checkpointWord)->required()->check(notEmpty());
  consolidate->add_option("-o,--output", all->consolidate.output, "file to write, or with --shard-size a new folder")
      ->required()
      ->type_name("PATH")
      ->check(notEmpty());
  consolidate
      ->add_option("--shard-size", all->consolidate.most, "maximum bytes of tensors per file, such as 5GB or 500MiB; also writes an index")
      ->type_name("SIZE")
      ->transform(byteSize());
  consolidate->add_option("--format", all->consolidate.format, "safetensors, or pytorch: a file for torch.load with weights_only=True")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"safetensors", "pytorch"}))
      ->capture_default_str();
  addOnly(*consolidate, all->consolidate.only);
  addAlone(*consolidate, all->job);
  addJson(*consolidate, all->consolidate.json);

  CLI::App *reshard = app->add_subcommand(
      "reshard", "rewrite a checkpoint with another number of files, or as another plan would write it\n\n"
                 "Example:\n"
                 "  npar checkpoint reshard run --shards 2 -o other\n"
                 "  npar checkpoint reshard run gpt2 --set vocab=256 --set width=64 --set heads=4 --set length=64 --set mesh.tp=4 -o tp4\n"
                 "  npar checkpoint reshard run small.npx -o small\n\n"
                 "A run can resume from any checkpoint under any plan; use this to fit files to a machine or a network.");
  reshard->add_option("CHECKPOINT", all->reshard.path, checkpointWord)->required()->check(notEmpty());
  addModelFlags(*reshard, all->reshard.model);
  addWorldFlag(*reshard, all->reshard.model);
  reshard->get_option("MODEL")->required(false);
  reshard->add_option("--shards", all->reshard.shards, "number of files of nearly equal size, instead of a plan's")
      ->type_name("N")
      ->check(wholeNumber(1, 1'000'000));
  reshard->add_option("-o,--output", all->reshard.output, "folder of checkpoints, in which step-N is written")
      ->required()
      ->type_name("FOLDER")
      ->check(notEmpty());
  addAlone(*reshard, all->job);
  addJson(*reshard, all->reshard.json);

  for (CLI::App *inner : {show, verify, diff, consolidate, reshard}) {
    inner->allow_extras();
    inner->footer(exitCodeText);
  }
  return {app, [all, app, show, verify, diff, consolidate, reshard] {
            if (show->parsed())
              return showCheckpoint(all->show);
            if (verify->parsed())
              return verifyCheckpoint(all->verify);
            if (diff->parsed())
              return diffCheckpoints(all->diff);
            if (consolidate->parsed())
              return inOneProcess(all->job, "npar checkpoint consolidate", [&] { return consolidateCheckpoint(all->consolidate); });
            if (reshard->parsed())
              return inOneProcess(all->job, "npar checkpoint reshard", [&] { return reshardCheckpoint(all->reshard); });
            return fail(ExitCode::Usage,
                        "no subcommand: give show, verify, diff, consolidate or reshard\nnpar: see 'npar " + app->get_name() + " --help'");
          }};
}

} // namespace npar::driver
