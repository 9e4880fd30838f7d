// Reads the figures of a machine: each known one once, with a unit of its kind, above zero.
#include "dsl/machine/ReadMachine.h"

#include "dsl/Suggestions.h"
#include "dsl/constants/Value.h"
#include "dsl/machine/Hosts.h"
#include "dsl/parse/Parse.h"
#include "dsl/parse/ReadText.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

namespace npar::dsl {
namespace {

using Words = std::vector<std::string>;

Helps orElse(Helps helps, const std::string &otherwise) { return helps.empty() ? Helps{otherwise} : helps; }

/// Each word once, in order: of all figures, of a group, of its figures for a type.
Words distinct(const std::vector<Figure> &figures, const char *Figure::*word, const std::string &group = "", const std::string &type = "") {
  Words words;
  for (const Figure &figure : figures)
    if ((group.empty() || group == figure.group) && (type.empty() || type == figure.type) &&
        std::find(words.begin(), words.end(), figure.*word) == words.end())
      words.push_back(figure.*word);
  return words;
}

double valueOf(const ast::Expression &value) {
  return value.kind == ast::ExpressionKind::Integer ? static_cast<double>(value.integer) : value.number;
}

bool namesKinds(const ast::Machine &source) {
  return std::any_of(source.kinds.begin(), source.kinds.end(), [](const ast::HostKind &kind) { return kind.machine.has_value(); });
}

class MachineReader {
public:
  MachineReader(const ast::Machine &source, Reporter &reporter) : source(source), reporter(reporter) {
    for (const ast::FigureGroup &group : source.groups)
      if (group.name.text == "device" && !isUneven)
        machine.kind = MachineKind::Device, machine.cores = 1;
    figures = isUneven ? figuresBetween(machine) : figuresOf(machine);
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
    for (const ast::HostKind &kind : source.kinds)
      if (!kind.machine)
        reporter.error(Code::M5, kind.hosts.location, "'" + kind.hosts.text + "' is outside any group of figures",
                       {"write it as `GROUP { " + kind.hosts.text + " ... }`, or a kind of hosts as `hosts N of \"NAME\"`"});
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
      reporter.fail(Code::M5, group.name.location, "a machine has a processor or devices, this one has both",
                    {"ranks of `device` have one each, those of `processor` share its cores"});
    Words groups = distinct(figures, &Figure::group), types = distinct(figures, &Figure::type, name);
    if (types.empty() && isUneven)
      reporter.fail(Code::M5, group.name.location, "a machine of several kinds of hosts has no figures of '" + name + "' of its own",
                    {"they are those of its kinds; it has `link cluster { ... }`, which joins hosts of different kinds"});
    if (types.empty())
      reporter.fail(Code::M5, group.name.location, "a machine has no figures of '" + name + "'",
                    orElse(didYouMean(name, groups), "it has figures of " + joined(groups, "and")));
    bool typed = !types.front().empty();
    std::string what = name == "link" ? "level" : name == "tier" ? "tier" : "element type";
    std::string example = name == "link" || name == "tier" ? "host" : "f32";
    if (typed && !group.type)
      reporter.fail(Code::M5, group.name.location, "figures of '" + name + "' are those of " + (what == "element type" ? "an " : "a ") + what,
                    {"write `" + name + " " + example + " { ... }`; there are " + joined(types, "and")});
    if (!typed && group.type)
      reporter.fail(Code::M5, group.type->location, "there is one group of figures of '" + name + "'", {"write `" + name + " { ... }`"});
    if (typed && std::find(types.begin(), types.end(), group.type->text) == types.end())
      reporter.fail(Code::M5, group.type->location,
                    "a machine has no figures of '" + name + "' for the " + what + " '" + group.type->text + "'",
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
      Words names = distinct(figures, &Figure::name, group.name.text, group.type ? group.type->text : "");
      reporter.fail(Code::M5, quantity.what.location, "unknown figure '" + name + "' of '" + group.name.text + "'",
                    orElse(didYouMean(name, names), "it has " + joined(names, "and")));
    }
    if (auto [first, isNew] = seen.insert({figure->path(), quantity.what.location}); !isNew) {
      reporter.error(Code::M5, quantity.what.location, "figure '" + figure->path() + "' is given twice", first->second, "first given here");
      throw Stop{};
    }
    const std::vector<FigureUnit> &units = unitsOf(figure->kind);
    auto unit = std::find_if(units.begin(), units.end(), [&](const FigureUnit &one) { return quantity.unit.text == one.word; });
    if (unit == units.end()) {
      Words words;
      for (const FigureUnit &one : units)
        words.push_back(one.word);
      reporter.fail(
          Code::M5, quantity.unit.location,
          "'" + figure->path() + "' is " + describe(figure->kind) + ", which '" + quantity.unit.text + "' is no unit of",
          orElse(didYouMean(quantity.unit.text, words), words.size() == 1 ? "write it in " + words[0] : "it is in " + joined(words)));
    }
    double number = valueOf(*quantity.value);
    bool isCount = figure->kind == FigureKind::Cores || figure->kind == FigureKind::Ranks || figure->kind == FigureKind::Devices ||
                   figure->kind == FigureKind::Hosts;
    std::string text = "'" + figure->path() + "' is " + textOf(number) + " " + unit->word;
    if (isCount && (number < 1 || number != std::floor(number) || number > 1 << 20))
      reporter.fail(Code::M5, quantity.value->location, text + ", it must be a whole number from 1 to " + std::to_string(1 << 20));
    if (number < 0 || (number == 0 && !figure->mayBeZero))
      reporter.fail(Code::M5, quantity.value->location, text + ", it must " + (figure->mayBeZero ? "not be negative" : "be above 0"));
    if (figure->kind == FigureKind::Share && number > 100)
      reporter.fail(Code::M5, quantity.value->location, text + ", it must be 0 to 100 %");
    // Beyond, sums of times are no numbers any more.
    bool isRate = figure->kind == FigureKind::Bandwidth || figure->kind == FigureKind::Rate;
    double least = isRate ? 1 : 0, most = figure->kind == FigureKind::Seconds ? 1e6 : figure->kind == FigureKind::Rate ? 1e24 : 1e18;
    *figure->value = number * unit->factor;
    if (number != 0 && (*figure->value < least || *figure->value > most))
      reporter.fail(Code::M5, quantity.value->location,
                    text + ", it must be from " + std::string(isRate ? "1" : "0") + " to " + textOf(most) + " " + unitOf(figure->kind));
  }

  /// The unit whose factor is 1.
  static std::string unitOf(FigureKind kind) {
    for (const FigureUnit &unit : unitsOf(kind))
      if (unit.factor == 1)
        return unit.word;
    return "";
  }

  void reportMissing() {
    Words missing;
    std::string example;
    std::set<std::pair<std::string, std::string>> groups;
    for (const ast::FigureGroup &group : source.groups)
      groups.insert({group.name.text, group.type ? group.type->text : ""});
    for (const Figure &figure : figures)
      if (!seen.count(figure.path()) && (figure.need == FigureNeed::Always ||
                                         (figure.need == FigureNeed::Group && (isUneven || groups.count({figure.group, figure.type}))))) {
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
      reporter.error(Code::M5, source.name.location, "machine '" + machine.name + "' lacks " + joined(missing, "and"), {example});
  }

  const ast::Machine &source;
  Reporter &reporter;
  bool isUneven = namesKinds(source);
  Machine machine;
  std::vector<Figure> figures;
  std::map<std::string, Location> seen; ///< by path
};

/// Reads what is declared: of one kind, or of several with the texts that these are named in.
class DeclarationReader {
public:
  DeclarationReader(const std::string &path, const std::vector<std::string> &librarySearch, Sources &sources, Diagnostics &diagnostics)
      : path(path), librarySearch(librarySearch), sources(sources), diagnostics(diagnostics), reporter(diagnostics) {}

  std::optional<Machine> read(const ast::Machine &source) {
    size_t before = reporter.errorCount();
    std::optional<Machine> machine = MachineReader(source, reporter).run();
    if (!namesKinds(source))
      return machine;
    std::vector<HostKind> kinds;
    if (source.kinds.size() == 1)
      reporter.error(Code::M5, source.kinds[0].hosts.location, "machine '" + source.name.text + "' has one kind of hosts",
                     {"name it after " + nameOf(engine::Option::Machine) + ", with " + nameOf(engine::Option::Hosts) +
                      "; several lines `hosts N of \"NAME\"` make a machine of several kinds"});
    if (source.kinds.size() > mostKinds) {
      reporter.error(Code::M5, source.kinds[mostKinds].hosts.location,
                     "machine '" + source.name.text + "' has more than " + std::to_string(mostKinds) + " kinds of hosts");
      return std::nullopt;
    }
    for (const ast::HostKind &kind : source.kinds)
      try {
        if (kind.machine)
          kinds.push_back(read(kind));
      } catch (const Stop &) {
      }
    if (reporter.errorCount() != before || !machine)
      return std::nullopt;
    machine->kinds = std::move(kinds);
    joinKinds(*machine);
    return machine;
  }

  /// The one machine of a source.
  std::optional<Machine> readOnly(uint32_t index) {
    std::unique_ptr<ast::File> tree = parseFile(index, sources, diagnostics);
    const ast::Machine *source = tree ? only(*tree, index) : nullptr;
    return source ? read(*source) : std::nullopt;
  }

private:
  static constexpr int64_t mostHosts = 1 << 17;
  static constexpr size_t mostKinds = 64; ///< each is a file to be read

  const ast::Machine *only(const ast::File &tree, uint32_t index) {
    if (tree.machines.size() == 1)
      return &tree.machines[0];
    if (tree.machines.empty())
      reporter.error(Code::M5, {index, 1, 1, 1}, "the file has no machine", {"`npar machine measure -o FILE` writes one"});
    else
      reporter.error(Code::M5, tree.machines[1].name.location, "a file of a machine declares one, this is another",
                     tree.machines[0].name.location, "the first one");
    return nullptr;
  }

  HostKind read(const ast::HostKind &source) {
    if (source.hosts.text != "hosts" || source.of.text != "of")
      reporter.fail(Code::M5, (source.hosts.text != "hosts" ? source.hosts : source.of).location,
                    "expected `hosts N of \"NAME\"`, found '" + source.hosts.text + " " + source.count->text + " " + source.of.text + "'");
    double hosts = valueOf(*source.count);
    if (hosts < 1 || hosts > mostHosts || hosts != std::floor(hosts))
      reporter.fail(Code::M5, source.count->location,
                    "'hosts' is " + source.count->text + ", it must be a whole number from 1 to " + std::to_string(mostHosts));
    return {source.machine->text, static_cast<int64_t>(hosts), machineNamed(*source.machine)};
  }

  /// The machine of a kind, from a file in the folder of this one or from the standard library.
  Machine machineNamed(const ast::Name &name) {
    uint32_t index = 0;
    std::string file = find(name);
    std::unique_ptr<ast::File> tree;
    if (readText(file, index, file, name.location, sources, diagnostics))
      tree = parseFile(index, sources, diagnostics);
    const ast::Machine *source = tree ? only(*tree, index) : nullptr;
    if (!source)
      throw Stop{};
    if (namesKinds(*source))
      reporter.fail(Code::M5, name.location, "'" + name.text + "' is a machine of several kinds of hosts itself", {"name its kinds here"});
    std::optional<Machine> machine = MachineReader(*source, reporter).run();
    if (!machine)
      throw Stop{};
    if (machine->kind != MachineKind::Device)
      reporter.fail(Code::M5, name.location,
                    "'" + name.text + "' has a processor, whose cores its ranks share; kinds of hosts have devices");
    return *machine;
  }

  std::string find(const ast::Name &name) {
    namespace fs = std::filesystem;
    const SourceProvider &texts = sources.texts();
    std::string beside = (fs::path(path).parent_path() / name.text).string(), unsaid;
    if (texts.has(beside) && texts.read(beside, maximumText, unsaid))
      return beside;
    Words known;
    for (const std::string &library : librarySearch) {
      std::string folder = library + "/machines";
      if (std::string file = folder + "/" + name.text + ".npar"; name.text.find('/') == std::string::npos && texts.has(file))
        return file;
      for (const std::string &file : texts.textsIn(folder))
        known.push_back(fs::path(file).stem().string());
    }
    std::sort(known.begin(), known.end());
    reporter.fail(
        Code::M5, name.location, "no machine \"" + name.text + "\": no such file in this file's folder",
        orElse(didYouMean(name.text, known), known.empty() ? "the standard library is not there" : "there are " + joined(known, "and")));
  }

  const std::string &path; ///< of the text
  const std::vector<std::string> &librarySearch;
  Sources &sources;
  Diagnostics &diagnostics;
  Reporter reporter;
};

} // namespace

std::optional<Machine> readMachine(const ast::Machine &source, const std::string &path, const std::vector<std::string> &librarySearch,
                                   Sources &sources, Diagnostics &diagnostics) {
  return DeclarationReader(path, librarySearch, sources, diagnostics).read(source);
}

std::optional<Machine> loadMachine(const std::string &path, const std::vector<std::string> &librarySearch, Sources &sources,
                                   Diagnostics &diagnostics) {
  try {
    uint32_t index = 0;
    if (!readText(path, index, path, Location{UINT32_MAX, 0, 0, 1}, sources, diagnostics))
      return std::nullopt;
    return DeclarationReader(path, librarySearch, sources, diagnostics).readOnly(index);
  } catch (const Abort &) { // too many errors to continue
  }
  return std::nullopt;
}

const Machine &referenceMachine() {
  static const Machine machine = [] {
    Sources sources;
    Diagnostics diagnostics(sources);
    std::optional<Machine> read = loadMachine(std::string(embeddedLibrary) + "/machines/reference.npar", {}, sources, diagnostics);
    assert(read && "stdlib/machines/reference.npar cannot be read");
    return read.value_or(Machine());
  }();
  return machine;
}

} // namespace npar::dsl
