// Writes planned and measured figures as tables and as JSON.
#include "engine/show/MeasuredRun.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"

#include <fmt/format.h>

namespace npar::show {

using readable::humanTime;
using readable::TableRow;

std::string measuredRunText(const View &planned, const MeasuredRun &actual) {
  const View &measured = actual.measured;
  std::string text = fmt::format("\nplanned and measured, means of {} training step{} and {} rank{}\n", actual.trainingSteps,
                                 actual.trainingSteps == 1 ? "" : "s", planned.world, planned.world == 1 ? "" : "s");
  auto line = [&](const std::string &name, const std::string &count, double plan, double real, const std::string &rest) {
    text += TableRow(2)
                .left(name, 24)
                .right(count, 8)
                .right(humanTime(plan), 12)
                .right(humanTime(real), 12)
                .right(plan > 0 ? fmt::format("{:.2f}x", real / plan) : "", 9)
                .text("  " + rest)
                .str();
  };
  auto heading = [](const char *name, const char *count) {
    return TableRow(2).left(name, 24).right(count, 8).right("planned", 12).right("measured", 12).right("ratio", 9);
  };
  auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  text += heading("per training step", "times").str();
  line("whole step", "", planned.span, measured.span, "");
  for (const KindTime &kind : actual.kinds)
    line(kind.kind, fmt::format("{:.0f}", kind.count), kind.planned, kind.measured,
         kind.flops > 0 && kind.measured > 0 ? fmt::format("{:.3g} Gflop/s", kind.flops / kind.measured * 1e-9) : "");
  text += "  (communication as measured holds the waiting for peers; a receive is posted early)\n";
  text += TableRow(2).left("bubble", 32).right(percent(planned.bubble), 12).right(percent(measured.bubble), 12).str();
  text += TableRow(2).left("ranks compute", 32).right("", 12).right(percent(actual.computing), 12).str();
  text += TableRow(2).left("communication not hidden", 32).right("", 12).right(humanTime(actual.exposed), 12).str();
  text += "\n" + heading("busy per stage", "").right("waits plan", 12).right("waits", 12).str();
  for (size_t c = 0; c < measured.classes.size(); ++c)
    line(fmt::format("stage {}", measured.classes[c].stage), "", planned.classes[c].busy, measured.classes[c].busy,
         fmt::format("{:>10} {:>11}", percent(planned.classes[c].bubble), percent(measured.classes[c].bubble)));
  text += "\n  steps that lose most against the plan, per rank of their stage\n";
  for (const StepTime &step : actual.steps)
    line(step.name.size() > 23 ? step.name.substr(0, 20) + "..." : step.name, fmt::format("{}", step.count), step.planned, step.measured,
         fmt::format("stage {}  {}", step.stage, step.place));
  if (!actual.stragglers.empty()) {
    text += "\n  stragglers: ranks that compute longer than the others of their stage\n";
    for (const Straggler &one : actual.stragglers)
      text += fmt::format("    rank {:<6} stage {:<4} {:>11}, typical {}, {:.2f}x\n", one.rank, one.stage, humanTime(one.seconds),
                          humanTime(one.typical), one.seconds / one.typical);
  }
  text += "\n  what to change\n";
  for (const std::string &advice : actual.advice)
    text += "    - " + advice + "\n";
  if (actual.dropped)
    text += fmt::format("  ({} events of the run were left out; only complete training steps count)\n", actual.dropped);
  return text;
}

OrderedJson measuredRunJson(const View &planned, const MeasuredRun &actual) {
  OrderedJson json, kinds = OrderedJson::array(), stages = OrderedJson::array(), stragglers = OrderedJson::array(),
                    steps = OrderedJson::array();
  for (const KindTime &kind : actual.kinds)
    kinds.push_back(OrderedJson{{"kind", kind.kind},
                                {"count", kind.count},
                                {"planned_seconds", kind.planned},
                                {"measured_seconds", kind.measured},
                                {"flops", kind.flops}});
  for (size_t c = 0; c < actual.measured.classes.size(); ++c)
    stages.push_back(OrderedJson{{"stage", planned.classes[c].stage},
                                 {"planned_busy_seconds", planned.classes[c].busy},
                                 {"measured_busy_seconds", actual.measured.classes[c].busy},
                                 {"planned_bubble", planned.classes[c].bubble},
                                 {"measured_bubble", actual.measured.classes[c].bubble},
                                 {"measured_balance", actual.measured.classes[c].balance}});
  for (const Straggler &one : actual.stragglers)
    stragglers.push_back(OrderedJson{{"rank", one.rank}, {"stage", one.stage}, {"seconds", one.seconds}, {"typical_seconds", one.typical}});
  for (const StepTime &step : actual.steps)
    steps.push_back(OrderedJson{{"name", step.name},
                                {"stage", step.stage},
                                {"source", step.place},
                                {"count", step.count},
                                {"planned_seconds", step.planned},
                                {"measured_seconds", step.measured}});
  json["training_steps"] = actual.trainingSteps;
  json["dropped_events"] = actual.dropped;
  json["planned_seconds"] = planned.span;
  json["measured_seconds"] = actual.measured.span;
  json["planned_bubble"] = planned.bubble;
  json["measured_bubble"] = actual.measured.bubble;
  json["computing"] = actual.computing;
  json["exposed_seconds"] = actual.exposed;
  json["kinds"] = kinds;
  json["stages"] = stages;
  json["stragglers"] = stragglers;
  json["steps"] = steps;
  json["advice"] = actual.advice;
  return json;
}

} // namespace npar::show
