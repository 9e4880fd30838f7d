// A prediction as JSON and as a table.
#include "tools/lib/planner/simulate/Prediction.h"

#include "engine/json/Json.h"
#include "engine/program/Words.h"
#include "engine/readable/TableRow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace npar::planner {

using readable::TableRow;

namespace {

std::string bytesText(double bytes) { return bytes >= 1e9 ? fmt::format("{:.2f} GB", bytes / 1e9) : fmt::format("{:.2f} MB", bytes / 1e6); }

} // namespace

std::string secondsText(double seconds) {
  return seconds >= 1      ? fmt::format("{:.3f} s", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.3f} ms", 1e3 * seconds)
                           : fmt::format("{:.3f} us", 1e6 * seconds);
}

std::string predictionRow(const std::string &name, const std::string &value, const std::string &remark) {
  return TableRow(2).left(name, 22).right(value, 14).text(remark.empty() ? "" : "   " + remark).str();
}

OrderedJson predictionJson(const program::Program &program, const Prediction &p) {
  OrderedJson json = {
      {"machine", p.machine}, {"hosts", p.hosts}, {"ranks", p.ranks}, {"seconds_per_step", p.seconds}, {"memory_bytes", p.memory}};
  json["fits"] = p.room > 0 ? OrderedJson(p.fits()) : OrderedJson();
  json["device_bytes"] = p.room > 0 ? OrderedJson(p.room) : OrderedJson();
  json["fragmentation_bytes"] = p.allowance;
  for (const KindShare &kind : p.kinds)
    json["kinds"].push_back({{"machine", kind.name},
                             {"hosts", kind.hosts},
                             {"ranks", kind.ranks},
                             {"stages", kind.stages},
                             {"memory_bytes", kind.memory},
                             {"device_bytes", kind.room}});
  if (p.worst > 0)
    json["worst_seconds_per_step"] = p.worst;
  json["mfu"] = p.peak > 0 ? OrderedJson(p.mfu()) : OrderedJson();
  json["hfu"] = p.peak > 0 ? OrderedJson(p.hfu()) : OrderedJson();
  json["peak_is_stated"] = p.peakIsStated;
  json["model_flops"] = p.flops.model;
  json["hardware_flops"] = p.flops.hardware;
  json["bubble"] = p.bubble;
  json["exposed_communication"] = p.exposed;
  json["computing"] = p.computing;
  json["samples_per_second"] = static_cast<double>(p.batch) / p.seconds;
  OrderedJson &bytes = json["bytes"] = OrderedJson::object();
  for (const AxisBytes &axes : p.bytes)
    bytes[axes.over] = axes.bytes;
  for (const cost::CriticalPart &part : p.simulation.critical)
    json["critical_path"].push_back({{"what", part.what}, {"seconds", part.seconds}, {"steps", part.steps}});
  for (uint32_t index = 0; index < p.simulation.classes.size(); ++index) {
    const cost::ClassTime &time = p.simulation.classes[index];
    OrderedJson one = {{"stage", program.classes()->Get(index)->stage()},
                       {"parameter_bytes", program.classes()->Get(index)->parameter_bytes()},
                       {"computing", time.computing},
                       {"exposed", time.exposed},
                       {"idle", time.idle}};
    for (size_t kind = 0; kind < time.work.size(); ++kind)
      if (time.work[kind] > 0)
        one["work"][program::wordOf(static_cast<program::StepKind>(kind))] = time.work[kind];
    json["classes"].push_back(std::move(one));
  }
  if (p.price > 0)
    json["dollars_per_step"] = p.price * p.seconds / 3600;
  return json;
}

std::string predictionText(const program::Program &program, const Prediction &p) {
  std::string text = fmt::format("{} under plan {} on {} of '{}': {} rank{}\n\n", program.model()->str(), program.plan()->str(),
                                 p.hosts == 1 ? "a host" : fmt::format("{} hosts", p.hosts), p.machine, p.ranks, p.ranks == 1 ? "" : "s");
  auto row = [&](const std::string &name, const std::string &value, const std::string &remark = "") {
    text += predictionRow(name, value, remark);
  };
  row("seconds per step", secondsText(p.seconds), fmt::format("{:.1f} samples/s", static_cast<double>(p.batch) / p.seconds));
  if (p.worst > 0)
    row("  worst load", secondsText(p.worst),
        fmt::format("{:.2f} x, if every rank gets all rows of experts that it has room for", p.worst / p.seconds));
  if (p.peak > 0) {
    const char *of = p.peakIsStated ? "of the stated peak" : "of what matrix products were measured to reach";
    row("MFU", fmt::format("{:.1f} %", 100 * p.mfu()),
        fmt::format("model FLOP (attention not halved for the causal mask), as a share {}", of));
    row("HFU", fmt::format("{:.1f} %", 100 * p.hfu()), "including recomputation");
  }
  row("computing", fmt::format("{:.1f} %", 100 * p.computing), "of all ranks' time");
  row("exposed communication", fmt::format("{:.1f} %", 100 * p.exposed));
  row("bubble", fmt::format("{:.1f} %", 100 * p.bubble), "ranks neither compute nor communicate");
  row("memory", bytesText(static_cast<double>(p.fullest)),
      p.room > 0 ? fmt::format("{} {}, of which {} are lost to fragmentation", p.fits() ? "fits into" : "does not fit into",
                               bytesText(p.room), bytesText(p.allowance))
                 : "the machine file does not state its memory");
  for (const KindShare &kind : p.kinds)
    row("  on " + kind.name, bytesText(static_cast<double>(kind.memory)),
        fmt::format("of {} on the largest of {} rank{} on {} host{}, stage{} {}", bytesText(kind.room), kind.ranks,
                    kind.ranks == 1 ? "" : "s", kind.hosts, kind.hosts == 1 ? "" : "s", kind.stages.size() == 1 ? "" : "s",
                    fmt::join(kind.stages, ", ")));
  if (p.price > 0)
    row("price", fmt::format("{:.4f} USD", p.price * p.seconds / 3600), "per step");
  if (!p.bytes.empty()) {
    text += "\n  sent per step by the rank that sends most\n";
    for (const AxisBytes &axes : p.bytes)
      row("  over " + axes.over, bytesText(axes.bytes));
  }
  text += "\n  critical path\n";
  for (const cost::CriticalPart &part : p.simulation.critical)
    row("  " + part.what, secondsText(part.seconds),
        fmt::format("{:.1f} % in {} step{}", 100 * part.seconds / p.seconds, part.steps, part.steps == 1 ? "" : "s"));
  return text;
}

} // namespace npar::planner
