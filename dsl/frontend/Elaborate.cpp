// The order of elaboration: files, the choice of model, train block and plan, constants, plan, model, the plan against the model.
#include "dsl/Frontend.h"
#include "dsl/Suggestions.h"
#include "dsl/UnfedMeasures.h"
#include "dsl/constants/UnusedConstants.h"
#include "dsl/elaborate/DataElaborator.h"
#include "dsl/elaborate/Library.h"
#include "dsl/elaborate/ModelElaborator.h"
#include "dsl/elaborate/TrainElaborator.h"
#include "dsl/frontend/FamilyLines.h"
#include "dsl/machine/Hosts.h"
#include "dsl/machine/ReadMachine.h"
#include "dsl/parse/Parse.h"
#include "dsl/parse/ReadText.h"
#include "dsl/plan/PlanElaborator.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <cctype>
#include <ostream>

namespace npar::dsl {
namespace {

/// Declarations of one kind with their files, the nearest file first.
template <typename T> using Found = std::vector<std::pair<const T *, SourceFile *>>;

template <typename T> Found<T> collect(SourceFile *root, std::vector<T> ast::File::*member) {
  Found<T> result;
  for (SourceFile *file : Library::reach(root))
    for (const T &d : file->tree.get()->*member)
      result.push_back({&d, file});
  return result;
}

/// The declarations for which `accept` holds.
template <typename T, typename F> Found<T> filter(const Found<T> &list, F accept) {
  Found<T> result;
  for (const auto &d : list)
    if (accept(d))
      result.push_back(d);
  return result;
}

/// The declarations of the file itself if it has any, otherwise all.
template <typename T> Found<T> preferOwn(const Found<T> &list, SourceFile *root) {
  Found<T> own = filter(list, [&](const auto &d) { return d.second == root; });
  return own.empty() ? list : own;
}

template <typename T> std::vector<std::string> namesOf(const Found<T> &list) {
  std::vector<std::string> names;
  for (const auto &d : list)
    names.push_back(d.first->name.text);
  return names;
}

class Elaboration {
public:
  Elaboration(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics)
      : options(options), sources(sources), diagnostics(diagnostics), reporter(diagnostics) {}

  std::optional<Program> run() {
    Library library(options, sources, diagnostics);
    root = library.load();
    texts = &library;
    if (root)
      optimizers = {[&](const std::string &name) {
                      Library::FoundOptimizer found = library.findOptimizer(root, name);
                      return KnownOptimizers::Found{found.declaration, found.standard};
                    },
                    library.optimizerNames(root)};
    Settings settings(options.settings, sources, diagnostics);
    if (options.machine)
      machine = loadMachine(*options.machine, options.librarySearch, sources, diagnostics);
    if (machine && options.devices > 0)
      takeDevices(*machine, options.devices);
    if (!root || diagnostics.hasErrors())
      return std::nullopt;
    try {
      choose(settings);
      return elaborate(settings);
    } catch (const Stop &) {
    } catch (const Abort &) {
    }
    return std::nullopt;
  }

private:
  /// Checks that the machine has figures for the type that the plan computes in.
  void checkFigures(const Machine &machine, const Plan &plan) {
    size_t type = rowOf(plan.compute).machineIndex;
    if (computesIn(machine, type))
      return;
    std::vector<std::string> known;
    for (size_t other = 0; other < machineTypes.size(); ++other)
      if (computesIn(machine, other))
        known.push_back(machineTypes[other]);
    std::string help = known.empty() ? "its file needs `product`, `attention` and `attention_grad` of that type"
                                     : "it has those of " + joined(known, "and") + ": `compute " + known.front() + "`";
    reporter.error(Code::M5, plan.location,
                   std::string("the plan computes in ") + machineTypes[type] + ", of which machine '" + machine.name + "' lacks figures",
                   {help});
  }

  /// Checks that an uneven machine, whose number of hosts is given, has a place for each rank.
  void checkPlaces(const Machine &machine, const Plan &plan) {
    int64_t ranks = 1, places = placeCount(machine);
    for (const MeshAxis &axis : plan.mesh)
      ranks *= axis.size;
    if (isUneven(machine) && ranks > places)
      reporter.error(Code::M2, plan.location,
                     "the plan has " + std::to_string(ranks) + " ranks, the hosts of machine '" + machine.name + "' hold " +
                         std::to_string(places),
                     {"a smaller mesh, or more hosts in the machine's file"});
  }

  static bool sameWord(const std::string &a, const std::string &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
  }

  /// Finds the declaration that an option names, ignoring case, or the only declaration. Null without an option and a declaration.
  /// `others`: further values that the option can have.
  template <typename T>
  const T *pick(const char *what, engine::Option option, const std::optional<std::string> &name, const Found<T> &all,
                const std::vector<std::string> &others = {}) {
    if (name) {
      for (bool anyCase : {false, true})
        for (const auto &d : all)
          if (d.first->name.text == *name || (anyCase && sameWord(d.first->name.text, *name)))
            return d.first;
      Location there{sources.add(labelOf(option), *name), 1, 1, static_cast<uint32_t>(std::max<size_t>(1, name->size()))};
      std::vector<std::string> names = namesOf(all);
      for (const std::string &other : others)
        if (std::find(names.begin(), names.end(), other) == names.end())
          names.push_back(other);
      Helps helps = didYouMean(*name, names);
      if (helps.empty())
        helps.push_back(names.empty() ? std::string("there is none") : "there is " + joined(names));
      reporter.fail(Code::L15, there, std::string("unknown ") + what + " '" + *name + "'", helps);
    }
    Found<T> own = preferOwn(all, root);
    if (own.size() > 1)
      reporter.fail(Code::L15, own[1].first->name.location, std::string("more than one ") + what + ": " + joined(namesOf(own), "and"),
                    {"choose one with " + nameOf(option, "NAME")});
    return own.empty() ? nullptr : own[0].first;
  }

  /// The model: the file's own, or the imported one that its train block or plan is for.
  void chooseModel(const Found<ast::Train> &trains, const Found<ast::Plan> &allPlans) {
    Found<ast::Block> all = collect(root, &ast::File::models), list = preferOwn(all, root);
    std::vector<std::string> names = namesOf(all);
    auto checkFor = [&](const auto &declarations) {
      for (const auto &d : declarations)
        if (!d.model.text.empty() && std::find(names.begin(), names.end(), d.model.text) == names.end())
          reporter.error(Code::L15, d.model.location, "unknown model '" + d.model.text + "'", didYouMean(d.model.text, names));
    };
    checkFor(root->tree->trains);
    checkFor(root->tree->plans);
    checkFor(root->tree->configs);
    checkFor(root->tree->families);
    checkFor(root->tree->datas);
    if (diagnostics.hasErrors())
      throw Stop{};
    if (list.empty())
      reporter.fail(Code::L15, {root->tree->index, 1, 1, 1},
                    sources.text(root->tree->index).empty() ? "the file is empty" : "the file has no model",
                    {"write `model Name(...) { ... }`, or import one: `import \"gpt2\"`"});
    auto narrow = [&](const auto &declarations, const std::optional<std::string> &name) {
      Found<ast::Block> fit = filter(all, [&](const auto &m) {
        return std::any_of(declarations.begin(), declarations.end(), [&](const auto &d) {
          return d.first->model.text == m.first->name.text && (name ? d.first->name.text == *name : d.second == root);
        });
      });
      if (list.size() > 1 && !fit.empty())
        list = fit;
    };
    narrow(allPlans, options.plan);
    narrow(trains, options.train);
    if (list.size() > 1)
      reporter.fail(Code::L15, list[1].first->name.location, "more than one model: " + joined(namesOf(list), "and"),
                    {"choose one by a plan or a train block for it"});
    std::tie(model, modelFile) = list[0];
  }

  /// Chooses the data block that `--set data=NAME` asks for, or the only one. Null for `data=none` and for a text without one.
  void chooseData(Settings &settings, const Found<ast::Data> &all) {
    const Setting *asked = settings.find("data");
    if (!asked) {
      Found<ast::Data> own = preferOwn(all, root);
      if (own.size() > 1)
        reporter.fail(Code::L15, own[1].first->name.location, "more than one data block: " + joined(namesOf(own), "and"),
                      {"choose one with " + nameOf(engine::Option::Setting, "data=NAME")});
      data = own.empty() ? nullptr : own[0].first;
      return;
    }
    std::string name = asked->value->text;
    std::vector<std::string> names = namesOf(all);
    for (const auto &each : all)
      if (each.first->name.text == name)
        data = each.first;
    if (data || name == "none")
      return;
    names.push_back("none");
    Helps helps = didYouMean(name, names);
    reporter.fail(Code::L15, asked->value->location, "unknown data block '" + name + "'",
                  helps.empty() ? Helps{"there is " + joined(names)} : helps);
  }

  /// Leaves the plans that the model can have: its own, and those without `for`. Of these only the ones that the model's file or the first
  /// file imports by name are taken without being asked for. One that is asked for can also be a text of the library's folder `plans`.
  void choosePlans() {
    bool isAsked = options.plan && *options.plan != "none";
    auto isNear = [&](SourceFile *file) {
      auto has = [&](SourceFile *importing) {
        return importing == file || std::find(importing->imports.begin(), importing->imports.end(), file) != importing->imports.end();
      };
      return has(root) || has(modelFile);
    };
    plans = filter(plans, [&](const auto &each) {
      return each.first->model.text == model->name.text || (each.first->model.text.empty() && (isAsked || isNear(each.second)));
    });
    auto isIt = [&](const auto &each) { return sameWord(each.first->name.text, *options.plan); };
    if (isAsked && std::none_of(plans.begin(), plans.end(), isIt))
      if (SourceFile *text = texts->find("plans", *options.plan))
        for (const ast::Plan &each : text->tree->plans)
          if (each.model.text.empty())
            plans.push_back({&each, text});
  }

  void choose(Settings &settings) {
    auto trains = collect(root, &ast::File::trains);
    plans = collect(root, &ast::File::plans);
    chooseModel(trains, plans);
    auto ofModel = [&](const auto &d) { return d.first->model.text == model->name.text; };
    for (const auto &family : filter(collect(root, &ast::File::families), ofModel))
      familyLines(reporter, *family.first, *model);
    for (const ast::Optimizer &each : root->tree->optimizers)
      warnUnused("optimizer", each);
    for (const ast::Machine &each : root->tree->machines) // nothing takes it, for --machine names a file; but what is written is checked
      readMachine(each, root->path, options.librarySearch, sources, diagnostics);
    choosePlans();
    train = pick<ast::Train>("train block", engine::Option::Train, options.train, filter(trains, ofModel));
    if (!train && needsLoss(options.purpose))
      reporter.error(Code::L15, model->name.location, "model '" + model->name.text + "' has no train block",
                     {"write `train base for " + model->name.text + " { batch 32 optimizer AdamW(lr = 3e-4) }`"});
    if (options.config)
      config =
          pick<ast::Config>("configuration", engine::Option::Config, options.config, filter(collect(root, &ast::File::configs), ofModel));
    else if (modelFile != root) // a text that trains an imported model also chooses its size
      if (Found<ast::Config> own =
              filter(collect(root, &ast::File::configs), [&](const auto &d) { return d.second == root && ofModel(d); });
          own.size() == 1)
        config = own[0].first;
    datas = filter(collect(root, &ast::File::datas), ofModel);
    chooseData(settings, datas);
    if (!options.plan || *options.plan != "none")
      plan = pick<ast::Plan>("plan", engine::Option::Plan, options.plan, plans, texts->textNames("plans"));
  }

  /// The constants of the model that a setting or the configuration sets, with their values as texts write them.
  std::vector<std::pair<std::string, std::string>> chosenConstants(const Settings &settings, Scope &constants) const {
    std::vector<std::pair<std::string, std::string>> chosen;
    for (const ast::Item &parameter : model->parameters) {
      auto sets = [&](const ast::Item &each) { return each.name.text == parameter.name.text; };
      bool ofConfig = config && std::any_of(config->values.begin(), config->values.end(), sets);
      if (Binding *bound = constants.findHere(parameter.name.text); bound && (ofConfig || settings.has(parameter.name.text)))
        chosen.emplace_back(parameter.name.text, textOf(bound->value));
    }
    return chosen;
  }

  std::optional<Program> elaborate(Settings &settings) {
    Evaluator evaluator(reporter);
    Scope constants;
    bindConstants(evaluator, model->parameters, settings, constants, "model '" + model->name.text + "'", config);
    ElaboratedTrain trained = train ? elaborateTrain(*train, optimizers, options.damped, impliedBatch(settings), settings, evaluator)
                                    : untrained(settings, evaluator);
    PlanElaborator planned(options.schedules, settings, evaluator, sources, diagnostics);
    planned.world = options.world, planned.isTraining = options.purpose == Purpose::Training;
    planned.declare(plan, {trained.train.batch, trained.batchAt}, trained.train.location);
    Scope dataScope(&constants);
    if (data)
      bindConstants(evaluator, data->parameters, settings, dataScope, "data block '" + data->name.text + "'");
    else
      for (const auto &each : datas)
        acceptIdle(each.first->parameters, "", "no data block is taken", settings);
    std::vector<std::string> idle;
    if (!plan)
      for (const auto &p : plans) {
        std::vector<std::string> own = acceptIdle(p.first->parameters, "", "no plan is taken", settings);
        idle.insert(idle.end(), own.begin(), own.end());
        acceptIdle(p.first->mesh, "mesh.", "no plan is taken", settings);
      }
    if (!plan && settings.accept("world"))
      reporter.warning(settings.find("world")->keyLocation, "setting 'world' has no effect: no plan is taken");
    settings.reportUnknown(reporter);

    Program program;
    program.idleSettings = idle;
    if (machine && options.damped) // no training uses float64: its times only order the steps of the comparison
      standIn(*machine, rowOf(program::ElementType::F64).machineIndex, rowOf(program::ElementType::F32).machineIndex);
    program.machine = machine ? std::make_shared<const Machine>(*machine) : nullptr;
    if (machine)
      checkFigures(*machine, planned.plan), checkPlaces(*machine, planned.plan);
    program.train = trained.train;
    for (const ast::Item &parameter : model->parameters)
      program.model.constants.push_back(parameter.name.text);
    program.model.chosenConstants = chosenConstants(settings, constants);
    Graph graph(program.model, reporter, planned.plan.compute, trained.train.batch, options.purpose == Purpose::Training);
    int64_t batch = std::max<int64_t>(1, planned.plan.dataParallel * planned.plan.micro);
    graph.declareAxis("batch", batch, trained.batchAt, true);
    std::vector<std::string> runningMeans;
    graph.freezesStatistics = [&](const std::string &runningMean) {
      runningMeans.push_back(runningMean);
      return freezeStatistics(trained.rules, runningMean);
    };
    size_t before = diagnostics.errorCount();
    ModelElaborator elaborator(graph, reporter, modelFile);
    elaborator.values = options.values;
    elaborator.run(*model, constants, options.purpose);
    auto isWhole = [&] { return hasResults(program.model) && diagnostics.errorCount() == before; };
    if (isWhole())
      planned.check(program.model);
    if (isWhole())
      checkFrozenStatistics(trained.rules, runningMeans, reporter);
    if (isWhole())
      applyParameterRules(trained.rules, trained.calls, options.damped, reporter, program.model, program.train);
    if (data && isWhole())
      program.data = elaborateData(*data, evaluator, dataScope, program.model, declaredInputs(*model), sources);
    if (options.purpose == Purpose::Outputs)
      program.model.losses.clear(), program.model.metrics.clear();
    if (options.purpose == Purpose::Evaluation && isWhole())
      leaveOutMixedMeasures(program.model);
    program.plan = planned.plan;
    if (diagnostics.hasErrors())
      return std::nullopt;
    warnUnused("model", *model);
    if (train)
      warnUnused("train block", *train);
    if (plan)
      warnUnused("plan", *plan);
    if (data)
      warnUnused("data block", *data);
    return program;
  }

  /// The batch that follows from the plan if the train block leaves it out; 0: it does not. A program that does not train takes any batch
  /// that the plan divides. Any batch if the plan has errors, which are reported later.
  int64_t impliedBatch(Settings &settings) {
    auto isBatch = [](const ast::Setting &one) { return one.name.text == "batch"; };
    if (settings.find("batch") || std::any_of(train->settings.begin(), train->settings.end(), isBatch))
      return 0;
    Diagnostics unsaid(sources);
    Reporter quiet(unsaid);
    Evaluator evaluator(quiet);
    PlanElaborator trial(options.schedules, settings, evaluator, sources, unsaid);
    trial.world = options.world;
    trial.declare(plan, {}, model->name.location);
    if (unsaid.hasErrors())
      return 1;
    if (trial.impliedBatch > 0 || options.purpose == Purpose::Training)
      return trial.impliedBatch;
    return trial.plan.dataParallel * std::max<int64_t>(trial.plan.micro, 1);
  }

  /// Accepts the settings of a declaration that is not taken, and warns of those that were set. Returns their keys.
  std::vector<std::string> acceptIdle(const std::vector<ast::Item> &items, const std::string &prefix, const std::string &reason,
                                      Settings &settings) {
    std::vector<std::string> idle;
    for (const ast::Item &item : items) {
      std::string key = prefix + item.name.text;
      if (!settings.accept(key))
        continue;
      reporter.warning(settings.find(key)->keyLocation, "setting '" + key + "' has no effect: " + reason);
      idle.push_back(key);
    }
    return idle;
  }

  /// An evaluation computes each sample by itself.
  void leaveOutMixedMeasures(Model &made) {
    for (const auto &[name, at] : leaveOutMixed(made))
      reporter.warning(at, name + " is left out of the evaluation: it is computed from several samples together");
    if (!hasResults(made) && !options.damped)
      reporter.error(Code::A16, model->name.location, "nothing of model '" + made.name + "' can be evaluated");
  }

  /// Takes the place of the train block that a model lacks: a setting gives the batch, the other settings of train blocks have no effect.
  ElaboratedTrain untrained(Settings &settings, Evaluator &evaluator) {
    ElaboratedTrain result;
    result.train.location = result.batchAt = model->name.location;
    if (needsLoss(options.purpose))
      return result; // an error was reported
    Scope none;
    const Setting *batch = settings.find("batch");
    result.train.batch = batch ? evaluator.integer(*batch->value, none, "the batch") : 1;
    if (batch && (result.train.batch < 1 || result.train.batch > INT32_MAX))
      reporter.fail(Code::T1, batch->value->location,
                    "the batch is " + std::to_string(result.train.batch) + ", it must be 1 to " + std::to_string(INT32_MAX));
    for (const char *other : {"clip", "seed"})
      settings.accept(other);
    return result;
  }

  template <typename T> void warnUnused(const std::string &what, const T &declaration) {
    for (const ast::Name &name : unusedConstants(declaration))
      reporter.warning(name.location, "nothing in " + what + " '" + declaration.name.text + "' uses its constant '" + name.text + "'");
  }

  const FrontendOptions &options;
  Sources &sources;
  Diagnostics &diagnostics;
  Reporter reporter;
  Library *texts = nullptr;
  SourceFile *root = nullptr, *modelFile = nullptr;
  const ast::Block *model = nullptr;
  const ast::Config *config = nullptr;
  const ast::Train *train = nullptr;
  const ast::Plan *plan = nullptr;
  const ast::Data *data = nullptr;
  std::optional<Machine> machine;
  KnownOptimizers optimizers;
  Found<ast::Plan> plans; ///< for the model
  Found<ast::Data> datas; ///< for the model
};

} // namespace

std::optional<Program> elaborate(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics) {
  return Elaboration(options, sources, diagnostics).run();
}

bool printAst(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics, std::ostream &out) {
  if (options.texts)
    sources.readFrom(options.texts);
  uint32_t index = 0;
  if (!readText(options.file, index, options.file, Location{UINT32_MAX, 0, 0, 1}, sources, diagnostics))
    return false;
  auto tree = parseFile(index, sources, diagnostics);
  if (tree)
    print(*tree, out);
  return tree != nullptr;
}

} // namespace npar::dsl
