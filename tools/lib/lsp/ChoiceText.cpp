// Words sizes, layouts and bytes.
#include "tools/lib/lsp/ChoiceText.h"

#include "engine/readable/HumanUnits.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace npar::lsp {

std::string bytesText(uint64_t bytes) { return readable::humanBytes(static_cast<double>(bytes)); }

std::string typeText(const dsl::TensorType &type) {
  return fmt::format("{}[{}]", type.truth ? "bool" : program::rowOf(type.element).word, fmt::join(type.axes, ", "));
}

std::string sizesText(const dsl::Program &program, const std::vector<std::string> &axes) {
  std::string text;
  for (const std::string &name : axes)
    for (const dsl::Axis &axis : program.model.axes)
      if (axis.name == name)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, axis.size);
  return text;
}

std::string axisText(const Elaborated &choice, const dsl::Axis &axis, bool named) {
  const dsl::Plan &plan = choice.program->plan;
  std::string text = named ? fmt::format("`{}`: size {}", axis.name, axis.size) : fmt::format("size {}", axis.size);
  if (axis.name == "batch")
    text = fmt::format("{} samples per training step, {} per micro-batch of all ranks", choice.program->train.batch, axis.size);
  std::string rules;
  for (const dsl::Rule &rule : plan.rules) {
    if (rule.axis != axis.name)
      continue;
    int64_t ranks = 1;
    for (const std::string &name : rule.mesh)
      for (const dsl::MeshAxis &mesh : plan.mesh)
        ranks *= mesh.name == name ? mesh.size : 1;
    std::string where = !rule.op.empty() ? " in op " + rule.op : !rule.layer.empty() ? " in layer \"" + rule.layer + '"' : "";
    int64_t local = (axis.size + ranks - 1) / ranks, padding = local * ranks - axis.size;
    rules += rule.mesh.empty() ? fmt::format("; whole{} by line {}", where, rule.location.line)
                               : fmt::format("; split over {} ({}){} by line {}: {} on each rank", fmt::join(rule.mesh, ", "), ranks, where,
                                             rule.location.line, local);
    if (padding > 0)
      rules += fmt::format(", of which {} are padding on the last", padding);
  }
  return text + (rules.empty() && choice.choice.plan != "none" ? "; no rule splits it" : rules);
}

std::vector<std::string> collectivesOver(const Elaborated &choice, const std::string &axis) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> kinds; // number and bytes of the class that has most
  if (choice.view)
    for (const show::ClassView &part : choice.view->classes) {
      std::map<std::string, std::pair<uint64_t, uint64_t>> own;
      for (const show::CollectiveUse &use : part.collectives)
        if (use.over == axis)
          own[use.kind].first += use.count, own[use.kind].second += use.bytes;
      for (const auto &[kind, most] : own)
        kinds[kind] = std::max(kinds[kind], most);
    }
  std::vector<std::string> lines;
  for (const auto &[kind, most] : kinds)
    lines.push_back(fmt::format("{} × {} per training step, {} in all", most.first, kind, bytesText(most.second)));
  return lines;
}

std::string axesText(const Elaborated &choice, const dsl::NamedValue &value) {
  return fmt::format("`[{}]`{}", fmt::join(value.type.axes, ", "),
                     choice.program ? ": " + sizesText(*choice.program, value.type.axes) : "");
}

std::string localText(const compiler::PlacedValue &placed) {
  return placed.shape.empty()
             ? "one number"
             : fmt::format("{} elements, {}", fmt::join(placed.shape, " × "), bytesText(static_cast<uint64_t>(placed.bytes)));
}

/// The path with `*` in place of the numbers of blocks.
static std::string withoutNumbers(const std::string &path) {
  std::string text;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    bool isNumber = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    text += (begin == 0 ? "" : ".") + (isNumber ? "*" : part);
    begin = end + 1;
  }
  return text;
}

std::string parameterText(const Elaborated &choice, const dsl::NamedValue &value) {
  std::string text = fmt::format("`{}`: `{}`", withoutNumbers(value.path), typeText(value.type));
  if (choice.program)
    text += ", " + sizesText(*choice.program, value.type.axes);
  if (std::optional<ParameterFacts> facts = parameterFacts(choice, value.path)) {
    text += fmt::format("; {} on a rank", bytesText(facts->bytes));
    if (!facts->split.empty())
      text += fmt::format(", split over {}", fmt::join(facts->split, ", "));
    if (!facts->shares.empty())
      text += fmt::format(", stored in shares over {}", fmt::join(facts->shares, ", "));
    text += facts->frozen ? ", frozen"
            : facts->optimizerBytes > 0
                ? fmt::format("; optimizer {} ({})", bytesText(facts->optimizerBytes), fmt::join(facts->optimizer, ", "))
                : "";
    if (!facts->owner.empty())
      text += fmt::format("; owned by {}", facts->owner);
  }
  return text;
}

std::string batchText(const Elaborated &choice) {
  const dsl::Plan &plan = choice.program->plan;
  std::string text = fmt::format("batch {} = {} data-parallel ranks × {} micro-batches × {} samples", choice.program->train.batch,
                                 plan.dataParallel, plan.microCount, plan.micro);
  if (choice.view && choice.program->plan.pipeline)
    text += fmt::format("; bubble {:.1f} %", 100 * choice.view->bubble);
  return text;
}

} // namespace npar::lsp
