// `npar verify`: checks the program that a plan gives: its structure, its memory, and its mathematics against one rank in float64.
#include "tools/npar/Command.h"

#include "engine/program/Mesh.h"
#include "engine/program/Verify.h"
#include "tools/npar/Compilation.h"
#include "tools/npar/Equivalence.h"
#include "tools/npar/Talk.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

constexpr uint64_t largestUnasked = 5000000; ///< parameters; above, --full must be given
constexpr int64_t verifySteps = 3;

struct VerifyFlags {
  ModelOptions model;
  uint64_t seed = 1;
  int threads = 0;
  double timeout = 300;
  bool json = false, full = false;
};

uint64_t parametersOf(const dsl::Program &program) {
  uint64_t count = 0;
  for (const dsl::Parameter &parameter : program.model.parameters) {
    uint64_t size = 1;
    for (const std::string &name : parameter.type.axes)
      for (const dsl::Axis &axis : program.model.axes)
        if (axis.name == name)
          size *= static_cast<uint64_t>(axis.size);
    count += size;
  }
  return count;
}

/// Some gradients are zero in theory and noise in practice, which Adam would blow up to full updates: a larger epsilon damps that.
void dampNoise(dsl::Program &program) { program.train.epsilon = std::max(program.train.epsilon, 1e-4); }

/// The same model and train block on one rank: one micro-batch that is the whole batch.
dsl::Program onOneRank(dsl::Program program) {
  dsl::Plan plan;
  plan.micro = program.train.batch;
  plan.compute = program.plan.compute;
  plan.location = program.plan.location;
  program.plan = plan;
  for (dsl::Axis &axis : program.model.axes)
    if (axis.name == "batch")
      axis.size = program.train.batch;
  return program;
}

ExitCode report(const VerifyFlags &flags, const program::Program &program, const std::vector<Check> &checks) {
  bool good = std::all_of(checks.begin(), checks.end(), [](const Check &check) { return check.ok; });
  std::string plan = program.plan() ? program.plan()->str() : "";
  if (flags.json) {
    nlohmann::ordered_json json, list = nlohmann::ordered_json::array();
    for (const Check &check : checks) {
      nlohmann::ordered_json one;
      one["name"] = check.name;
      one["ok"] = check.ok;
      if (check.maxRelativeError) // JSON has no infinity: a not finite error becomes null
        one["max_relative_error"] = *check.maxRelativeError;
      one["detail"] = check.detail;
      list.push_back(one);
    }
    json["ok"] = good;
    json["plan"] = plan;
    json["checks"] = list;
    std::cout << json.dump(2) << '\n';
    return good ? ExitCode::Good : ExitCode::CheckFailed;
  }
  std::cout << fmt::format("{} under plan {}: {} ranks, {} parameters\n", program.model() ? program.model()->str() : "", plan,
                           program::worldOf(program), program.parameters());
  for (const Check &check : checks) {
    std::string error = check.maxRelativeError ? fmt::format("{:.1e}", *check.maxRelativeError) : "";
    std::cout << fmt::format("  {:<8}{:<26}{:>8}  {}\n", check.ok ? "ok" : "FAILED", check.name, error, check.detail);
  }
  std::cout << (good ? "all checks passed\n" : "some checks failed\n");
  return good ? ExitCode::Good : ExitCode::CheckFailed;
}

engine::Status runChecks(const VerifyFlags &flags, ProgramPointer program, ProgramPointer reference, std::vector<Check> &checks) {
  engine::SessionOptions options;
  options.threads = flags.threads;
  options.seed = flags.seed;
  options.timeoutSeconds = flags.timeout;
  engine::Result<std::unique_ptr<engine::Session>> session = engine::Session::create(program, options);
  if (!session.ok())
    return session.status();
  engine::Result<std::unique_ptr<engine::Session>> one = engine::Session::create(reference, options);
  if (!one.ok())
    return one.status();
  if (engine::Status status = compareSessions(**session, **one, program->root(), verifySteps, flags.seed, checks); !status.ok())
    return status;
  checks.push_back(checkMemoryUse(**session));
  engine::Result<std::unique_ptr<engine::Session>> fresh = engine::Session::create(reference, options);
  if (!fresh.ok())
    return fresh.status();
  if (engine::Status status = disturbParameters(**fresh, reference->root(), flags.seed); !status.ok())
    return status;
  return checkFiniteDifferences(**fresh, reference->root(), flags.seed, checks);
}

ExitCode runVerify(const VerifyFlags &flags) {
  if (flags.model.isCompiled())
    return fail(ExitCode::Usage,
                "verify compiles the plan in float64 beside one rank, so it needs the model text (.npar), not '" + flags.model.model + "'");
  Outcome<dsl::FrontendOptions> frontend = flags.model.frontend();
  if (!frontend.ok())
    return frontend.code();
  Compilation compilation(std::move(*frontend));
  Outcome<dsl::Program> planned = compilation.elaborate({{"compute", "f64"}});
  if (!planned.ok())
    return planned.code();
  if (uint64_t count = parametersOf(*planned); count > largestUnasked && !flags.full)
    return fail(ExitCode::BadInput, fmt::format("{} parameters are many for a check in float64 on this machine\n"
                                                "npar: help: shrink the model, such as --set vocab=257 --set width=32 --set heads=4 --set "
                                                "depth=4 --set length=16, or give --full to check this size",
                                                count));
  dampNoise(*planned);
  Outcome<ProgramPointer> program = compilation.load(*planned), reference = ExitCode::Internal;
  if (!program.ok())
    return program.code();
  reference = compilation.load(onOneRank(*planned));
  if (!reference.ok())
    return reference.code();

  std::vector<Check> checks;
  for (const program::CheckResult &result : program::checkProgram((*program)->root()))
    checks.push_back({result.name, result.ok, std::nullopt, result.detail});
  if (engine::Status status = runChecks(flags, *program, *reference, checks); !status.ok())
    return fail(status);
  return report(flags, (*program)->root(), checks);
}

} // namespace

Command addVerifyCommand(CLI::App &driver) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App *app = driver.add_subcommand(
      "verify", "check that a plan's program does what one rank does\n\n"
                "Example:\n"
                "  npar verify gpt2 --set vocab=257 --set width=32 --set heads=4 --set depth=4 --set length=16 --set batch=16\n"
                "\n"
                "Structure: every send has its receive, groups agree, no deadlock, every element owned, memory as planned.\n"
                "Mathematics: 3 optimizer steps in float64 on random tokens beside one rank; loss, gradients, optimizer state\n"
                "and parameters must agree to 1e-10; the one-rank gradients are checked by finite differences.\n");
  flags->model.addTo(*app);
  app->add_flag("--json", flags->json, "one JSON object on standard output");
  app->add_flag("--full", flags->full, "check models of more than 5 million parameters too");
  app->add_option("--seed", flags->seed, "of parameters, data and directions")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--threads", flags->threads, "workers (default: the machine's)")->type_name("N")->check(CLI::Range(1, 4096));
  app->add_option("--timeout", flags->timeout, "seconds without progress before giving up")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return {app, [flags] { return runVerify(*flags); }};
}

} // namespace npar::driver
