// Finds, reads and writes the texts of machines.
#include "tools/lib/planner/machine/MachineFile.h"

#include "dsl/Suggestions.h"
#include "dsl/machine/Hosts.h"
#include "dsl/machine/ReadMachine.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/PrivateFolder.h"
#include "engine/status/OptionNames.h"
#include "tools/lib/models/ModelOptions.h"
#include "tools/lib/planner/machine/MeasureMachine.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>
#include <unistd.h>

namespace npar::planner {

using engine::Result;
using engine::Status;

namespace {

namespace fs = std::filesystem;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Names of the standard library's machines, ascending, with the word for this one.
std::vector<std::string> knownMachines() {
  std::vector<std::string> names = models::libraryTexts("machines");
  names.push_back("here");
  std::sort(names.begin(), names.end());
  return names;
}

/// The folder of this machine's file, which other users cannot write.
Result<files::PrivateFolder> hereFolder() {
  fs::path folder = fs::path(herePath()).parent_path();
  return files::PrivateFolder::open(folder.parent_path().string(), folder.filename().string());
}

/// This machine's file; measures the machine if the file is missing.
Result<std::optional<std::string>> here(engine::Observer &observer) {
  constexpr uint64_t largest = uint64_t{1} << 20;
  std::string path = herePath();
  if (path.empty())
    return Status::badInput("cannot store this machine's file: set HOME or XDG_CACHE_HOME, or give " +
                            nameOf(engine::Option::Machine, "FILE"));
  Result<files::PrivateFolder> folder = hereFolder();
  if (!folder.ok())
    return Status::badInput("cannot keep this machine's file: " + folder.status().message());
  Result<std::optional<std::vector<uint8_t>>> there = folder->read(fs::path(path).filename().string(), largest);
  if (!there.ok())
    return Status::badInput("cannot use this machine's file: " + there.status().message());
  if (*there)
    return std::optional(path);
  observer.remark(
      fmt::format("measuring this machine for {}; the result is stored in '{}'", nameOf(engine::Option::Machine, "here"), path));
  TRY(Measured measured, measureMachine(MeasureOptions(), observer));
  TRY_STATUS(writeMachineFile(path, measured.machine, measured.remark));
  return std::optional(path);
}

} // namespace

Result<std::optional<std::string>> machineFile(const std::string &word, engine::Observer &observer) {
  std::error_code ignored;
  if (word == "here")
    return here(observer);
  if (word == "reference")
    return std::optional<std::string>();
  if (fs::is_directory(word, ignored))
    return Status::badInput("cannot read the machine '" + word + "': it is a directory");
  if (fs::exists(word, ignored))
    return std::optional(word);
  if (std::optional<std::string> text = models::libraryText("machines", word))
    return text;
  std::vector<std::string> known = knownMachines();
  fs::path name = fs::path(word).filename();
  std::string nearest = dsl::nearest((name.extension() == ".npar" ? name.stem() : name).string(), known);
  return Status::badInput("no machine '" + word + "': there is no such file; " +
                          (nearest.empty() ? fmt::format("there are {}", fmt::join(known, ", ")) : "did you mean '" + nearest + "'?"));
}

Result<dsl::Machine> readMachineFile(const std::optional<std::string> &path, engine::Observer &observer, dsl::TextsPointer texts) {
  if (!path)
    return dsl::referenceMachine();
  dsl::Sources sources(std::move(texts));
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::Machine> machine = dsl::loadMachine(*path, {models::standardLibrary()}, sources, diagnostics);
  std::ostringstream report;
  diagnostics.print(report);
  if (!machine)
    return Status::located(engine::Code::BadInput, report.str());
  if (!report.str().empty())
    observer.warn(report.str());
  return *machine;
}

Status limitDevices(dsl::Machine &machine, int64_t devices) {
  if (int64_t most = dsl::devicesOfHosts(machine); devices > most)
    return Status::usage(fmt::format("{}: {} of machine '{}' has {}", nameOf(engine::Option::Devices, std::to_string(devices)),
                                     dsl::isUneven(machine) ? "a kind of hosts" : "a host", machine.name, dsl::counted(most, "device")));
  if (devices > 0)
    dsl::takeDevices(machine, devices);
  return {};
}

bool replacesOtherText(const std::string &path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) == 0)
    return false;
  dsl::Sources sources;
  dsl::Diagnostics unsaid(sources);
  return !dsl::loadMachine(path, {models::standardLibrary()}, sources, unsaid);
}

std::string hostName() {
  char text[256] = {};
  std::string name = gethostname(text, sizeof text - 1) == 0 ? text : "";
  for (char &letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '-' && letter != '.')
      letter = '_'; // it names a file
  return name.empty() ? "host" : name;
}

std::string herePath() {
  std::string folder = variable("XDG_CACHE_HOME");
  if (folder.empty() && !variable("HOME").empty())
    folder = variable("HOME") + "/.cache";
  return folder.empty() ? "" : folder + "/npar/machines/" + hostName() + ".npar";
}

Status writeMachineFile(const std::string &path, const dsl::Machine &machine, const std::string &remark) {
  std::string text = "# " + remark + "\n" + dsl::printMachine(machine);
  if (path == herePath()) {
    Result<files::PrivateFolder> folder = hereFolder();
    Status status = folder.ok() ? folder->write(fs::path(path).filename().string(), text.data(), text.size()) : folder.status();
    return status.ok() ? status : Status::badInput("cannot write '" + path + "': " + status.message());
  }
  return files::writeFileAtomically(path, text.data(), text.size());
}

} // namespace npar::planner
