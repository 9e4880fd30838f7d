// Reads the figures of a machine: each known one once, with a unit of its kind, above zero.
#include "dsl/machine/ReadMachine.h"

#include "dsl/Suggestions.h"
#include "dsl/constants/Value.h"
#include "dsl/machine/ReferenceText.h"
#include "dsl/parse/Parse.h"
#include "dsl/parse/ReadText.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

namespace npar::dsl {
namespace {

using Helps = std::vector<std::string>;

Helps orElse(Helps helps, const std::string &otherwise) { return helps.empty() ? Helps{otherwise} : helps; }

/// Each word once, in order: of all figures, of a group, of its figures for a type.
Helps distinct(const std::vector<Figure> &figures, const char *Figure::*word, const std::string &group = "", const std::string &type = "") {
  Helps words;
  for (const Figure &figure : figures)
    if ((group.empty() || group == figure.group) && (type.empty() || type == figure.type) &&
        std::find(words.begin(), words.end(), figure.*word) == words.end())
      words.push_back(figure.*word);
  return words;
}

class MachineReader {
public:
  MachineReader(const ast::Machine &source, Reporter &reporter) : source(source), reporter(reporter) {
    for (const ast::FigureGroup &group : source.groups)
      if (group.name.text == "device")
        machine.kind = MachineKind::Device, machine.cores = 1;
    figures = figuresOf(machine);
  }

  std::optional<Machine> run() {
    size_t before = reporter.errorCount();
    machine.name = source.name.text;
    machine.location = source.name.location;
    for (const ast::FigureGroup &group : source.groups)
      try {
        read(group);
      } catch (const Stop &) {
      }
    if (reporter.errorCount() == before)
      reportMissing();
    if (machine.kind == MachineKind::Device)
      machine.near = machine.far; // without caches of a size that counts
    return reporter.errorCount() == before ? std::optional(machine) : std::nullopt;
  }

private:
  void read(const ast::FigureGroup &group) {
    const std::string &name = group.name.text;
    if (machine.kind == MachineKind::Device && name == "processor")
      reporter.fail(group.name.location, "a machine has a processor or devices, this one has both",
                    {"ranks of `device` have one each, those of `processor` share its cores"});
    Helps groups = distinct(figures, &Figure::group), types = distinct(figures, &Figure::type, name);
    if (types.empty())
      reporter.fail(group.name.location, "a machine has no figures of '" + name + "'",
                    orElse(didYouMean(name, groups), "it has figures of " + joined(groups, "and")));
    bool typed = !types.front().empty();
    std::string what = name == "link" ? "level" : "element type", example = name == "link" ? "host" : "f32";
    if (typed && !group.type)
      reporter.fail(group.name.location, "figures of '" + name + "' are those of " + (name == "link" ? "a " : "an ") + what,
                    {"write `" + name + " " + example + " { ... }`; there are " + joined(types, "and")});
    if (!typed && group.type)
      reporter.fail(group.type->location, "there is one group of figures of '" + name + "'", {"write `" + name + " { ... }`"});
    if (typed && std::find(types.begin(), types.end(), group.type->text) == types.end())
      reporter.fail(group.type->location, "a machine has no figures of '" + name + "' for the " + what + " '" + group.type->text + "'",
                    orElse(didYouMean(group.type->text, types), "it has those of " + joined(types, "and")));
    for (const ast::Quantity &figure : group.figures)
      try {
        read(group, figure);
      } catch (const Stop &) {
      }
  }

  void read(const ast::FigureGroup &group, const ast::Quantity &quantity) {
    const std::string &name = quantity.what.text;
    auto figure = std::find_if(figures.begin(), figures.end(), [&](const Figure &one) {
      return group.name.text == one.group && (group.type ? group.type->text : "") == one.type && name == one.name;
    });
    if (figure == figures.end()) {
      Helps names = distinct(figures, &Figure::name, group.name.text, group.type ? group.type->text : "");
      reporter.fail(quantity.what.location, "unknown figure '" + name + "' of '" + group.name.text + "'",
                    orElse(didYouMean(name, names), "it has " + joined(names, "and")));
    }
    if (auto [first, isNew] = seen.insert({figure->path(), quantity.what.location}); !isNew) {
      reporter.error(quantity.what.location, "figure '" + figure->path() + "' is given twice", first->second, "first given here");
      throw Stop{};
    }
    const std::vector<FigureUnit> &units = unitsOf(figure->kind);
    auto unit = std::find_if(units.begin(), units.end(), [&](const FigureUnit &one) { return quantity.unit.text == one.word; });
    if (unit == units.end()) {
      Helps words;
      for (const FigureUnit &one : units)
        words.push_back(one.word);
      reporter.fail(
          quantity.unit.location,
          "'" + figure->path() + "' is " + describe(figure->kind) + ", which '" + quantity.unit.text + "' is no unit of",
          orElse(didYouMean(quantity.unit.text, words), words.size() == 1 ? "write it in " + words[0] : "it is in " + joined(words)));
    }
    double number = valueOf(*quantity.value);
    bool isCount = figure->kind == FigureKind::Cores || figure->kind == FigureKind::Ranks || figure->kind == FigureKind::Devices ||
                   figure->kind == FigureKind::Hosts;
    std::string text = "'" + figure->path() + "' is " + textOf(number) + " " + unit->word;
    if (isCount && (number < 1 || number != std::floor(number) || number > 1 << 20))
      reporter.fail(quantity.value->location, text + ", it must be a whole number from 1 to " + std::to_string(1 << 20));
    if (number < 0 || (number == 0 && !figure->mayBeZero))
      reporter.fail(quantity.value->location, text + ", it must " + (figure->mayBeZero ? "not be negative" : "be above 0"));
    if (figure->kind == FigureKind::Share && number > 100)
      reporter.fail(quantity.value->location, text + ", it must be 0 to 100 %");
    *figure->value = number * unit->factor;
  }

  static double valueOf(const ast::Expression &value) {
    return value.kind == ast::ExpressionKind::Integer ? static_cast<double>(value.integer) : value.number;
  }

  void reportMissing() {
    Helps missing;
    std::string example;
    std::set<std::pair<std::string, std::string>> groups;
    for (const ast::FigureGroup &group : source.groups)
      groups.insert({group.name.text, group.type ? group.type->text : ""});
    for (const Figure &figure : figures)
      if (!seen.count(figure.path()) &&
          (figure.need == FigureNeed::Always || (figure.need == FigureNeed::Group && groups.count({figure.group, figure.type})))) {
        if (missing.empty())
          example = std::string("write `") + figure.group + (*figure.type ? " " : "") + figure.type + " { " + figure.name + " ... " +
                    unitsOf(figure.kind).back().word + " }`: " + figure.meaning;
        missing.push_back("'" + figure.path() + "'");
      }
    constexpr size_t most = 4;
    if (missing.size() > most) {
      size_t others = missing.size() - most + 1;
      missing.resize(most - 1);
      missing.push_back(counted(static_cast<int64_t>(others), "more figure"));
    }
    if (!missing.empty())
      reporter.error(source.name.location, "machine '" + machine.name + "' lacks " + joined(missing, "and"), {example});
  }

  const ast::Machine &source;
  Reporter &reporter;
  Machine machine;
  std::vector<Figure> figures;
  std::map<std::string, Location> seen; ///< by path
};

/// The one machine of a source.
std::optional<Machine> machineIn(uint32_t index, const Sources &sources, Diagnostics &diagnostics) {
  std::unique_ptr<ast::File> tree = parseFile(index, sources, diagnostics);
  if (!tree)
    return std::nullopt;
  Reporter reporter(diagnostics);
  if (tree->machines.size() == 1)
    return readMachine(tree->machines[0], reporter);
  if (tree->machines.empty())
    reporter.error({index, 1, 1, 1}, "the file has no machine", {"`npar machine measure -o FILE` writes one"});
  else
    reporter.error(tree->machines[1].name.location, "a file of a machine declares one, this is another", tree->machines[0].name.location,
                   "the first one");
  return std::nullopt;
}

} // namespace

std::optional<Machine> readMachine(const ast::Machine &source, Reporter &reporter) { return MachineReader(source, reporter).run(); }

std::optional<Machine> loadMachine(const std::string &path, Sources &sources, Diagnostics &diagnostics) {
  try {
    uint32_t index = 0;
    if (!readText(path, index, path, Location{UINT32_MAX, 0, 0, 1}, sources, diagnostics))
      return std::nullopt;
    return machineIn(index, sources, diagnostics);
  } catch (const Abort &) { // too many errors to go on
  } catch (const std::exception &e) {
    diagnostics.error({UINT32_MAX, 0, 0, 1}, std::string("internal error: reading a machine failed: ") + e.what());
  }
  return std::nullopt;
}

const Machine &referenceMachine() {
  static const Machine machine = [] {
    Sources sources;
    Diagnostics diagnostics(sources);
    std::optional<Machine> read = machineIn(sources.add("reference.npar", referenceText), sources, diagnostics);
    assert(read && "stdlib/machines/reference.npar cannot be read");
    return read.value_or(Machine());
  }();
  return machine;
}

} // namespace npar::dsl
