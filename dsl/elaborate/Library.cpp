// Reads files and imports; a cycle of imports is reported with all its members.
#include "dsl/elaborate/Library.h"
#include "dsl/Suggestions.h"
#include "dsl/parse/Parse.h"
#include "dsl/parse/ReadText.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace npar::dsl {
namespace fs = std::filesystem;

static const char *const folders[] = {"", "layers", "models", "plans", "optimizers", "machines"};

SourceFile *Library::load() { return read(options.file, options.file, Location{UINT32_MAX, 0, 0, 1}); }

std::string Library::resolve(const SourceProvider &texts, const std::vector<std::string> &search, const std::string &importing,
                             const std::string &name) {
  if (std::string path = texts.imported(name); !path.empty())
    return path;
  std::string file = fs::path(name).extension() == ".npar" ? name : name + ".npar";
  std::string beside = (fs::path(importing).parent_path() / file).string();
  if (texts.has(beside))
    return beside;
  for (const std::string &root : search)
    for (const char *folder : folders)
      if (std::string path = (fs::path(root) / folder / file).string(); texts.has(path))
        return path;
  return {};
}

SourceFile *Library::read(const std::string &path, const std::string &name, Location from) {
  std::string key = sources.texts().key(path);
  if (auto cycle = std::find(open.begin(), open.end(), key); cycle != open.end()) {
    std::string members;
    for (; cycle != open.end(); ++cycle)
      members += fs::path(*cycle).filename().string() + " -> ";
    diagnostics.error(Code::L7, from, "circular import: " + members + fs::path(key).filename().string())
        .help(from, "move what both files need to a third one");
    return nullptr;
  }
  if (auto known = files.find(key); known != files.end())
    return known->second.get();
  if (open.size() >= 64) {
    diagnostics.error(Code::L3, from, "imports nest deeper than 64 files");
    return nullptr;
  }
  auto &file = files[key];
  uint32_t index = 0;
  if (!readText(path, index, name, from, sources, diagnostics))
    return nullptr;
  auto tree = parseFile(index, sources, diagnostics);
  if (!tree)
    return nullptr;
  file = std::make_unique<SourceFile>();
  SourceFile *result = file.get();
  result->path = path;
  result->search = &options.librarySearch;
  result->texts = &sources.texts();
  result->tree = std::move(tree);
  checkDuplicates(*result->tree);
  for (const ast::Block &layer : result->tree->layers)
    result->layers.insert({layer.name.text, &layer});
  open.push_back(key);
  for (const ast::Import &import : result->tree->imports) {
    std::string found = resolve(sources.texts(), options.librarySearch, path, import.path);
    if (found.empty()) {
      Diagnostic &d = diagnostics.error(Code::L7, import.location, "cannot find import \"" + import.path + '"');
      std::string searched = "the folder of this file";
      for (const std::string &root : options.librarySearch)
        searched += ", " + root;
      d.note(import.location, "searched: " + searched);
      for (const Help &help : didYouMean(import.path, importable(*result, /*layersAlone=*/false))) {
        d.help(import.location, help.text);
        diagnostics.offer(d, import.location, help.wrong, help.right);
      }
      continue;
    }
    if (SourceFile *child = read(found, found, import.location))
      result->imports.push_back(child);
  }
  open.pop_back();
  return result;
}

void Library::checkDuplicates(const ast::File &file) {
  auto check = [&](const char *what, const auto &declarations, auto keyOf) {
    std::map<std::string, Location> seen;
    constexpr size_t most = 10;
    size_t count = 0;
    for (const auto &d : declarations)
      if (auto [it, fresh] = seen.insert({keyOf(d), d.name.location}); !fresh && count++ < most)
        diagnostics.error(Code::L6, d.name.location, std::string(what) + " '" + d.name.text + "' is declared twice")
            .note(it->second, "first declared here");
  };
  auto name = [](const auto &declaration) { return declaration.name.text; };
  check("layer", file.layers, name);
  check("model", file.models, name);
  check("train block", file.trains, name);
  check("optimizer", file.optimizers, name);
  check("plan", file.plans, name);
  check("machine", file.machines, name);
  check("data block", file.datas, name);
  for (const ast::Plan &plan : file.plans)
    if (plan.name.text == "none")
      diagnostics.error(Code::L4, plan.name.location, "a plan cannot be called 'none', which selects one rank without a plan");
  for (const ast::Data &data : file.datas)
    if (data.name.text == "none")
      diagnostics.error(Code::L4, data.name.location, "a data block cannot be called 'none', which selects a run without one");
  check("configuration", file.configs, [](const ast::Config &config) { return config.name.text + " for " + config.model.text; });
}

std::vector<SourceFile *> Library::reach(SourceFile *file) {
  std::vector<SourceFile *> result{file};
  for (size_t i = 0; i < result.size(); ++i)
    for (SourceFile *import : result[i]->imports)
      if (std::find(result.begin(), result.end(), import) == result.end())
        result.push_back(import);
  return result;
}

Library::FoundLayer Library::findLayer(SourceFile *file, const std::string &name) {
  for (SourceFile *f : reach(file))
    if (auto found = f->layers.find(name); found != f->layers.end())
      return {found->second, f};
  return {};
}

static std::string nameOf(const std::string &text) { return fs::path(text).stem().string(); }

std::vector<std::string> Library::importable(const SourceFile &file, bool layersAlone) {
  std::vector<std::string> names;
  for (const std::string &root : *file.search)
    for (const std::string folder : folders)
      if (!layersAlone || folder == "layers")
        for (const std::string &text : file.texts->textsIn(root + "/" + folder))
          names.push_back(nameOf(text));
  return names;
}

bool Library::isStandard(const SourceFile &file) const {
  const SourceProvider &texts = sources.texts();
  std::string beside = fs::path(file.path).filename().string(), key = texts.key(file.path);
  return std::any_of(options.librarySearch.begin(), options.librarySearch.end(), [&](const std::string &root) {
    std::string own = root + "/optimizers/" + beside;
    return texts.has(own) && texts.key(own) == key;
  });
}

Library::FoundOptimizer Library::findOptimizer(SourceFile *file, const std::string &name) {
  auto declared = [&](const ast::File &tree) {
    auto found = std::find_if(tree.optimizers.begin(), tree.optimizers.end(), [&](const auto &each) { return each.name.text == name; });
    return found == tree.optimizers.end() ? nullptr : &*found;
  };
  for (SourceFile *seen : reach(file))
    if (const ast::Optimizer *found = declared(*seen->tree))
      return {found, isStandard(*seen)};
  SourceFile *text = find("optimizers", name);
  return {text ? declared(*text->tree) : nullptr, true};
}

SourceFile *Library::find(const std::string &folder, const std::string &name) {
  for (const std::string &root : options.librarySearch)
    if (std::string text = root + "/" + folder + "/" + name + ".npar"; name.find('/') == std::string::npos && sources.texts().has(text))
      return read(text, text, Location{UINT32_MAX, 0, 0, 1});
  return nullptr;
}

std::vector<std::string> Library::textNames(const std::string &folder) const {
  std::vector<std::string> names;
  for (const std::string &root : options.librarySearch)
    for (const std::string &text : sources.texts().textsIn(root + "/" + folder))
      names.push_back(nameOf(text));
  return names;
}

std::vector<std::string> Library::optimizerNames(SourceFile *file) const {
  std::vector<std::string> names;
  for (SourceFile *seen : reach(file))
    for (const ast::Optimizer &each : seen->tree->optimizers)
      names.push_back(each.name.text);
  std::vector<std::string> standard = textNames("optimizers");
  names.insert(names.end(), standard.begin(), standard.end());
  return names;
}

/// Tells whether a text has a line `layer NAME`. It needs no parser, for the result is only advice.
static bool declaresLayer(const std::string &text, const std::string &name) {
  std::istringstream lines(text);
  const std::string start = "layer " + name;
  for (std::string line; std::getline(lines, line);)
    if (line.compare(0, start.size(), start) == 0)
      if (line.size() == start.size() || line[start.size()] == '(' || line[start.size()] == ' ' || line[start.size()] == '{')
        return true;
  return false;
}

std::string Library::importFor(const SourceFile &file, const std::string &layer) {
  for (const std::string &root : *file.search)
    for (const char *folder : folders)
      for (const std::string &path : file.texts->textsIn(root + "/" + folder)) {
        std::string unsaid;
        if (std::optional<std::string> text = file.texts->read(path, maximumText, unsaid); text && declaresLayer(*text, layer))
          return nameOf(path);
      }
  return {};
}

} // namespace npar::dsl
