// Reports how another program's run was understood, as a table and as JSON.
#include "tools/lib/foreign/ForeignModel.h"

#include "engine/json/Json.h"
#include "engine/readable/TableRow.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// The state that a ZeRO stage shards.
const char *storedBy(int64_t zero) {
  return zero == 0 ? "nothing" : zero == 1 ? "optimizer" : zero == 2 ? "optimizer, gradients" : "optimizer, gradients, parameters";
}

std::string recomputedText(const ForeignRun &run) {
  if (!run.recomputed)
    return run.recompute.empty() ? "nothing" : run.recompute;
  return run.recomputed->every == 0 ? "feed-forward layers" : fmt::format("one block in {}", run.recomputed->every);
}

std::string remarkLines(const Remarks &remarks) {
  std::string text = fmt::format("  {}\n", remarks.heading);
  for (const std::string &line : remarks.lines)
    text += "    " + line + "\n";
  return text;
}

int64_t microsOf(const ForeignRun &run) { return run.batch / (run.dp * run.replicas * run.micro); }

} // namespace

std::string foreignText(const ForeignRequest &request, const ForeignModel &model, bool compiled) {
  const ForeignRun &run = model.run;
  std::string text = fmt::format("'{}', a run of {}\n\n", request.from, run.program->name());
  auto row = [&](const char *name, const std::string &value) { text += readable::TableRow(2).left(name, 22).text(value).str(); };
  std::string sizes;
  for (const Constant &one : run.constants)
    sizes += (sizes.empty() ? "" : ", ") + one.name + " " + one.value;
  if (!run.differences.empty())
    text += remarkLines(differencesOf(run)) + "\n";
  row("model", sizes);
  row("mesh",
      fmt::format("{} device{}: pp {}, {}dp {}, {}cp {}, tp {}", run.world, run.world == 1 ? "" : "s", run.pp,
                  run.replicas > 1 ? fmt::format("replicas {}, ", run.replicas) : "", run.dp,
                  run.expertRanks() > 1 ? fmt::format("ep {} of these{}, ", run.expertRanks(), run.expertsOverContext ? " and of cp" : "")
                                        : "",
                  run.cp, run.tp));
  row("batch", fmt::format("{}: {} micro-batch{} of {} on each of {} data-parallel rank{}", run.batch, microsOf(run),
                           microsOf(run) == 1 ? "" : "es", run.micro, run.dp * run.replicas, run.dp * run.replicas == 1 ? "" : "s"));
  row("schedule", run.pp == 1                 ? "no pipeline"
                  : !run.schedulePath.empty() ? "that of '" + run.schedulePath + "'"
                  : run.chunks > 1            ? fmt::format("{}, {} chunks", run.schedule, run.chunks)
                                              : run.schedule);
  row("recomputed", recomputedText(run));
  row("ZeRO", fmt::format("{} ({} in shares{})", run.zero, storedBy(run.zero),
                          run.secondaryGroups() > 1 ? fmt::format("; parameters again in groups of {} ranks", run.secondaryRanks) : ""));
  row("sequence parallelism", run.sequenceParallel ? "yes" : "no");
  row("precision", run.precision + (run.gradients.empty() || run.precision == "f32" ? "" : ", gradients " + run.gradients) +
                       (run.reduce.empty() || run.precision == "f32" ? "" : ", sums " + run.reduce));
  if (!model.options.settings.empty())
    row("changed by --set", fmt::format("{}", fmt::join(model.options.settings, ", ")));
  row("order", compiled ? "checked: it cannot hang" : "not checked: the plan is refused");
  std::vector<Remarks> remarks = remarksOf(run);
  for (const Remarks &one : remarks)
    text += one.lines.empty() ? "" : "\n" + remarkLines(one);
  bool isComplete = run.notTaken.empty() && run.assumed.empty() && run.differences.empty();
  text += fmt::format("{}{} settings were read; without effect on numbers, time and memory: {}\n\n",
                      isComplete                     ? "\n  everything was taken; "
                      : remarks.back().lines.empty() ? "\n  "
                                                     : "  ",
                      run.understood, run.immaterial);
  return text;
}

OrderedJson foreignJson(const ForeignRequest &request, const ForeignModel &model) {
  const ForeignRun &run = model.run;
  OrderedJson json = {{"file", request.from}, {"program", run.program->name()}};
  for (const Constant &one : run.constants)
    json["model"][one.name] = one.value;
  json["mesh"] = {{"pp", run.pp}, {"replicas", run.replicas}, {"dp", run.dp}, {"ep", run.expertRanks()}, {"cp", run.cp}, {"tp", run.tp}};
  json["batch"] = run.batch;
  json["micro"] = run.micro;
  json["micros"] = microsOf(run);
  json["schedule"] = run.pp == 1 ? OrderedJson() : OrderedJson(run.schedulePath.empty() ? run.schedule : run.schedulePath);
  json["chunks"] = run.chunks;
  json["recompute"] = run.recomputed ? recomputedText(run) : run.recompute.empty() ? "none" : run.recompute;
  json["zero"] = run.zero;
  json["sequence_parallel"] = run.sequenceParallel;
  json["compute"] = run.precision;
  json["gradients"] = run.sumType();
  json["set"] = model.options.settings;
  json["differences"] = run.differences;
  json["assumed"] = run.assumed;
  json["not_taken"] = OrderedJson::array();
  for (const NotTaken &one : run.notTaken)
    json["not_taken"].push_back({{"line", one.at.line}, {"setting", one.setting}, {"why", one.why}});
  json["settings_read"] = run.understood;
  json["settings_immaterial"] = run.immaterial;
  json["plan"] = model.text;
  return json;
}

} // namespace npar::foreign
