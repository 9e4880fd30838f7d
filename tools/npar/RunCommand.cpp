// `npar run`: compiles a text in memory or loads a compiled program, and trains it.
#include "tools/npar/Command.h"

#include "tools/npar/FlagChecks.h"
#include "tools/npar/PendingFile.h"
#include "tools/npar/RunFlags.h"
#include "tools/npar/Talk.h"

namespace npar::driver {
namespace {

/// Mistakes that are known before anything is compiled.
ExitCode checkFlags(const RunFlags &flags) {
  if (flags.data.empty() && !flags.randomData)
    return fail(ExitCode::Usage, "no data: give --data FILE --tokens bytes|u16|i32, or --random-data for a trial run");
  if (!flags.data.empty() && flags.randomData)
    return fail(ExitCode::Usage, "--data and --random-data exclude each other");
  if (!flags.data.empty() && flags.tokens.empty())
    return fail(ExitCode::Usage, "--data needs --tokens: bytes (a text), u16 or i32 (little-endian token numbers)");
  if (!flags.mask.empty() && flags.data.empty())
    return fail(ExitCode::Usage, "--mask needs --data: it says which tokens of that file are targets");
  if (ExitCode code = checkDistinct({{"--log", flags.log}, {"--trace", flags.trace}, {"--save-weights", flags.saveWeights}},
                                    {{"--data", flags.data}, {"--mask", flags.mask}, {"the model", flags.model.model}});
      code != ExitCode::Good)
    return code;
  for (const std::string &path : {flags.log, flags.trace, flags.saveWeights})
    if (!path.empty())
      if (engine::Status status = checkWritable(path); !status.ok())
        return fail(status);
  return ExitCode::Good;
}

ExitCode runRun(const RunFlags &flags) {
  if (ExitCode code = checkFlags(flags); code != ExitCode::Good)
    return code;
  Outcome<ProgramPointer> program = loadModel(flags.model);
  return program.ok() ? train(flags, *program) : program.code();
}

} // namespace

Command addRunCommand(CLI::App &driver) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App *app = driver.add_subcommand(
      "run", "train\n\n"
             "Example:\n"
             "  npar run gpt2 --set vocab=256 --set width=128 --set heads=4 --set depth=4 --set length=128 --set batch=16 \\\n"
             "      --data book.txt --tokens bytes --steps 300 --log log.jsonl\n");
  flags->model.addTo(*app);
  app->add_option("--data", flags->data, "file to train on")->type_name("FILE");
  app->add_option("--tokens", flags->tokens, "what the file holds: bytes (a text), u16 or i32 (little-endian token numbers)")
      ->type_name("KIND")
      ->check(CLI::IsMember({"bytes", "u16", "i32"}));
  app->add_option("--mask", flags->mask, "which tokens of the data are targets of the loss: one byte per token, 0 (not) or 1")
      ->type_name("FILE");
  app->add_option("--order", flags->order, "of the samples: shuffled (by seed and epoch) or sequential; the same for every plan")
      ->type_name("ORDER")
      ->check(CLI::IsMember({"shuffled", "sequential"}))
      ->capture_default_str();
  app->add_flag("--random-data", flags->randomData, "random tokens instead of a file: for trials and benchmarks");
  app->add_option("--weights", flags->weights, "start from these weights (Hugging Face names)")->type_name("FILE.safetensors");
  app->add_option("--save-weights", flags->saveWeights, "write the final weights")->type_name("FILE.safetensors");
  app->add_option("--steps", flags->steps, "training steps")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--seed", flags->seed, "of parameters, dropout and order (default: the train block's)")
      ->type_name("N")
      ->check(wholeNumber());
  app->add_option("--threads", flags->threads, "workers (default: the machine's)")->type_name("N")->check(CLI::Range(1, 4096));
  app->add_option("--log", flags->log, "one JSON object per step; grows as FILE.partial, renamed when the run ends")
      ->type_name("FILE.jsonl");
  app->add_option("--trace", flags->trace, "measured timeline for Perfetto or chrome://tracing")->type_name("FILE.json");
  app->add_option("--trace-steps", flags->traceSteps, "training steps that the timeline shows, from the first")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--backend", flags->backend, "cpu, or null: no arithmetic, planned times")
      ->check(CLI::IsMember({"cpu", "null"}))
      ->capture_default_str();
  app->add_option("--timeout", flags->timeout, "seconds without progress before giving up")
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
  app->add_option("--nonfinite", flags->nonfinite,
                  "after a step with a loss or gradient that is not finite, which changes no parameter: stop or continue")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"stop", "continue"}))
      ->capture_default_str();
  app->add_flag("--quiet", flags->quiet, "no progress, errors only");
  app->add_flag("--json", flags->json, "one summary object on standard output");
  return {app, [flags] { return runRun(*flags); }};
}

} // namespace npar::driver
