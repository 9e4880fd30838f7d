// Writes a Summary as JSON for machines and as a table for people.
#include "engine/show/Summary.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "engine/show/RankList.h"
#include "engine/show/View.h"

#include <fmt/format.h>

namespace npar::show {

using readable::humanBytes;
using readable::TableRow;

namespace {

std::string humanFlops(double flops) {
  const char *units[] = {"", " K", " M", " G", " T", " P", " E"};
  int unit = 0;
  for (; flops >= 1000 && unit < 6; ++unit)
    flops /= 1000;
  return fmt::format("{:.3g}{}", flops, units[unit]);
}

OrderedJson classJson(const ClassSummary &summary) {
  OrderedJson ranks = OrderedJson::array(), coordinates = OrderedJson::object(), collectives = OrderedJson::array(),
              transfers = OrderedJson::array();
  for (const auto &[first, last] : summary.ranks)
    ranks.push_back({first, last});
  for (const auto &[axis, value] : summary.coordinates)
    coordinates[axis] = value;
  for (const CollectiveSummary &one : summary.collectives)
    collectives.push_back(
        OrderedJson{{"kind", one.kind}, {"over", one.over}, {"count", one.count}, {"bytes", one.bytes}, {"worst_bytes", one.worst}});
  for (const TransferSummary &one : summary.transfers)
    transfers.push_back(OrderedJson{{"to", one.to}, {"count", one.count}, {"bytes", one.bytes}});
  OrderedJson json;
  json["ranks"] = ranks;
  json["coordinates"] = coordinates;
  json["parameter_bytes"] = summary.parameterBytes;
  json["gradient_bytes"] = summary.gradientBytes;
  json["optimizer_bytes"] = summary.optimizerBytes;
  json["activation_bytes"] = summary.activationBytes;
  json["arena_bytes"] = summary.arenaBytes;
  if (summary.tiers.host || summary.tiers.file)
    json["tiers"] = tierJson(summary.tiers);
  json["program_steps"] = summary.programSteps;
  json["flops"] = summary.flops;
  json["collectives"] = collectives;
  json["transfers"] = transfers;
  json["volume"] = volumeJson(summary.volume);
  return json;
}

/// Returns whether a position meets some of the parameters only.
bool hasIdle(const Summary &summary) { return summary.activeParameters != 0 && summary.activeParameters != summary.parameters; }

} // namespace

OrderedJson summaryJson(const Summary &summary) {
  OrderedJson json, mesh = OrderedJson::object(), classes = OrderedJson::array();
  for (const auto &[axis, size] : summary.mesh)
    mesh[axis] = size;
  for (const ClassSummary &one : summary.classes)
    classes.push_back(classJson(one));
  json["model"] = summary.model;
  json["plan"] = summary.plan;
  json["parameters"] = summary.parameters;
  if (hasIdle(summary)) {
    json["active_parameters"] = summary.activeParameters;
    json["table_parameters"] = summary.tableParameters;
  }
  if (summary.frozenParameters)
    json["frozen_parameters"] = summary.frozenParameters;
  if (summary.stateElements)
    json["state_elements"] = summary.stateElements;
  json["world"] = summary.world;
  json["mesh"] = mesh;
  json["classes"] = classes;
  return json;
}

/// "46702792704, of which a position meets 12879925248 (12748853248 without tables that it looks up)".
static std::string parametersText(const Summary &summary) {
  std::string active = fmt::format("a position meets {} ({} without tables that it looks up)", summary.activeParameters,
                                   summary.activeParameters - summary.tableParameters);
  std::string text = hasIdle(summary) ? active : "";
  if (summary.frozenParameters)
    text += fmt::format("{}{} are frozen", text.empty() ? "" : " and ", summary.frozenParameters);
  std::string states = summary.stateElements ? fmt::format("; states have {} more elements", summary.stateElements) : "";
  return std::to_string(summary.parameters) + (text.empty() ? "" : ", of which " + text) + states;
}

std::string summaryTable(const Summary &summary) {
  std::string mesh;
  for (const auto &[axis, size] : summary.mesh)
    mesh += fmt::format("{}{} = {}", mesh.empty() ? "" : ", ", axis, size);
  std::string text =
      fmt::format("model       {}\nparameters  {}\nplan        {}\nworld       {} rank{}{}\n", summary.model, parametersText(summary),
                  summary.plan, summary.world, summary.world == 1 ? "" : "s", mesh.empty() ? "" : " (" + mesh + ")");
  bool isShared = summary.batch > summary.micro * summary.microCount; // by data-parallel ranks
  text +=
      fmt::format("batch       {} sample{}: {} micro-batch{} of {}{}\n", summary.batch, summary.batch == 1 ? "" : "s", summary.microCount,
                  summary.microCount == 1 ? "" : "es", summary.micro, isShared ? " on each data-parallel rank" : "");
  if (!summary.central.empty())
    text += fmt::format("central     the first rank along {} holds the optimizer of all\n", summary.central);
  else if (summary.stages > 1)
    text += fmt::format("pipeline    {} stages, {}\n", summary.stages, summary.schedule);
  for (const ClassSummary &one : summary.classes) {
    std::string coordinates;
    for (const auto &[axis, value] : one.coordinates)
      coordinates += fmt::format("{}{} = {}", coordinates.empty() ? "" : ", ", axis, value);
    text += fmt::format("\n{}{}\n", ranksText(one.ranks), coordinates.empty() ? "" : "   " + coordinates);
    auto human = [](uint64_t bytes) { return humanBytes(static_cast<double>(bytes)); };
    text += TableRow(2).left("arena", 12).right(human(one.arenaBytes), 12).right(fmt::format("{}", one.arenaBytes), 16).text("bytes").str();
    for (const auto &[name, bytes] : {std::pair{"parameters", one.parameterBytes},
                                      {"gradients", one.gradientBytes},
                                      {"optimizer", one.optimizerBytes},
                                      {"activations", one.activationBytes}})
      text += TableRow(4).left(name, 10).right(human(bytes), 12).right(fmt::format("{}", bytes), 16).str();
    for (const auto &[name, bytes] : {std::pair{"host", one.tiers.host}, {"files", one.tiers.file}})
      if (bytes)
        text += TableRow(2).left(name, 12).right(human(bytes), 12).right(fmt::format("{}", bytes), 16).text("bytes").str();
    text += fmt::format("  per {}: {} program step{}, {} flop\n", summary.step, one.programSteps, one.programSteps == 1 ? "" : "s",
                        humanFlops(one.flops));
    auto count = [&](const std::string &kind, const std::string &way, uint64_t times, uint64_t bytes, uint64_t worst) {
      text += TableRow(4)
                  .left(kind, 16)
                  .left(way, 15)
                  .right(fmt::format("{} time{}", times, times == 1 ? " " : "s"), 14)
                  .right(human(bytes), 13)
                  .text(worst > bytes ? "   at most " + human(worst) : "")
                  .str();
    };
    for (const CollectiveSummary &collective : one.collectives)
      count(collective.kind, "over " + collective.over, collective.count, collective.bytes, collective.worst);
    for (const TransferSummary &transfer : one.transfers)
      count("send", "to   " + transfer.to, transfer.count, transfer.bytes, transfer.bytes);
    if (std::string moved = movedText(one.tiers); !moved.empty())
      text += "    copies      " + moved + "\n";
    if (std::string volume = volumeText(one.volume); !volume.empty())
      text += "    " + volume + "\n";
  }
  return text;
}

} // namespace npar::show
