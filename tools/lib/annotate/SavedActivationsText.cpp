// Sums saved values by block and by the operation that makes them.
#include "tools/lib/annotate/SavedActivationsText.h"

#include "engine/json/Json.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <vector>

namespace npar::annotate {
namespace {

using memory::SavedActivations;
using As = SavedActivations::As;

const char *nameOf(As as) { return as == As::Tensor ? "tensor" : as == As::Mask ? "mask" : "statistic"; }

/// Values of one block that an operation makes, kept in one way.
struct Row {
  int64_t values = 0, elements = 0, bytes = 0;
  bool operator==(const Row &other) const { return values == other.values && elements == other.elements && bytes == other.bytes; }
};
using Rows = std::map<std::pair<std::string, As>, Row>;

std::map<int64_t, Rows> rowsOfBlocks(const SavedActivations &saved) {
  std::map<int64_t, Rows> blocks;
  for (const SavedActivations::Value &value : saved.values) {
    Row &row = blocks[value.block][{value.operation, value.as}];
    ++row.values;
    row.elements += value.elements;
    row.bytes += value.bytes;
  }
  return blocks;
}

int64_t bytesOf(const Rows &rows) {
  int64_t bytes = 0;
  for (const auto &[key, row] : rows)
    bytes += row.bytes;
  return bytes;
}

std::string blocksText(int64_t first, int64_t last, int64_t blocks) {
  if (first < 0)
    return "before the blocks";
  if (first >= blocks)
    return blocks ? "after the blocks" : "all";
  return first == last ? fmt::format("block {}", first) : fmt::format("each of blocks {} to {}", first, last);
}

/// Describes the routing of a layer, and names how many layers after it have the same figures.
std::string routingText(const SavedActivations::Routing &one, size_t layers) {
  std::string text = fmt::format("    {}{}: {} experts", one.path, layers > 1 ? fmt::format(" and {} more", layers - 1) : "", one.experts);
  if (one.ranks > 1)
    text += fmt::format(" on {} ranks, by {}", one.ranks, one.way);
  double ratio = one.balancedRows ? static_cast<double>(one.worstRows) / static_cast<double>(one.balancedRows) : 1;
  text += fmt::format("; {} of each position\n      {} rows for the worst case, {} if balanced ({:.2f} x); ", one.choices, one.worstRows,
                      one.balancedRows, ratio);
  if (one.rounds == 1)
    text += fmt::format("kept {} bytes, {} if balanced\n", one.worstBytes, one.balancedBytes);
  else
    text += fmt::format("in {} rounds of {} rows\n      kept {} bytes; the backward of a round makes {} bytes again\n", one.rounds,
                        one.bufferRows, one.worstBytes, one.bufferBytes);
  if (one.way == "all_to_all")
    text +=
        fmt::format("      a dispatch is a row per choice, {} bytes, of which {} leave the rank\n", one.dispatchBytes, one.elsewhereBytes);
  else if (one.way == "gather")
    text +=
        fmt::format("      a dispatch gathers positions, {} bytes, of which {} are other ranks'\n", one.dispatchBytes, one.elsewhereBytes);
  return text;
}

bool isAlike(const SavedActivations::Routing &one, const SavedActivations::Routing &other) {
  auto figures = [](const SavedActivations::Routing &each) {
    return std::tie(each.way, each.experts, each.ranks, each.choices, each.worstRows, each.balancedRows, each.worstBytes,
                    each.balancedBytes, each.rounds, each.bufferBytes, each.dispatchBytes, each.elsewhereBytes);
  };
  return figures(one) == figures(other);
}

std::string routingsText(const std::vector<SavedActivations::Routing> &routings) {
  std::string text = routings.empty() ? "" : "  rows of experts, with the bytes of their own types\n";
  for (auto one = routings.begin(); one != routings.end();) {
    auto next = std::find_if(one, routings.end(), [&](const auto &other) { return !isAlike(*one, other); });
    text += routingText(*one, static_cast<size_t>(next - one));
    one = next;
  }
  return text;
}

OrderedJson routingJson(const SavedActivations::Routing &one) {
  return {{"path", one.path},
          {"way", one.way},
          {"experts", one.experts},
          {"ranks", one.ranks},
          {"choices", one.choices},
          {"worst_rows", one.worstRows},
          {"balanced_rows", one.balancedRows},
          {"worst_bytes", one.worstBytes},
          {"balanced_bytes", one.balancedBytes},
          {"rounds", one.rounds},
          {"buffer_rows", one.bufferRows},
          {"buffer_bytes", one.bufferBytes},
          {"dispatch_bytes", one.dispatchBytes},
          {"elsewhere_bytes", one.elsewhereBytes}};
}

} // namespace

std::string savedText(const SavedActivations &saved) {
  std::string text = "saved for the backward, per rank and micro-batch (2 bytes per element, 4 where it is wider than the plan's type, "
                     "masks 1, statistics of rows not counted)\n";
  std::map<int64_t, Rows> blocks = rowsOfBlocks(saved);
  for (auto block = blocks.begin(); block != blocks.end();) {
    auto last = block, next = std::next(block);
    while (next != blocks.end() && block->first >= 0 && next->first < saved.blocks && next->second == block->second)
      last = next++;
    text += fmt::format("  {}: {} bytes\n", blocksText(block->first, last->first, saved.blocks), bytesOf(block->second));
    for (const auto &[key, row] : block->second)
      text += fmt::format("    {:<16} {:<9} {:>3} x  {:>14} elements  {:>14} bytes\n", key.first, nameOf(key.second), row.values,
                          row.elements, row.bytes);
    block = next;
  }
  for (size_t number = 0; number < saved.stages.size(); ++number) {
    const SavedActivations::Stage &stage = saved.stages[number];
    text += fmt::format("  stage {}: at most {} bytes, of {} micro-batches under way", number, stage.mostBytes, stage.mostMicros);
    text += stage.mostSentBytes ? fmt::format("; not stored after sending: {} bytes\n", stage.mostSentBytes) : "\n";
  }
  text += routingsText(saved.routings);
  text += fmt::format("  products: forward {:.6g}, backward {:.6g}, again for what is recomputed {:.6g} FLOPs\n", saved.flops.forward,
                      saved.flops.backward, saved.flops.repeated);
  return text;
}

OrderedJson savedJson(const SavedActivations &saved) {
  OrderedJson blocks = OrderedJson::array(), stages = OrderedJson::array(), values = OrderedJson::array();
  for (const auto &[block, rows] : rowsOfBlocks(saved)) {
    OrderedJson operations = OrderedJson::array();
    for (const auto &[key, row] : rows)
      operations.push_back(
          {{"operation", key.first}, {"as", nameOf(key.second)}, {"values", row.values}, {"elements", row.elements}, {"bytes", row.bytes}});
    blocks.push_back({{"block", block}, {"bytes", bytesOf(rows)}, {"operations", operations}});
  }
  for (const SavedActivations::Value &value : saved.values)
    values.push_back({{"operation", value.operation},
                      {"path", value.path},
                      {"as", nameOf(value.as)},
                      {"block", value.block},
                      {"part", value.part},
                      {"elements", value.elements},
                      {"bytes", value.bytes}});
  for (const SavedActivations::Stage &stage : saved.stages)
    stages.push_back(
        {{"parts", stage.parts}, {"micros", stage.mostMicros}, {"bytes", stage.mostBytes}, {"sent_bytes", stage.mostSentBytes}});
  OrderedJson routings = OrderedJson::array();
  for (const SavedActivations::Routing &one : saved.routings)
    routings.push_back(routingJson(one));
  return {{"blocks", blocks},
          {"values", values},
          {"stages", stages},
          {"routings", routings},
          {"flops", {{"forward", saved.flops.forward}, {"backward", saved.flops.backward}, {"repeated", saved.flops.repeated}}}};
}

} // namespace npar::annotate
