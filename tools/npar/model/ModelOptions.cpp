// Reads the model flags and finds the model's file.
#include "tools/npar/model/ModelOptions.h"

#include "compiler/import/KnownSchedules.h"
#include "engine/readable/NearestWord.h"
#include "engine/readable/Printable.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace npar::driver {

using readable::nearestWord;
using readable::printableName;

namespace {

namespace fs = std::filesystem;

bool isFile(const fs::path &path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

/// The path itself, else a model of the standard library by name, else a path that begins with `stdlib/`.
std::optional<std::string> findModel(const std::string &name) {
  if (isFile(name))
    return name;
  fs::path library = standardLibrary(), path = name;
  for (const fs::path &candidate : {library / "models" / (name + ".npar"), library / "models" / name})
    if (!path.has_parent_path() && isFile(candidate))
      return candidate.string();
  if (fs::path inside = path.lexically_relative("stdlib"); !inside.empty() && *inside.begin() != ".." && isFile(library / inside))
    return (library / inside).string();
  return std::nullopt;
}

} // namespace

std::string standardLibrary() {
  const char *path = std::getenv("NPAR_STDLIB");
  if (path && *path)
    return path;
  std::error_code failed;
  fs::path installed = fs::read_symlink("/proc/self/exe", failed).parent_path().parent_path() / "share/npar/stdlib";
  return !failed && fs::is_directory(installed, failed) ? installed.string() : NPAR_SOURCE_STDLIB;
}

std::vector<std::string> libraryModels() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(fs::path(standardLibrary()) / "models", ignored))
    if (entry.path().extension() == ".npar")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
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

void ModelOptions::addTo(CLI::App &app) {
  app.add_option("MODEL", model, "model file (.npar), name of a model in the standard library, or compiled program (.npx)")->required();
  app.add_option("--plan", plan, "plan to use; 'none' runs one rank (default: the file's only plan)")->type_name("NAME")->check(notEmpty());
  app.add_option("--train", train, "train block to use (default: the only one of the model)")->type_name("NAME")->check(notEmpty());
  app.add_option("--config", config,
                 "named configuration of the model's constants, such as Llama-3-8B (default: the values in the model file)")
      ->type_name("NAME")
      ->check(notEmpty());
  app.add_option("--set", settings,
                 "override a constant of the model, train block or plan, such as depth=4, batch=16, mesh.tp=4, compute=f64")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void ModelOptions::addKindTo(CLI::App &app) {
  static const std::map<std::string, program::ProgramKind> commands = {{"train", program::ProgramKind::Training},
                                                                       {"eval", program::ProgramKind::Evaluation},
                                                                       {"generate", program::ProgramKind::Generation},
                                                                       {"outputs", program::ProgramKind::Evaluation}};
  app.add_option_function<std::string>(
         "--for",
         [this](const std::string &command) {
           kind = commands.at(command);
           outputsAlone = command == "outputs";
         },
         "command that the program is for: train (the default), eval or generate; outputs: eval --outputs without losses and metrics, "
         "hence without labels")
      ->type_name("COMMAND")
      ->check(CLI::IsMember({"train", "eval", "generate", "outputs"}))
      ->transform(CLI::Validator(
          [](std::string &word) { // the command's old name
            word = word == "run" ? "train" : word;
            return std::string();
          },
          ""));
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

ExitCode ModelOptions::refuseTextFlags() const {
  bool otherKind = kind != program::ProgramKind::Training;
  const char *flag = otherKind           ? "--for"
                     : plan              ? "--plan"
                     : train             ? "--train"
                     : config            ? "--config"
                     : machine           ? "--machine"
                     : !settings.empty() ? "--set"
                                         : nullptr;
  if (!flag)
    return ExitCode::Good;
  return fail(ExitCode::Usage,
              std::string(flag) + " cannot change a compiled program: give the model file (.npar) instead of '" + model + "'");
}

std::string folderOf(const std::string &file) {
  fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

ExitCode checkImportable(const std::string &path) {
  std::string shown = printableName(path);
  if (shown == path && path.find('"') == std::string::npos)
    return ExitCode::Good;
  return fail(ExitCode::BadInput, "the path '" + shown + "' cannot be written as an import, which has no escapes for " +
                                      (shown == path ? "a quote" : "control characters and bytes that are not UTF-8") +
                                      ": rename the file or its folder");
}

std::string ModelOptions::file() const { return findModel(model).value_or(model); }

Outcome<dsl::FrontendOptions> ModelOptions::frontend() const {
  std::optional<std::string> file = findModel(model);
  if (!file) {
    std::error_code ignored;
    if (fs::is_directory(model, ignored))
      return fail(ExitCode::BadInput, "cannot read the model '" + model + "': it is a directory");
    if (fs::is_symlink(model, ignored))
      return fail(ExitCode::BadInput, "cannot read the model '" + model + "': it is a symbolic link that leads to no file");
    std::vector<std::string> known = libraryModels();
    std::string message = "no model '" + model + "': there is no such file";
    if (std::string nearest = nearestWord(fs::path(model).stem().string(), known); !nearest.empty())
      message += "; did you mean '" + nearest + "' of the standard library?";
    else if (!known.empty()) {
      message += "; the standard library has";
      for (const std::string &name : known)
        message += (&name == &known.front() ? " " : ", ") + name;
    }
    return fail(ExitCode::BadInput, message);
  }
  dsl::FrontendOptions options;
  options.file = *file;
  options.schedules = knownSchedules();
  if (!importFolder.empty())
    options.librarySearch.push_back(importFolder);
  options.librarySearch.push_back(standardLibrary());
  options.purpose = outputsAlone                                ? dsl::Purpose::Outputs
                    : kind == program::ProgramKind::Evaluation ? dsl::Purpose::Evaluation
                                                               : dsl::Purpose::Training;
  options.damped = damped;
  options.plan = plan;
  options.train = train;
  options.config = config;
  options.machine = machine;
  for (const std::string &setting : settings) {
    std::optional<std::pair<std::string, std::string>> pair = settingOf(setting);
    if (!pair)
      return fail(ExitCode::Usage, "--set needs KEY=VALUE, such as 'batch=16', not '" + setting + "'");
    options.settings.push_back(*pair);
  }
  return options;
}

} // namespace npar::driver
