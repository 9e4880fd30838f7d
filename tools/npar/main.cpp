// npar, the only driver: registers the subcommands, parses the command line and turns the outcome into an exit code.
#include "dsl/Suggestions.h"
#include "engine/device/ProcessorFeatures.h"
#include "engine/readable/Printable.h"
#include "engine/readable/TableRow.h"
#include "engine/status/OptionNames.h"
#include "engine/status/Thrown.h"
#include "tools/npar/Command.h"
#include "tools/npar/job/Guard.h"
#include "tools/npar/terminal/OldSpellings.h"
#include "tools/npar/terminal/PrintableStreams.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

namespace npar::driver {

using readable::printableName;
using readable::TableRow;

namespace {

constexpr const char *introduction =
    "npar: train a model under any parallel plan.\n"
    "\n"
    "Example:\n"
    "  npar train gpt2 --plan three_d --set mesh.dp=2 --set mesh.pp=2 --set mesh.tp=2 --set vocab=256 --set width=64 --set heads=4 \\\n"
    "      --set depth=4 --set length=64 --data book.txt --tokens bytes --steps 50\n";

/// Shows only the first line of each description in the list of subcommands; the rest appears in the command's own help.
class FirstLines : public CLI::Formatter {
public:
  /// Puts one empty line between groups, where CLI11 puts two.
  std::string make_help(const CLI::App *app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at))
      text.erase(at, 1);
    return text;
  }
  /// Appends "COMMAND [ARGUMENTS]" for a command that starts another one.
  std::string make_usage(const CLI::App *app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    return app->get_prefix_command() ? usage.insert(usage.find_last_not_of('\n') + 1, " COMMAND [ARGUMENTS]") : usage;
  }
  std::string make_subcommand(const CLI::App *app) const override {
    std::string description = app->get_description();
    return TableRow(2).left(app->get_name(), 14).text(description.substr(0, description.find('\n'))).str();
  }
};

/// The flags of a subcommand, as written on the command line.
std::vector<std::string> flagsOf(const CLI::App &app) {
  std::vector<std::string> flags;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      flags.push_back("--" + name);
  return flags;
}

/// Reports words that no flag or positional argument took: a usage error that names the first one and the nearest flag.
ExitCode refuseExtras(const CLI::App &app) {
  std::string word;
  for (const std::string &extra : app.remaining())
    if (word.empty() || (word[0] != '-' && extra[0] == '-'))
      word = extra;
  std::string message = "unexpected '" + word + "'";
  if (word.rfind("-", 0) == 0) {
    message = "unknown flag '" + word.substr(0, word.find('=')) + "'";
    std::string nearest = dsl::nearest(word.substr(0, word.find('=')), flagsOf(app));
    if (!nearest.empty())
      message += "; did you mean '" + nearest + "'?";
  }
  std::string name = app.get_name();
  for (const CLI::App *outer = app.get_parent(); outer && outer->get_parent(); outer = outer->get_parent())
    name = outer->get_name() + " " + name;
  return fail(ExitCode::Usage, message + "\nnpar: see 'npar " + name + " --help'");
}

ExitCode checkStandardOutput() {
  if (standardOutputArrived())
    return ExitCode::Good;
  takeOver(); // the job that would have reported it has ended
  sayErrors();
  return fail(ExitCode::BadInput, "cannot write to standard output: it is closed, or its disk is full");
}

/// Moves the separator `--` of `npar launch -n 4 -- run ...` to the end and returns the number of words before it: CLI11 would take the
/// words after it for positional arguments and drop them.
int withoutSeparator(int argc, char **argv) {
  char **end = argv + argc;
  if (argc < 2 || std::string(argv[1]) != "launch")
    return argc;
  char **found = std::find_if(argv, end, [](const char *word) { return std::string(word) == "--"; });
  return found == end ? argc : static_cast<int>(std::rotate(found, found + 1, end) - argv);
}

/// Refuses line breaks in all words except prompts: in a name they could forge lines of messages, tables and generated texts.
ExitCode refuseLineBreaks(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    bool isPrompt = word.rfind("--prompt=", 0) == 0 || std::string(argv[i - 1]) == "--prompt";
    if (!isPrompt && word.find_first_of("\n\r") != std::string::npos)
      return fail(ExitCode::Usage, "'" + printableName(word) + "' contains a line break; names and values must not: rename the file");
  }
  return ExitCode::Good;
}

ExitCode drive(int argc, char **argv) {
  if (ExitCode code = refuseLineBreaks(argc, argv); code != ExitCode::Good)
    return code;
  CLI::App driver(introduction, "npar");
  driver.footer("Help of one command: npar train --help\nCompletion in bash, zsh or fish: npar completion --help\n\n" +
                std::string(exitCodeText));
  driver.formatter(std::make_shared<FirstLines>());
  driver.require_subcommand(0, 1);
  driver.allow_extras();
  driver.set_version_flag("--version", "npar " NPAR_VERSION);
  // Subcommands in the order and the groups of the help.
  std::vector<std::pair<const char *, Command>> commands = {
      {"Train", addTrainCommand(driver)},
      {"Train", addEvalCommand(driver)},
      {"Train", addGenerateCommand(driver)},
      {"Look", addInspectCommand(driver)},
      {"Look", addExplainCommand(driver)},
      {"Look", addScheduleCommand(driver)},
      {"Look", addCompileCommand(driver)},
      {"Look", addLspCommand(driver)},
      {"Check", addVerifyCommand(driver)},
      {"Check", addExplainCodeCommand(driver)},
      {"Check", addFmtCommand(driver)},
      {"Plan", addPlanCommand(driver)},
      {"Plan", addSimulateCommand(driver)},
      {"Plan", addSweepCommand(driver)},
      {"Data and weights", addDataCommand(driver)},
      {"Data and weights", addTokensCommand(driver)},
      {"Data and weights", addImportCommand(driver)},
      {"Data and weights", addExportCommand(driver)},
      {"Data and weights", addCheckpointCommand(driver)},
      {"Machines", addMachineCommand(driver)},
      {"Machines", addDevicesCommand(driver)},
      {"Machines", addDoctorCommand(driver)},
      {"Machines", addLaunchCommand(driver)},
      {"Machines", addAutopsyCommand(driver)},
      {"", addGuardCommand(driver)},
      {"", addCompletionCommand(driver)},
      {"", addManualCommand(driver)},
  };
  std::vector<std::string> names;
  for (const auto &[group, command] : commands) {
    command.app->allow_extras();
    command.app->footer(exitCodeText);
    command.app->group(group);
    if (command.app->get_group().empty()) // hidden commands are not suggested
      continue;
    names.push_back(command.app->get_name());
    names.insert(names.end(), command.app->get_aliases().begin(), command.app->get_aliases().end());
  }

  argc = withoutSeparator(argc, argv);
  Outcome<std::vector<std::string>> words = inTodaysSpelling(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), driver);
  if (!words.ok())
    return words.code();
  try {
    std::reverse(words->begin(), words->end()); // CLI11 takes the first word from the end
    driver.parse(*words);
  } catch (const CLI::Success &success) {
    driver.exit(success);
    return checkStandardOutput();
  } catch (const CLI::ParseError &error) {
    return fail(ExitCode::Usage, std::string(error.what()) + "\nnpar: see 'npar --help'");
  }

  if (engine::Status processor = engine::checkProcessor(); !processor.ok())
    return fail(ExitCode::RunFailed, processor.message());
  for (const auto &[group, command] : commands)
    if (command.app->parsed()) {
      const CLI::App &deepest = command.app->get_subcommands().empty() ? *command.app : *command.app->get_subcommands().front();
      if (command.takesRest)
        return command.run();
      if (command.app->remaining_size() != 0 || deepest.remaining_size() != 0)
        return refuseExtras(command.app->remaining_size() != 0 ? *command.app : deepest);
      ExitCode code = command.run(), arrived = checkStandardOutput();
      return code == ExitCode::Good ? arrived : code;
    }
  if (driver.remaining_size() == 0)
    return fail(ExitCode::Usage, "no subcommand given\nnpar: see 'npar --help'");
  std::string word = driver.remaining().front();
  std::string nearest = dsl::nearest(word, names);
  return fail(ExitCode::Usage, "unknown subcommand '" + word + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                                   "\nnpar: see 'npar --help'");
}

/// Opens substitutes for closed standard streams. Otherwise the next file opened would get a stream's number and receive printed output.
/// The substitutes fail on reads and writes, like closed streams.
void holdClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// Small freed blocks are joined with their neighbours at once. By default glibc keeps them apart and joins all of them whenever a large
/// block is freed, which compiling does often: `npar plan` takes 4 % longer.
void joinFreedBlocks() {
#ifdef __GLIBC__
  ::mallopt(M_MXFAST, 0);
#endif
}

/// Reports the current exception and returns its exit code.
int failThrown() {
  takeOver(); // in a job only this process knows of it
  sayErrors();
  return static_cast<int>(fail(engine::statusOfThrown()));
}

/// Handler for exceptions that leave a thread other than the first: ends the process with the same message. oneTBB throws from a worker
/// that cannot start the next one.
[[noreturn]] void endTerminated() {
  if (std::current_exception())
    ::_exit(failThrown());
  std::abort();
}

} // namespace
} // namespace npar::driver

/// Runs npar as the process's only task. Exported by libnpar_compiler for the installed program; no function for other hosts.
extern "C" int npar_driver_main(int argc, char **argv) {
  using namespace npar::driver;
  npar::engine::optionsAreMembers = false; // messages of this program speak of flags
  holdClosedStreams();
  joinFreedBlocks();
  if (!isGuarded(argc, argv))
    stopAtOnce(); // until a command installs its own handling
  PrintableStreams streams;
  std::signal(SIGXFSZ, SIG_IGN); // writing beyond `ulimit -f` becomes a write error
  std::set_terminate(endTerminated);
  try {
    return static_cast<int>(drive(argc, argv));
  } catch (...) {
    return failThrown();
  }
}
