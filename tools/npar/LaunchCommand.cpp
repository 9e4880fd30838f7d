// `npar launch`: starts a command of npar in several processes, for people without a launcher of their own.
#include "tools/npar/Command.h"

#include "tools/npar/job/MpiLaunch.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>

namespace npar::driver {
namespace {

ExitCode runLaunch(LaunchRequest request, std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--")
    words.erase(words.begin());
  static const std::vector<std::string> commands = {"train", "run", "eval", "verify"};
  if (words.empty())
    return fail(ExitCode::Usage, "nothing to launch: give a command, as in npar launch -n 4 train gpt2 ...");
  if (std::find(commands.begin(), commands.end(), words.front()) == commands.end())
    return fail(ExitCode::Usage, "'" + words.front() + "' cannot run in several processes: train, eval and verify can");
  request.command = std::move(words);
  return launch(request);
}

} // namespace

Command addLaunchCommand(CLI::App &driver) {
  auto request = std::make_shared<LaunchRequest>();
  CLI::App *app = driver.add_subcommand(
      "launch", "train, eval or verify in several processes, over MPI\n\n"
                "Example:\n"
                "  npar launch -n 4 train gpt2 --set mesh.dp=4 --data book.txt --tokens bytes\n"
                "\n"
                "This calls mpiexec of an MPI that npar was built for. Any launcher of that MPI, or srun, works as well.\n");
  app->add_option("-n,--processes", request->processes, "number of processes; each gets an equal share of the plan's ranks")
      ->type_name("N")
      ->check(wholeNumber(1, 65536))
      ->required();
  app->add_option("--mpi", request->mpi, "MPI library: mpich or openmpi (default: the first one found)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"mpich", "openmpi"}));
  app->add_option("--host-list", request->hosts, "machines to start them on, in the form that mpiexec takes (default: this one)")
      ->type_name("A,B")
      ->check(notEmpty());
  app->prefix_command();
  return {app, [request, app] { return runLaunch(*request, app->remaining()); }, /*takesRest=*/true};
}

} // namespace npar::driver
