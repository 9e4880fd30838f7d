// Finds the file of a model and turns its options into those of the front end.
#include "tools/lib/models/ModelOptions.h"

#include "compiler/import/KnownSchedules.h"
#include "dsl/Suggestions.h"
#include "engine/files/CodeFile.h"
#include "engine/readable/Printable.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace npar::models {
namespace {

namespace fs = std::filesystem;

const dsl::SourceProvider &textsOf(const ModelOptions &options) { return options.texts ? *options.texts : *dsl::installedTexts(); }

/// The path itself, else a model of the standard library by name, else a path that begins with `stdlib/`.
std::optional<std::string> findModel(const ModelOptions &options) {
  const dsl::SourceProvider &texts = textsOf(options);
  const std::string &name = options.model, library = standardLibrary();
  auto isThere = [&](const std::string &path) {
    std::error_code ignored;
    return texts.has(path) && !fs::is_directory(path, ignored);
  };
  if (isThere(name))
    return name;
  fs::path path = name;
  for (const std::string &candidate : {library + "/models/" + name + ".npar", library + "/models/" + name})
    if (!path.has_parent_path() && isThere(candidate))
      return candidate;
  fs::path inside = path.lexically_relative("stdlib");
  std::string candidate = library + "/" + inside.string();
  return !inside.empty() && *inside.begin() != ".." && isThere(candidate) ? std::optional(candidate) : std::nullopt;
}

} // namespace

std::string standardLibrary() {
  const char *path = std::getenv("NPAR_STDLIB");
  if (path && *path)
    return path;
  std::error_code failed;
  const fs::path prefix = files::prefixOfCode(reinterpret_cast<const void *>(&standardLibrary)), installed = prefix / "share/npar/stdlib";
  if (installed.is_absolute() && fs::is_directory(installed, failed))
    return installed.string();
  // Installed code never reads the folder that it was built from: on another machine anybody may have made a folder of that name.
  const bool isBuildTree = (prefix.string() + "/").rfind(NPAR_BUILD_FOLDER "/", 0) == 0;
  return isBuildTree && fs::is_directory(NPAR_SOURCE_STDLIB, failed) ? NPAR_SOURCE_STDLIB : dsl::embeddedLibrary;
}

std::vector<std::string> libraryTexts(const std::string &folder) {
  std::vector<std::string> names;
  for (const std::string &text : dsl::installedTexts()->textsIn(standardLibrary() + "/" + folder))
    names.push_back(fs::path(text).stem().string());
  return names;
}

std::optional<std::string> libraryText(const std::string &folder, const std::string &name) {
  std::string path = standardLibrary() + "/" + folder + "/" + name + ".npar";
  return name.find('/') == std::string::npos && dsl::installedTexts()->has(path) ? std::optional(path) : std::nullopt;
}

std::optional<std::pair<std::string, std::string>> settingOf(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

std::optional<std::string> takeSetting(std::vector<std::string> &settings, const std::string &key) {
  std::optional<std::string> value;
  for (auto one = settings.begin(); one != settings.end();)
    if (auto pair = settingOf(*one); pair && pair->first == key)
      value = pair->second, one = settings.erase(one);
    else
      ++one;
  return value;
}

bool ModelOptions::isCompiled() const {
  if (fs::path(model).extension() == ".npx")
    return true;
  char start[8] = {};
  std::error_code ignored;
  if (!fs::is_regular_file(model, ignored))
    return false;
  std::ifstream(model, std::ios::binary).read(start, sizeof start);
  return std::string(start, sizeof start) == "NPARNPX1";
}

std::optional<engine::GivenSettings> ModelOptions::given() const {
  return isCompiled() ? std::nullopt : std::optional(engine::GivenSettings{settings, config.value_or("")});
}

engine::Status ModelOptions::refuseTextFlags() const {
  using engine::Option;
  std::optional<Option> option;
  for (auto [given, which] : {std::pair(kind != program::ProgramKind::Training, Option::Kind), std::pair(plan.has_value(), Option::Plan),
                              std::pair(train.has_value(), Option::Train), std::pair(config.has_value(), Option::Config),
                              std::pair(machine.has_value(), Option::Machine), std::pair(!settings.empty(), Option::Setting),
                              std::pair(!targets.empty(), Option::Targets)})
    if (given && !option)
      option = which;
  if (!option)
    return {};
  // Names the setting, because a flag such as --world makes one, too.
  const std::string name = *option == Option::Setting ? nameOf(*option, settings.front()) : nameOf(*option);
  return engine::Status::usage(name + " cannot change a compiled program: give the model file (.npar) instead of '" + model + "'");
}

std::string folderOf(const std::string &file) {
  fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

engine::Status checkImportable(const std::string &path) {
  std::string shown = readable::printableName(path);
  if (shown == path && path.find('"') == std::string::npos)
    return {};
  return engine::Status::badInput("the path '" + shown + "' cannot be written as an import, which has no escapes for " +
                                  (shown == path ? "a quote" : "control characters and bytes that are not UTF-8") +
                                  ": rename the file or its folder");
}

std::string ModelOptions::file() const { return findModel(*this).value_or(model); }

engine::Result<dsl::FrontendOptions> ModelOptions::frontend() const {
  std::optional<std::string> file = findModel(*this);
  if (!file) {
    std::error_code ignored;
    if (fs::is_directory(model, ignored))
      return engine::Status::badInput("cannot read the model '" + model + "': it is a directory");
    if (fs::is_symlink(model, ignored))
      return engine::Status::badInput("cannot read the model '" + model + "': it is a symbolic link that leads to no file");
    std::vector<std::string> known = libraryTexts("models");
    std::string message = "no model '" + model + "': there is no such file";
    if (std::string nearest = dsl::nearest(fs::path(model).stem().string(), known); !nearest.empty())
      message += "; did you mean '" + nearest + "' of the standard library?";
    else if (!known.empty()) {
      message += "; the standard library has";
      for (const std::string &name : known)
        message += (&name == &known.front() ? " " : ", ") + name;
    }
    return engine::Status::badInput(message);
  }
  dsl::FrontendOptions options;
  options.file = *file, options.texts = texts;
  options.schedules = compiler::knownSchedules();
  if (!importFolder.empty())
    options.librarySearch.push_back(importFolder);
  options.librarySearch.push_back(standardLibrary());
  options.purpose = outputsAlone                               ? dsl::Purpose::Outputs
                    : kind == program::ProgramKind::Evaluation ? dsl::Purpose::Evaluation
                    : kind == program::ProgramKind::Generation ? dsl::Purpose::Generation
                                                               : dsl::Purpose::Training;
  options.damped = damped;
  options.plan = plan;
  options.train = train;
  options.config = config;
  options.machine = machine, options.devices = devices;
  options.world = world;
  for (const std::string &setting : settings) {
    std::optional<std::pair<std::string, std::string>> pair = settingOf(setting);
    if (!pair)
      return engine::Status::usage(nameOf(engine::Option::Setting) + " needs KEY=VALUE, such as 'batch=16', not '" + setting + "'");
    options.settings.push_back(*pair);
  }
  return options;
}

} // namespace npar::models
