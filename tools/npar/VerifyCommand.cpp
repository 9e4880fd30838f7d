// `npar verify`: checks the program that a plan gives, or a given one: its structure, its memory, and its mathematics against one rank
// in float64.
#include "tools/npar/Command.h"

#include "tools/npar/job/Job.h"
#include "tools/npar/job/MpiLaunch.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/verify/VerifyAll.h"
#include "tools/npar/verify/VerifyInJob.h"
#include "tools/npar/verify/VerifyPairs.h"

namespace npar::driver {
namespace {

ExitCode verifyManyPlans(const VerifyFlags &flags) {
  if (flags.model.plan || !flags.program.empty())
    return fail(ExitCode::Usage, "--all makes its own plans: remove --plan and --program");
  AllFlags all;
  for (size_t i = 0; i <= flags.more.size(); ++i) {
    all.models.push_back(flags.model);
    if (i > 0)
      all.models.back().model = flags.more[i - 1];
  }
  all.selection.combine = flags.combine;
  all.printPlan = flags.printPlan;
  all.selection.seed = flags.seed;
  if (flags.plans)
    all.selection.plans = flags.plans;
  all.json = flags.json;
  all.check = planChecks(flags.seed, flags.threads, flags.jobs);
  return verifyAll(all);
}

ExitCode runVerify(VerifyFlags flags, Job &job) {
  if (flags.all || flags.pairs) {
    ExitCode code = job.refuseOthers(flags.all ? "npar verify --all" : "npar verify --pairs");
    if (code == ExitCode::Good)
      code = findMachine(flags.model);
    if (code == ExitCode::Good)
      code = flags.all ? verifyManyPlans(flags)
                       : verifyPairs({flags.model, flags.features, flags.json, planChecks(flags.seed, flags.threads, flags.jobs)});
    return code;
  }
  if (!flags.more.empty() || !flags.combine.empty() || !flags.printPlan.empty() || flags.plans || flags.jobs)
    return fail(ExitCode::Usage, "only one model and plan can be verified; several models, --combine, --plans and --print-plan need --all, "
                                 "and --jobs needs --all or --pairs");
  if (flags.model.isCompiled() && !flags.program.empty())
    return fail(ExitCode::Usage, "'" + flags.model.model + "' is a compiled program: with --program, give the model file (.npar) as MODEL");
  if (ExitCode code = job.join(flags.timeout, flags.json); code != ExitCode::Good)
    return code;
  // All processes read the machine file; if it is missing, one process measures and writes it.
  for (bool turn : {job.isVoice(), !job.isVoice()})
    if (ExitCode code = job.agree(turn ? findMachine(flags.model) : ExitCode::Good); code != ExitCode::Good)
      return code;
  if (flags.model.isCompiled())
    return job.agree(verifyCompiled(flags));
  ExitCode code = job.agree(chooseDevices(flags.model, flags.device, job.deviceSharers()));
  return code == ExitCode::Good ? verifyText(flags, job) : code;
}

ExitCode runVerify(const VerifyFlags &flags) {
  if (flags.processes > 0)
    return launchAgain(flags.processes, flags.job);
  return inJob(flags.job, [&](Job &job) {
    if (!job.isVoice())
      Waiting::silence();
    return runVerify(flags, job);
  });
}

} // namespace

/// Words that the flags of a given form do not take: a flag that is given is meant, so what would have no effect is refused.
static ExitCode refuseIdleFlags(const CLI::App &app, const VerifyFlags &flags) {
  auto refuse = [&](std::vector<const char *> names, const std::string &why) {
    for (const char *name : names)
      if (app.count(name) > 0)
        return fail(ExitCode::Usage, std::string(name) + " has no effect: " + why);
    return ExitCode::Good;
  };
  ExitCode code = refuse({"--check"}, "verify reads no data and no weights");
  if (code == ExitCode::Good && flags.all && flags.pairs)
    return fail(ExitCode::Usage, "--all and --pairs exclude each other");
  if (code == ExitCode::Good && (flags.all || flags.pairs))
    code = refuse({"--full", "--timeout", "--processes", "--backend", "--products", "--cuda-products", "--cuda-attention", "--cuda-graph",
                   "--cuda-gpus", "--devices"},
                  std::string(flags.all ? "--all" : "--pairs") + " checks every plan at a small size, with limits of its own");
  if (code == ExitCode::Good && flags.pairs)
    code = refuse({"MORE", "--plans", "--combine", "--print-plan", "--program"}, "--pairs makes its own plans of one model");
  if (code == ExitCode::Good && !flags.pairs)
    code = refuse({"--features"}, "it chooses what --pairs combines");
  if (code == ExitCode::Good && flags.model.isCompiled() && !flags.all && !flags.pairs)
    code = refuse({"--seed", "--threads", "--timeout", "--full", "--processes", "--backend", "--products", "--cuda-products",
                   "--cuda-attention", "--cuda-graph", "--cuda-gpus", "--devices"},
                  "only the structure of a compiled program is checked; give --program to check its mathematics");
  return code;
}

Command addVerifyCommand(CLI::App &driver) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App *app = driver.add_subcommand(
      "verify", "check that a plan computes what one rank computes\n\n"
                "Example:\n"
                "  npar verify gpt2 --set vocab=257 --set width=32 --set heads=4 --set depth=4 --set length=16 --set batch=16\n"
                "  npar verify my.npar --program my.npx\n"
                "  npar verify mlp --pairs --features dp,tp,zero3\n"
                "  npar verify --all mlp --plans 4 --seed 7\n"
                "\n"
                "Structure: every send has its receive, groups agree, nothing deadlocks, every element has an owner,\n"
                "memory is as planned.\n"
                "Mathematics: three optimizer steps in float64 on random data, compared with one rank. Loss, gradients,\n"
                "optimizer state and parameters must agree within 1e-10. Finite differences check the gradients of the one rank.\n"
                "Type: the plan in its own type. Losses must agree within 1e-5 (f32), 1e-3 (fp16) or 5e-3 (bf16), relative, or\n"
                "within four times the error of one rank in that type. A failure is repeated with the numbers of the next seed,\n"
                "because a kink (relu, max) or a choice between nearly equal values (top_k) amplifies rounding under any plan.\n"
                "Under bf16 and fp16 a warning names a line whose rounding alone causes most of the difference to float64.\n"
                "For a compiled program alone (MODEL is a .npx), verify checks the structure; --program adds the mathematics.\n"
                "\n"
                "--pairs makes a plan of each feature of the plan language and of each pair, and checks it at a small size: equal\n"
                "to one rank (ok), or refused with the reason and the line. All features take minutes.\n"
                "--all draws plans from all features: single features first, then random combinations.\n"
                "In both, anything but ok and refused is a failure (exit code 3), printed with the command that repeats it.\n");
  auto group = [app](const char *name) { app->option_defaults()->group(name); };
  group("Model and plan");
  addModelFlags(*app, flags->model);
  addWorldFlag(*app, flags->model);
  addAccumulateFlag(*app, flags->model);
  addMachineTo(*app, flags->model);
  app->add_option("--program", flags->program, "check this compiled program (float64) instead of compiling the plan")
      ->check(notEmpty())
      ->type_name("FILE.npx");

  group("Check");
  app->add_flag("--json", flags->json, "print the result as one JSON object");
  app->add_flag("--full", flags->full, "also check models with more than 5 million parameters");
  app->add_option("--seed", flags->seed,
                  "seed for parameters, data and the directions of the finite differences; with --all also for the random plans")
      ->type_name("N")
      ->check(wholeNumber())
      ->capture_default_str();
  app->add_option("--threads", flags->threads, "worker threads (default: the machine's cores; 2 per plan with --pairs and --all)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  app->add_option("--timeout", flags->timeout, "give up after this many seconds without progress")
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();

  group("Pairs of features");
  app->add_flag("--pairs", flags->pairs, "check each feature of the plan language and each pair of them");
  app->add_option("--features", flags->features, "with --pairs: these features instead of all, such as dp,tp,zb_v")
      ->type_name("FEATURES")
      ->check(notEmpty());
  app->add_option("--jobs", flags->jobs, "with --pairs or --all: plans checked at the same time (default: the machine's cores)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));

  group("Devices");
  flags->device.addTo(*app);
  app->get_option("--backend")
      ->description("where the plan's program runs: cpu, or cuda (see `npar devices`); the single rank always runs on the CPU");

  group("Processes");
  app->add_option("--processes", flags->processes, "start this many processes, as npar launch does, and check across them")
      ->type_name("N")
      ->check(wholeNumber(1, 65536));
  flags->job.addTo(*app);

  group("For developers of npar");
  app->add_flag("--all", flags->all, "check many plans of each MODEL, drawn from all features");
  app->add_option("MORE", flags->more, "more models, with --all");
  app->add_option("--plans", flags->plans, "with --all: number of plans for each model (default: 120)")
      ->type_name("N")
      ->check(wholeNumber(1, 100000));
  app->add_option("--combine", flags->combine,
                  "with --all: check this combination of features instead, such as dp,tp,zb_v; may be repeated")
      ->type_name("FEATURES")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--print-plan", flags->printPlan, "with --all: print the model's text with this plan, and check nothing")
      ->type_name("NAME")
      ->check(notEmpty());
  return {app, [flags, app] {
            ExitCode code = refuseIdleFlags(*app, *flags);
            return code == ExitCode::Good ? runVerify(*flags) : code;
          }};
}

} // namespace npar::driver
