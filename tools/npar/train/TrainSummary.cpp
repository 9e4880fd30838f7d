// Remarks, exit codes and summaries of training runs.
#include "tools/npar/train/TrainSummary.h"

#include "engine/json/Json.h"
#include "engine/program/Words.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {

using engine::Result;
using engine::Status;

void remark(const RunFlags &flags, const Training &training, const RunCheckpoints &checkpoints, const RunEvaluations &evaluations) {
  if (const auto &failed = checkpoints.failures(); !failed.empty())
    printRemark(fmt::format("warning: {} of the run's checkpoints {} not written, the first after {} steps: {}", failed.size(),
                            failed.size() == 1 ? "was" : "were", failed.front().step, failed.front().why));
  if (flags.quiet)
    return;
  if (evaluations.isStuck() && training.steps < training.planned)
    printRemark(fmt::format("stopped after {} of {} steps: {} evaluations were no better than that of step {}, {} {:.6g}", training.steps,
                            training.planned, flags.stopAfter, evaluations.bestAt(), evaluations.watched(), evaluations.best()));
  if (training.waited > std::max(1.0, 0.02 * (training.waited + training.seconds)))
    printRemark(fmt::format("the steps waited {:.1f} s for data, {:.0f} % of the training's time: making a batch takes longer than a step; "
                            "give --threads more processors, or smaller files",
                            training.waited, 100 * training.waited / (training.waited + training.seconds)));
  if (training.idle)
    printRemark(fmt::format("{} of {} batches had no counting target: their loss and gradients are 0", training.idle, training.steps));
  if (training.notFinite && flags.nonfinite == "continue")
    printRemark(fmt::format("{} of {} steps had values that are not finite, first {}", training.notFinite, training.steps,
                            training.firstNotFinite));
}

ExitCode verdict(const RunFlags &flags, const Training &training, const std::string &checkpoint) {
  if (training.corrupt)
    return fail(ExitCode::CheckFailed,
                fmt::format("after {} steps {}: a CPU, GPU or memory is defective; no weights are written\nnpar: help: all "
                            "replicas were equal after {} steps: resume from a checkpoint of that step or an earlier one, without the "
                            "machine of the differing ranks, and remove later checkpoints",
                            training.steps, training.corrupt->text(), training.compared));
  if (training.notFinite && flags.nonfinite == "stop")
    return fail(ExitCode::RunFailed,
                training.firstNotFinite +
                    (training.badParameter ? "; no weights are written" : "\nnpar: help: --nonfinite continue skips such steps"));
  if (training.badParameter)
    return fail(ExitCode::RunFailed,
                fmt::format("{} is not finite after the last of {} steps; no weights are written", *training.badParameter, training.steps));
  if (!training.stoppedBy.empty() && training.steps < training.planned)
    return fail(ExitCode::RunFailed,
                fmt::format("stopped by {} after {} of {} steps{}", training.stoppedBy, training.steps, training.planned,
                            checkpoint.empty() ? "" : "\nnpar: help: continue with --resume from '" + checkpoint + "'"));
  return ExitCode::Good;
}

Status printSummary(const RunFlags &flags, const Job &job, const engine::Session &session, const Training &training,
                    const RunCheckpoints &checkpoints, const RunEvaluations &evaluations) {
  bool computes = flags.device.backend != "null";
  std::string hash = session.parameterHash(), states = session.stateHash();
  Result<std::vector<engine::ArenaUse>> uses = job.arenaUse(session);
  if (!uses.ok())
    return uses.status();
  if (!job.isVoice())
    return {};
  if (!flags.json && !computes) {
    std::cout << fmt::format("{} steps without arithmetic (--backend null): no loss, no parameters\n", training.steps);
    return {};
  }
  if (!flags.json && training.steps == training.first) {
    std::cout << fmt::format("{} steps were done already, parameters {}\n", training.steps, hash);
    return {};
  }
  if (!flags.json) {
    std::cout << fmt::format("loss {:.6g} after {} steps, {:.0f} {}/s, parameters {}\n", training.loss, training.steps, training.perSecond,
                             training.unit, hash);
    return {};
  }
  OrderedJson json, ranks = OrderedJson::array();
  for (const engine::ArenaUse &use : *uses) {
    OrderedJson rank;
    rank["rank"] = use.rank;
    rank["arena_bytes_planned"] = use.planned;
    rank["arena_bytes_used"] = use.used;
    ranks.push_back(rank);
  }
  json["steps"] = training.steps;
  json["loss"] = training.loss;
  for (const engine::NamedLoss &loss : training.losses)
    json["losses"][loss.name] = loss.value;
  json[training.unit + "_per_second"] = training.perSecond;
  if (training.validTokens)
    json["valid_tokens"] = *training.validTokens;
  if (training.epoch)
    json["epoch"] = *training.epoch;
  for (const engine::EpochRecord &epoch : training.epochs) {
    OrderedJson row = {
        {"epoch", epoch.epoch}, {"step", epoch.step}, {"steps", epoch.steps}, {"loss", epoch.loss}, {"seconds", epoch.seconds}};
    row[training.unit + "_per_second"] = epoch.perSecond;
    for (const auto &[name, value] : epoch.values)
      row["eval"][name] = value;
    if (!epoch.values.empty())
      row["best"] = epoch.best;
    json["epochs"].push_back(std::move(row));
  }
  if (evaluations.isStuck() && training.steps < training.planned)
    json["stopped_early"] = true;
  if (evaluations.any()) {
    json["eval"] = evaluations.json();
    if (evaluations.bestAt() >= 0)
      json["best"] = {{"step", evaluations.bestAt()}, {evaluations.watched(), evaluations.best()}};
  }
  json["data_wait_seconds"] = training.waited;
  json["parameter_hash"] = computes ? OrderedJson(hash) : OrderedJson();
  if (!states.empty())
    json["state_hash"] = computes ? OrderedJson(states) : OrderedJson();
  if (session.productOrder())
    json["products"] = program::wordOf(*session.productOrder());
  if (checkpoints.wanted()) {
    json["first_step"] = training.first;
    json["checkpoint"] = checkpoints.newest();
    json["failed_checkpoints"] = OrderedJson::array();
    for (const engine::FailedSaveRecord &failed : checkpoints.failures())
      json["failed_checkpoints"].push_back({{"step", failed.step}, {"error", failed.why}});
  }
  if (!job.isAlone())
    json["processes"] = job.processes();
  json["ranks"] = ranks;
  printJson(std::move(json));
  return {};
}

} // namespace npar::driver
