// Writes a Summary as JSON for machines and as a table for people.
#include "tools/npar/view/Summary.h"

#include "tools/npar/view/View.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

using Json = nlohmann::ordered_json;

std::string humanFlops(double flops) {
  const char *units[] = {"", " K", " M", " G", " T", " P", " E"};
  int unit = 0;
  for (; flops >= 1000 && unit < 6; ++unit)
    flops /= 1000;
  return fmt::format("{:.3g}{}", flops, units[unit]);
}

std::string rangesText(const std::vector<std::pair<int64_t, int64_t>> &ranges) {
  std::string text;
  size_t shown = 0;
  for (const auto &[first, last] : ranges) {
    if (++shown > 4)
      return text + fmt::format(", ... ({} ranges)", ranges.size());
    text += (text.empty() ? "" : ", ") + (first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return text;
}

Json classJson(const ClassSummary &summary) {
  Json ranks = Json::array(), coordinates = Json::object(), collectives = Json::array(), transfers = Json::array();
  for (const auto &[first, last] : summary.ranks)
    ranks.push_back({first, last});
  for (const auto &[axis, value] : summary.coordinates)
    coordinates[axis] = value;
  for (const CollectiveSummary &one : summary.collectives)
    collectives.push_back(Json{{"kind", one.kind}, {"over", one.over}, {"count", one.count}, {"bytes", one.bytes}});
  for (const TransferSummary &one : summary.transfers)
    transfers.push_back(Json{{"to", one.to}, {"count", one.count}, {"bytes", one.bytes}});
  Json json;
  json["ranks"] = ranks;
  json["coordinates"] = coordinates;
  json["parameter_bytes"] = summary.parameterBytes;
  json["gradient_bytes"] = summary.gradientBytes;
  json["optimizer_bytes"] = summary.optimizerBytes;
  json["activation_bytes"] = summary.activationBytes;
  json["arena_bytes"] = summary.arenaBytes;
  json["program_steps"] = summary.programSteps;
  json["flops"] = summary.flops;
  json["collectives"] = collectives;
  json["transfers"] = transfers;
  return json;
}

} // namespace

Json summaryJson(const Summary &summary) {
  Json json, mesh = Json::object(), classes = Json::array();
  for (const auto &[axis, size] : summary.mesh)
    mesh[axis] = size;
  for (const ClassSummary &one : summary.classes)
    classes.push_back(classJson(one));
  json["model"] = summary.model;
  json["plan"] = summary.plan;
  json["parameters"] = summary.parameters;
  if (summary.frozenParameters)
    json["frozen_parameters"] = summary.frozenParameters;
  json["world"] = summary.world;
  json["mesh"] = mesh;
  json["classes"] = classes;
  return json;
}

std::string summaryTable(const Summary &summary) {
  std::string mesh;
  for (const auto &[axis, size] : summary.mesh)
    mesh += fmt::format("{}{} = {}", mesh.empty() ? "" : ", ", axis, size);
  std::string text =
      fmt::format("model       {}\nparameters  {}{}\nplan        {}\nworld       {} rank{}{}\n", summary.model, summary.parameters,
                  summary.frozenParameters ? fmt::format(", of which {} are frozen", summary.frozenParameters) : "", summary.plan, summary.world, summary.world == 1 ? "" : "s", mesh.empty() ? "" : " (" + mesh + ")");
  text += fmt::format("batch       {} samples: {} micro-batch{} of {} on each data-parallel rank\n", summary.batch, summary.microCount,
                      summary.microCount == 1 ? "" : "es", summary.micro);
  if (summary.stages > 1)
    text += fmt::format("pipeline    {} stages, {}\n", summary.stages, summary.schedule);
  for (const ClassSummary &one : summary.classes) {
    std::string coordinates;
    for (const auto &[axis, value] : one.coordinates)
      coordinates += fmt::format("{}{} = {}", coordinates.empty() ? "" : ", ", axis, value);
    text += fmt::format("\nranks {}{}\n", rangesText(one.ranks), coordinates.empty() ? "" : "   " + coordinates);
    text += fmt::format("  {:<12}{:>12}{:>16} bytes\n", "arena", humanBytes(static_cast<double>(one.arenaBytes)), one.arenaBytes);
    for (const auto &[name, bytes] : {std::pair{"parameters", one.parameterBytes},
                                      {"gradients", one.gradientBytes},
                                      {"optimizer", one.optimizerBytes},
                                      {"activations", one.activationBytes}})
      text += fmt::format("    {:<10}{:>12}{:>16}\n", name, humanBytes(static_cast<double>(bytes)), bytes);
    text += fmt::format("  per training step: {} program steps, {} flop\n", one.programSteps, humanFlops(one.flops));
    for (const CollectiveSummary &collective : one.collectives)
      text += fmt::format("    {:<16}over {:<10}{:>8} times {:>12}\n", collective.kind, collective.over, collective.count,
                          humanBytes(static_cast<double>(collective.bytes)));
    for (const TransferSummary &transfer : one.transfers)
      text += fmt::format("    {:<16}to   {:<10}{:>8} times {:>12}\n", "send", transfer.to, transfer.count,
                          humanBytes(static_cast<double>(transfer.bytes)));
  }
  return text;
}

} // namespace npar::driver
