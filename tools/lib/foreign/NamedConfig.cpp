// Searches the configurations of all models of the standard library by name.
#include "tools/lib/foreign/NamedConfig.h"

#include "dsl/Families.h"
#include "tools/lib/foreign/Reading.h"
#include "tools/lib/models/ModelOptions.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace npar::foreign {

using engine::Result;
using engine::Status;

namespace {

/// The parts of a name between points of separation.
std::vector<std::string> wordsOf(const std::string &name) {
  std::vector<std::string> words(1);
  for (char c : lowerCase(name.substr(std::min(name.rfind('/') + 1, name.size()))))
    if (c == '-' || c == '_')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

std::string lettersOf(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    for (char c : word)
      if (c != '.')
        text += c;
  return text;
}

/// "v0.6"
bool isVersion(const std::string &word) {
  return word.size() > 1 && word[0] == 'v' && word.find_first_not_of("0123456789.", 1) == std::string::npos;
}

/// The settings of a configuration, by the configuration file that describes it and the class of the head. Nothing if its model has no
/// family.
Result<std::optional<ImportedConfig>> settingsOf(const std::string &text, const std::string &config, const std::string &model,
                                                 const std::string &head) {
  models::ModelOptions options;
  options.model = text;
  TRY(dsl::FrontendOptions frontend, options.frontend());
  frontend.config = config;
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::FamilyConfig> family = dsl::configOf(frontend, model, sources, diagnostics);
  std::optional<dsl::FamilyCall> call;
  if (family && !diagnostics.hasErrors()) {
    std::vector<std::string> classes = {family->architecture};
    if (!head.empty()) {
      TRY(classes, classesWith(head, dsl::classesOf(frontend, family->family, sources, diagnostics), "configuration '" + config + "'"));
    }
    auto isLeftOut = [](const dsl::ConfigEntry &entry) { return entry.optional; }; // as in the file that export writes
    family->entries.erase(std::remove_if(family->entries.begin(), family->entries.end(), isLeftOut), family->entries.end());
    call = dsl::callOf(frontend, family->family, classes, family->entries, sources, diagnostics);
  }
  if (diagnostics.hasErrors() || (call && !call->wrong.empty())) {
    std::ostringstream report;
    diagnostics.print(report);
    return Status::internal("internal error: configuration '" + config + "' of '" + text +
                            "' does not follow its family: " + (call && !call->wrong.empty() ? call->wrong.front() : report.str()));
  }
  if (!call)
    return std::optional<ImportedConfig>();
  return std::optional(ImportedConfig{text, call->model, family->family, call->settings, {}, call->constants["tie_word_embeddings"]});
}

} // namespace

std::vector<std::string> comparableNames(const std::string &name) {
  static const std::set<std::string> aboutWeights = {"chat", "instruct", "it", "hf", "meta"};
  std::vector<std::string> words = wordsOf(name), plain;
  std::copy_if(words.begin(), words.end(), std::back_inserter(plain), [](const std::string &word) { return !aboutWeights.count(word); });
  std::vector<std::string> names = {lettersOf(words)};
  if (plain.size() < words.size() && !plain.empty())
    names.push_back(lettersOf(plain));
  if (plain.size() > 1 && isVersion(plain.back()))
    names.push_back(lettersOf({plain.begin(), plain.end() - 1}));
  return names;
}

Result<std::optional<NamedConfig>> namedConfig(const std::string &name, const std::string &head) {
  struct Known {
    std::string text, config, model;
  };
  std::vector<Known> all;
  for (const std::string &text : models::libraryTexts("models")) {
    models::ModelOptions options;
    options.model = text;
    TRY(dsl::FrontendOptions frontend, options.frontend());
    dsl::Sources sources;
    dsl::Diagnostics diagnostics(sources);
    for (const auto &[config, model] : dsl::configurationsOf(frontend, sources, diagnostics))
      all.push_back({text, config, model});
  }
  for (const std::string &wanted : comparableNames(name))
    for (const Known &known : all)
      if (lettersOf(wordsOf(known.config)) == wanted) {
        TRY(std::optional<ImportedConfig> imported, settingsOf(known.text, known.config, known.model, head));
        if (imported)
          return std::optional(NamedConfig{std::move(*imported), known.config});
      }
  return std::optional<NamedConfig>();
}

} // namespace npar::foreign
