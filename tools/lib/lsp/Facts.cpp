// Finds what is known about a place in the results of front end and compiler.
#include "tools/lib/lsp/Facts.h"

#include "engine/program/Cause.h"
#include "engine/readable/HumanUnits.h"
#include "engine/show/CollectiveCauses.h"
#include "tools/lib/lsp/Uri.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <tuple>

namespace npar::lsp {

std::vector<ElaboratedPointer> Facts::choicesSeeing(const std::string &path) const {
  std::vector<ElaboratedPointer> result;
  for (bool own : {true, false})
    for (const auto &[root, analysis] : analyses)
      if ((root == path) == own && std::find(analysis.texts.begin(), analysis.texts.end(), path) != analysis.texts.end())
        result.insert(result.end(), analysis.choices.begin(), analysis.choices.end());
  return result;
}

std::optional<uint32_t> fileOf(const Elaborated &choice, const std::string &path) {
  for (uint32_t file = 0; file < choice.sources->size(); ++file)
    if (plainPath(choice.sources->name(file)) == path)
      return file;
  return std::nullopt;
}

std::vector<const dsl::NamedValue *> valuesAt(const Elaborated &choice, const Place &place, const std::optional<ByteRange> &only) {
  std::vector<const dsl::NamedValue *> found;
  std::optional<uint32_t> file = fileOf(choice, place.path);
  if (!file)
    return found;
  Difference change(choice.sources->text(*file), place.index->text->bytes());
  for (const dsl::NamedValue &value : choice.values) {
    if (value.at.file != *file || value.name != place->name)
      continue;
    dsl::Span span = choice.sources->span(value.at);
    ByteRange at{change.toNow(span.begin), change.toNow(span.begin) + value.name.size()};
    for (const ByteRange &definition : place->definitions)
      if (definition == at && (!only || *only == at))
        found.push_back(&value);
  }
  return found;
}

const compiler::PlacedValue *placedValue(const Elaborated &choice, const dsl::NamedValue &value) {
  const compiler::PlacedValue *found = nullptr;
  for (const compiler::PlacedValue &placed : choice.placed)
    if (placed.at.file == value.node.file && placed.at.line == value.node.line && placed.at.column == value.node.column &&
        placed.path == value.nodePath)
      found = &placed; // the last of those that an operation is expanded into
  return found;
}

std::optional<ParameterFacts> parameterFacts(const Elaborated &choice, const std::string &path) {
  if (!choice.compiled || !choice.view)
    return std::nullopt;
  const program::Program &program = choice.compiled->root();
  int index = -1;
  for (uint32_t i = 0; i < program.variables()->size(); ++i)
    if (const program::Variable *one = program.variables()->Get(i);
        one->kind() == program::VariableKind::Parameter && one->name()->str() == path)
      index = static_cast<int>(i);
  if (index < 0)
    return std::nullopt;
  ParameterFacts facts;
  facts.frozen = program.variables()->Get(static_cast<uint32_t>(index))->frozen();
  for (uint32_t place = 0; place < program.classes()->size(); ++place) {
    uint64_t own = 0, optimizer = 0;
    for (const program::Piece *piece : *program.classes()->Get(place)->pieces()) {
      const program::Variable *variable = program.variables()->Get(piece->variable());
      if (static_cast<int>(piece->variable()) == index) {
        own += piece->bytes();
        if (piece->owner())
          for (const show::ClassView &view : choice.view->classes)
            if (view.programClass == place)
              facts.owner = view.ranks;
        auto add = [&](std::vector<std::string> &names, uint32_t axis) {
          std::string name = program.mesh()->Get(axis)->name()->str();
          if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
        };
        for (uint32_t axis : *piece->mesh_axes())
          add(facts.split, axis);
        for (uint32_t axis : *piece->flat_axes())
          add(facts.shares, axis);
      } else if (variable->kind() == program::VariableKind::State && variable->of() == index) {
        optimizer += piece->bytes();
        if (std::string slot = variable->slot()->str();
            std::find(facts.optimizer.begin(), facts.optimizer.end(), slot) == facts.optimizer.end())
          facts.optimizer.push_back(slot);
      }
    }
    facts.bytes = std::max(facts.bytes, own);
    facts.optimizerBytes = std::max(facts.optimizerBytes, optimizer);
  }
  return facts;
}

std::vector<std::string> collectivesOfLine(const Elaborated &choice, const std::string &path, uint32_t line) {
  struct Sum {
    uint64_t count = 0, bytes = 0, sent = 0;
  };
  using Kind = std::tuple<std::string, std::string, std::string, std::string>; // kind, mesh axes, phase, cause
  std::vector<std::pair<Kind, Sum>> lines;                                     // in the order of the program
  if (!choice.view)
    return {};
  const std::string place = std::filesystem::path(path).filename().string() + ":" + std::to_string(line) + ":"; // ViewLabel::place
  auto sumOf = [](std::vector<std::pair<Kind, Sum>> &list, const Kind &kind) -> Sum & {
    for (auto &[known, sum] : list)
      if (known == kind)
        return sum;
    return list.emplace_back(kind, Sum()).second;
  };
  for (const show::ClassView &part : choice.view->classes) {
    std::vector<std::pair<Kind, Sum>> own;
    for (const show::WhyEntry &entry : show::whyOf(*choice.view, part)) {
      bool asked = std::any_of(entry.rules.begin(), entry.rules.end(), [&](const auto &rule) { return rule.second.rfind(place, 0) == 0; });
      if (!asked)
        continue;
      Sum &sum = sumOf(own, {entry.kind, entry.over, entry.phase, program::describe(entry.cause)});
      sum.count += entry.count, sum.bytes += entry.bytes, sum.sent += entry.sent;
    }
    for (const auto &[kind, sum] : own)
      if (Sum &most = sumOf(lines, kind); most.bytes < sum.bytes)
        most = sum;
  }
  std::vector<std::string> texts;
  for (const auto &[kind, sum] : lines) {
    const auto &[collective, over, phase, cause] = kind;
    texts.push_back(fmt::format("{} × {} over {}, {}, {} in all, {} sent{}{}", sum.count, collective, over, phase,
                                readable::humanBytes(static_cast<double>(sum.bytes)), readable::humanBytes(static_cast<double>(sum.sent)),
                                cause.empty() ? "" : ": ", cause));
  }
  return texts;
}

} // namespace npar::lsp
