// Runs the front end, the compiler without kernels, and the annotations of plans.
#include "tools/lib/lsp/Analysis.h"

#include "compiler/Compiler.h"
#include "compiler/import/KnownSchedules.h"
#include "dsl/Families.h"
#include "dsl/machine/ReadMachine.h"
#include "dsl/parse/Parse.h"
#include "tools/lib/lsp/OpenTexts.h"
#include "tools/lib/lsp/Uri.h"
#include "tools/lib/models/ModelOptions.h"

#include <algorithm>
#include <set>

namespace npar::lsp {
namespace {

constexpr size_t mostChoices = 12;

/// Names of the declarations of a kind for a model, in the nearest text that has some. `general`: also those for any model, in this text or
/// one that it imports itself.
std::vector<std::string> namesFor(Workspace &workspace, const std::string &path, SymbolKind kind, const std::string &model, bool general) {
  std::vector<std::pair<std::string, IndexPointer>> seen = workspace.reach(path);
  size_t near = seen.empty() ? 0 : 1 + seen.front().second->imports.size();
  for (size_t i = 0; i < seen.size(); ++i) {
    std::vector<std::string> names;
    for (const Symbol &symbol : seen[i].second->symbols)
      if (symbol.kind == kind && symbol.owner < 0 && (symbol.layer == model || (general && symbol.layer.empty() && i < near)))
        names.push_back(symbol.name);
    if (!names.empty())
      return names;
  }
  return {};
}

/// Tells whether the text itself has the declaration.
bool isOwn(const TextIndex &index, SymbolKind kind, const std::string &name) { return index.find(kind, name) >= 0; }

dsl::FrontendOptions optionsFor(const AnalysisRequest &request, const Choice &choice, const dsl::TextsPointer &texts) {
  dsl::FrontendOptions options;
  options.file = request.path, options.texts = texts, options.librarySearch = request.search;
  options.schedules = compiler::knownSchedules();
  options.plan = choice.plan, options.train = choice.train;
  options.purpose = choice.train ? dsl::Purpose::Training : dsl::Purpose::Evaluation;
  if (choice.data)
    options.settings.push_back({"data", *choice.data});
  return options;
}

/// Hears nothing, and tells the library to stop.
class Stopper final : public engine::Observer {
public:
  explicit Stopper(const std::function<bool()> &stops) : stops(stops) {}
  bool wantsToStop() override { return stops(); }

private:
  const std::function<bool()> &stops;
};

std::shared_ptr<Elaborated> elaborated(const AnalysisRequest &request, const Choice &choice, const dsl::TextsPointer &texts) {
  auto result = std::make_shared<Elaborated>();
  result->choice = choice;
  result->sources = std::make_shared<dsl::Sources>(texts);
  dsl::Diagnostics diagnostics(*result->sources);
  dsl::FrontendOptions options = optionsFor(request, choice, texts);
  options.values = &result->values;
  result->program = dsl::elaborate(options, *result->sources, diagnostics);
  result->diagnostics = diagnostics.all();
  return result;
}

/// A text of machines alone.
std::shared_ptr<Elaborated> checkedMachines(const AnalysisRequest &request, const dsl::TextsPointer &texts) {
  auto result = std::make_shared<Elaborated>();
  result->sources = std::make_shared<dsl::Sources>(texts);
  dsl::Diagnostics diagnostics(*result->sources);
  std::string why;
  if (std::optional<std::string> text = texts->read(request.path, 1 << 20, why)) {
    uint32_t file = result->sources->add(request.path, *text);
    if (std::unique_ptr<dsl::ast::File> tree = dsl::parseFile(file, *result->sources, diagnostics))
      for (const dsl::ast::Machine &each : tree->machines)
        dsl::readMachine(each, request.path, request.search, *result->sources, diagnostics);
  }
  result->diagnostics = diagnostics.all();
  return result;
}

/// A text without a model to elaborate, such as one of layers: its imports are read.
std::shared_ptr<Elaborated> checkedImports(const AnalysisRequest &request, const dsl::TextsPointer &texts) {
  auto result = std::make_shared<Elaborated>();
  result->sources = std::make_shared<dsl::Sources>(texts);
  dsl::Diagnostics diagnostics(*result->sources);
  dsl::familiesOf(optionsFor(request, {}, texts), *result->sources, diagnostics);
  result->diagnostics = diagnostics.all();
  return result;
}

std::shared_ptr<Elaborated> compiled(const Elaborated &before, const std::function<bool()> &stops) {
  auto result = std::make_shared<Elaborated>(before);
  compiler::CompileOptions options;
  options.kind = before.choice.train ? program::ProgramKind::Training : program::ProgramKind::Evaluation;
  options.withoutKernels = true;
  options.placed = &result->placed;
  options.wantsToStop = stops;
  dsl::Diagnostics diagnostics(*result->sources);
  if (std::optional<compiler::Compiled> done = compiler::compile(*before.program, *result->sources, options, diagnostics)) {
    result->compiled = done->program;
    result->view = show::viewOf(result->compiled->root());
  }
  result->diagnostics.insert(result->diagnostics.end(), diagnostics.all().begin(), diagnostics.all().end());
  return result;
}

std::shared_ptr<Elaborated> annotated(const AnalysisRequest &request, const Elaborated &before, const dsl::TextsPointer &texts,
                                      const std::function<bool()> &stops) {
  Stopper observer(stops);
  models::ModelOptions options;
  options.model = request.path, options.texts = texts;
  options.plan = before.choice.plan, options.train = before.choice.train;
  if (before.choice.data)
    options.settings.push_back("data=" + *before.choice.data);
  auto result = std::make_shared<Elaborated>(before);
  if (engine::Result<annotate::AnnotatedPlan> plan = annotate::annotatePlan(options, observer); plan.ok())
    result->effects = std::move(*plan);
  return result;
}

void addTexts(Analysis &analysis) {
  std::set<std::string> names{analysis.path};
  for (const auto &choice : analysis.choices)
    for (uint32_t file = 0; file < choice->sources->size(); ++file)
      names.insert(plainPath(choice->sources->name(file)));
  analysis.texts.assign(names.begin(), names.end());
}

} // namespace

std::vector<Choice> choicesOf(Workspace &workspace, const std::string &path) {
  IndexPointer own = workspace.index(path);
  if (!own)
    return {};
  std::vector<std::string> models;
  auto addModel = [&](const std::string &name) {
    if (!name.empty() && std::find(models.begin(), models.end(), name) == models.end())
      models.push_back(name);
  };
  for (const Symbol &symbol : own->symbols)
    if (symbol.owner < 0)
      addModel(symbol.kind == SymbolKind::Model ? symbol.name : symbol.kind == SymbolKind::Instance ? "" : symbol.layer);
  std::vector<Choice> choices;
  for (const std::string &model : models) {
    std::vector<std::string> plans = namesFor(workspace, path, SymbolKind::Plan, model, /*general=*/true);
    std::vector<std::string> trains = namesFor(workspace, path, SymbolKind::Train, model, /*general=*/false);
    std::vector<std::string> datas = namesFor(workspace, path, SymbolKind::Data, model, /*general=*/false);
    if (models.size() > 1 && plans.empty() && trains.empty())
      continue; // nothing chooses it
    plans.erase(std::remove(plans.begin(), plans.end(), "none"), plans.end());
    if (plans.empty() || !isOwn(*own, SymbolKind::Plan, plans.front()))
      plans.resize(std::min<size_t>(plans.size(), 1));
    if (plans.empty())
      plans.push_back("none");
    if (trains.empty() || !isOwn(*own, SymbolKind::Train, trains.front()))
      trains.resize(std::min<size_t>(trains.size(), 1));
    auto first = [](const std::vector<std::string> &names) { return names.empty() ? std::nullopt : std::optional(names.front()); };
    std::optional<std::string> data = datas.size() > 1 ? first(datas) : std::nullopt;
    for (const std::string &plan : plans)
      choices.push_back({model, plan, first(trains), data});
    for (size_t i = 1; i < trains.size(); ++i)
      choices.push_back({model, plans.front(), trains[i], data});
    for (size_t i = 1; i < datas.size(); ++i)
      choices.push_back({model, plans.front(), first(trains), datas[i]});
  }
  choices.resize(std::min(choices.size(), mostChoices));
  return choices;
}

void analyse(const AnalysisRequest &request, const std::function<bool()> &stops, const std::function<void(Analysis)> &publish) {
  try {
    dsl::TextsPointer texts = withOpenTexts(request.texts);
    Analysis analysis{request.path, {}, {}};
    auto done = [&] {
      if (stops())
        return false;
      addTexts(analysis);
      publish(analysis);
      return true;
    };
    if (request.onlyMachine)
      analysis.choices.push_back(checkedMachines(request, texts));
    else if (request.choices.empty())
      analysis.choices.push_back(checkedImports(request, texts));
    for (const Choice &choice : request.choices) {
      if (stops())
        return;
      analysis.choices.push_back(elaborated(request, choice, texts));
    }
    if (!done())
      return;
    for (auto &choice : analysis.choices) {
      if (stops())
        return;
      if (choice->program)
        choice = compiled(*choice, stops);
    }
    if (!done())
      return;
    for (auto &choice : analysis.choices) {
      if (stops())
        return;
      if (choice->compiled && choice->choice.plan != "none" && choice->choice.train)
        choice = annotated(request, *choice, texts, stops);
    }
    done();
  } catch (...) { // such as no memory: what was published before stays
  }
}

} // namespace npar::lsp
