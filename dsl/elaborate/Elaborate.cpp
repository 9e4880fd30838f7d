// The order of elaboration: files, the choice of model, train block and plan, constants, plan, model, the plan against the model.
#include "dsl/Frontend.h"
#include "dsl/Parse.h"
#include "dsl/elaborate/Library.h"
#include "dsl/elaborate/ModelElaborator.h"
#include "dsl/elaborate/PlanElaborator.h"
#include "dsl/elaborate/TrainElaborator.h"

#include <ostream>

namespace npar::dsl {
namespace {

/// Candidates of one kind: those of the file itself, else those of the files it imports.
template <typename T, typename Select, typename Accept>
std::vector<std::pair<const T *, SourceFile *>> candidates(SourceFile *root, Select select, Accept accept, bool all) {
  std::vector<std::pair<const T *, SourceFile *>> result;
  for (SourceFile *file : Library::reach(root)) {
    for (const T &d : select(*file->tree))
      if (accept(d))
        result.push_back({&d, file});
    if (file == root && !result.empty() && !all)
      break;
  }
  return result;
}

template <typename T> std::vector<std::string> namesOf(const std::vector<std::pair<const T *, SourceFile *>> &list) {
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
    Settings settings(options.settings, sources, diagnostics);
    if (!root || diagnostics.hasErrors())
      return std::nullopt;
    try {
      choose();
      if (diagnostics.hasErrors())
        return std::nullopt;
      return elaborate(settings);
    } catch (const Stop &) {
    } catch (const Abort &) {
    }
    return std::nullopt;
  }

private:
  /// The one asked for by an option, or the only one.
  template <typename T>
  const T *pick(const char *what, const char *option, const std::optional<std::string> &name,
                const std::vector<std::pair<const T *, SourceFile *>> &own, const std::vector<std::pair<const T *, SourceFile *>> &all, Location at) {
    if (name) {
      for (const auto &d : all)
        if (d.first->name.text == *name)
          return d.first;
      Location there{sources.add(option, *name), 1, 1, static_cast<uint32_t>(std::max<size_t>(1, name->size()))};
      std::vector<std::string> names = namesOf(all), helps = didYouMean(*name, names);
      if (helps.empty())
        helps.push_back(names.empty() ? std::string("there is none") : "there is " + joined(names));
      reporter.fail(there, std::string("unknown ") + what + " '" + *name + "'", helps);
    }
    if (own.size() > 1)
      reporter.fail(own[1].first->name.location, std::string("more than one ") + what + ": " + joined(namesOf(own), "and"),
                    {std::string("choose one: ") + option + " " + own[0].first->name.text});
    (void)at;
    return own.empty() ? nullptr : own[0].first;
  }

  void choose() {
    Location top{root->tree->index, 1, 1, 1};
    auto anyModel = [](const ast::Block &) { return true; };
    auto models = candidates<ast::Block>(root, [](const ast::File &f) -> auto & { return f.models; }, anyModel, true);
    bool planGiven = options.plan && *options.plan != "none";
    // A plan or train block of this file that was asked for says which model.
    std::string wanted;
    for (const ast::Plan &p : root->tree->plans)
      if (!planGiven || p.name.text == *options.plan)
        wanted = p.model.text;
    for (const ast::Train &t : root->tree->trains)
      if (options.train && t.name.text == *options.train)
        wanted = t.model.text;
    if (!root->tree->models.empty() && (wanted.empty() || root->tree->models.size() == 1))
      wanted = root->tree->models[0].name.text;
    if (wanted.empty() && models.size() == 1)
      wanted = models[0].first->name.text;
    for (const auto &m : models)
      if (m.first->name.text == wanted && !model)
        std::tie(model, modelFile) = m;
    checkFor(root->tree->trains, models);
    checkFor(root->tree->plans, models);
    if (diagnostics.hasErrors())
      return;
    if (!model && models.empty())
      reporter.fail(top, sources.text(root->tree->index).empty() ? "the file is empty: it has no model" : "the file has no model",
                    {"write `model Name(...) { ... }`, or import one: `import \"gpt2\"`"});
    if (!model || (root->tree->models.size() > 1 && !planGiven && !options.train))
      reporter.fail(models[1].first->name.location, "more than one model: " + joined(namesOf(models), "and"), {"keep one model per file"});

    auto ofModel = [&](const auto &d) { return d.model.text == model->name.text; };
    auto selectTrains = [](const ast::File &f) -> auto & { return f.trains; };
    auto selectPlans = [](const ast::File &f) -> auto & { return f.plans; };
    auto trains = candidates<ast::Train>(root, selectTrains, ofModel, false), allTrains = candidates<ast::Train>(root, selectTrains, ofModel, true);
    plans = candidates<ast::Plan>(root, selectPlans, ofModel, true);
    try {
      train = pick<ast::Train>("train block", "--train", options.train, trains, allTrains, model->name.location);
      if (!train)
        reporter.error(model->name.location, "model '" + model->name.text + "' has no train block",
                       {"write `train base for " + model->name.text + " { batch 32 optimizer AdamW(lr = 3e-4) }`"});
    } catch (const Stop &) {
    }
    if (options.plan && *options.plan == "none")
      return;
    plan = pick<ast::Plan>("plan", "--plan", options.plan, candidates<ast::Plan>(root, selectPlans, ofModel, false), plans, model->name.location);
  }

  template <typename T> void checkFor(const std::vector<T> &declarations, const std::vector<std::pair<const ast::Block *, SourceFile *>> &models) {
    std::vector<std::string> names = namesOf(models);
    for (const T &d : declarations)
      if (std::find(names.begin(), names.end(), d.model.text) == names.end())
        reporter.error(d.model.location, "unknown model '" + d.model.text + "'", didYouMean(d.model.text, names));
  }

  std::optional<Program> elaborate(Settings &settings) {
    Evaluator evaluator(reporter);
    Scope constants;
    bindConstants(evaluator, model->parameters, settings, constants, "model '" + model->name.text + "'");
    ElaboratedTrain trained = elaborateTrain(*train, settings, evaluator);
    PlanElaborator planned(settings, evaluator);
    planned.declare(plan, trained);
    if (!plan) // the settings of a plan are the same for one rank, without effect
      for (const auto &p : plans) {
        for (const ast::Item &item : p.first->parameters)
          settings.accept(item.name.text);
        for (const ast::Item &item : p.first->mesh)
          settings.accept("mesh." + item.name.text);
      }
    settings.reportUnknown(reporter);

    Program program;
    program.train = trained.train;
    Graph graph(program.model, reporter, planned.plan.compute);
    int64_t batch = std::max<int64_t>(1, planned.plan.dataParallel * planned.plan.micro);
    graph.declareAxis("batch", batch, trained.batchAt);
    ModelElaborator(graph, reporter, modelFile).run(*model, constants);
    if (program.model.loss >= 0)
      planned.check(program.model);
    program.plan = planned.plan;
    if (diagnostics.hasErrors())
      return std::nullopt;
    return program;
  }

  const FrontendOptions &options;
  Sources &sources;
  Diagnostics &diagnostics;
  Reporter reporter;
  SourceFile *root = nullptr, *modelFile = nullptr;
  const ast::Block *model = nullptr;
  const ast::Train *train = nullptr;
  const ast::Plan *plan = nullptr;
  std::vector<std::pair<const ast::Plan *, SourceFile *>> plans;
};

} // namespace

std::optional<Program> elaborate(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics) {
  try {
    return Elaboration(options, sources, diagnostics).run();
  } catch (const std::exception &e) { // out of memory, a file system that fails
    diagnostics.error({UINT32_MAX, 0, 0, 1}, std::string("elaboration failed: ") + e.what());
    return std::nullopt;
  }
}

bool printAst(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics, std::ostream &out) {
  try {
    uint32_t index = 0;
    if (!readText(options.file, index, options.file, Location{UINT32_MAX, 0, 0, 1}, sources, diagnostics))
      return false;
    auto tree = parseFile(index, sources, diagnostics);
    if (tree)
      print(*tree, out);
    return tree != nullptr;
  } catch (const std::exception &e) {
    diagnostics.error({UINT32_MAX, 0, 0, 1}, std::string("parsing failed: ") + e.what());
    return false;
  }
}

} // namespace npar::dsl
