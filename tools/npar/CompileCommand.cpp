// `npar compile`: a model text and a plan in, a compiled program (.npx) or the text of a stage out.
#include "tools/npar/Command.h"

#include "engine/files/AtomicFile.h"
#include "engine/files/PendingFile.h"
#include "engine/program/PrintProgram.h"
#include "engine/program/Ranks.h"
#include "tools/lib/models/DeviceTargets.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {
namespace {

struct CompileFlags {
  ModelOptions model;
  std::string output, emit;
  std::optional<int64_t> rank;
};

ExitCode emitRank(const program::Program &program, int64_t rank) {
  int64_t world = program::worldOf(program);
  if (rank < 0 || rank >= world)
    return fail(ExitCode::Usage, fmt::format("--rank {} is out of range: the plan has {} ranks (0 to {})", rank, world, world - 1));
  std::cout << program::printRank(program, rank);
  return ExitCode::Good;
}

ExitCode writeProgram(const CompileFlags &flags, Compilation &compilation, const dsl::Program &program) {
  std::string path = flags.output.empty() ? std::filesystem::path(flags.model.model).stem().string() + ".npx" : flags.output;
  FileClaims files;
  files.write(flags.output.empty() ? "the program's file" : "-o", path);
  files.read(compilation.texts(), program.data);
  if (ExitCode code = reported(files.check()); code != ExitCode::Good)
    return code;
  if (engine::Status status = files::checkWritable(path); !status.ok()) // before minutes are spent on it
    return fail(status);
  Outcome<ProgramPointer> compiled = reported(compilation.compile(program, /*withoutKernels=*/false, flags.model.targets));
  if (!compiled.ok())
    return compiled.code();
  const std::vector<uint8_t> &bytes = (*compiled)->data();
  if (engine::Status status = files::writeFileAtomically(path, bytes.data(), bytes.size()); !status.ok())
    return fail(status);
  printRemark(fmt::format("wrote '{}' ({} bytes)", path, bytes.size()));
  return ExitCode::Good;
}

ExitCode runCompile(const CompileFlags &flags) {
  if (flags.rank && flags.emit != "rank")
    return fail(ExitCode::Usage, "--rank needs --emit=rank");
  if (!flags.output.empty() && !flags.emit.empty())
    return fail(ExitCode::Usage, "-o cannot be used with --emit, which prints the stage to standard output");
  if (!flags.model.targets.empty() && !flags.emit.empty())
    return fail(ExitCode::Usage, "--target cannot be used with --emit: stages are the same for every device");
  if (engine::Status status = models::checkTargets(flags.model.targets); !status.ok())
    return fail(status);
  if (flags.model.isCompiled()) {
    if (flags.emit != "rank")
      return fail(ExitCode::Usage, "'" + flags.model.model +
                                       "' is already compiled: --emit=rank prints all classes of "
                                       "ranks, and --emit=rank --rank N one rank");
    FileClaims files;
    Outcome<ProgramPointer> loaded = loadModel(flags.model, files);
    if (!loaded.ok())
      return loaded.code();
    if (flags.rank)
      return emitRank((*loaded)->root(), *flags.rank);
    std::cout << program::printProgram((*loaded)->root());
    return ExitCode::Good;
  }
  Outcome<dsl::FrontendOptions> frontend = reported(flags.model.frontend());
  if (!frontend.ok())
    return frontend.code();
  Compilation compilation(std::move(*frontend), terminal(), flags.model.kind);
  if (flags.emit == "ast" && (flags.model.hasTextFlags() || flags.model.kind != program::ProgramKind::Training))
    return fail(ExitCode::Usage, "--emit=ast prints the unchanged text: --for, --plan, --train, --config, --machine and --set have "
                                 "no effect");
  if (flags.emit == "ast") {
    Outcome<std::string> tree = reported(compilation.syntaxTree());
    if (!tree.ok())
      return tree.code();
    std::cout << *tree;
    return ExitCode::Good;
  }
  Outcome<dsl::Program> program = reported(compilation.elaborate());
  if (!program.ok())
    return program.code();
  if (flags.emit.empty())
    return writeProgram(flags, compilation, *program);
  if (flags.rank) {
    Outcome<ProgramPointer> compiled = reported(compilation.compile(*program, /*withoutKernels=*/true));
    return compiled.ok() ? emitRank((*compiled)->root(), *flags.rank) : compiled.code();
  }
  Outcome<std::string> text = reported(compilation.print(*program, flags.emit));
  if (!text.ok())
    return text.code();
  std::cout << *text;
  return ExitCode::Good;
}

} // namespace

Command addCompileCommand(CLI::App &driver) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App *app = driver.add_subcommand("compile", "compile a model under a plan\n\n"
                                                   "Example:\n"
                                                   "  npar compile gpt2 --set mesh.tp=4 --emit=dist | less\n");
  addModelFlags(*app, flags->model);
  addWorldFlag(*app, flags->model);
  addAccumulateFlag(*app, flags->model);
  addKindFlag(*app, flags->model);
  addMachineTo(*app, flags->model);
  app->add_option("-o,--output", flags->output, "file for the compiled program (default: the model's name with .npx)")
      ->type_name("FILE.npx")
      ->check(notEmpty());
  app->add_option("--emit", flags->emit, "print this stage of the compilation instead: ast, nn, grad, dist, pipe or rank")
      ->type_name("STAGE")
      ->check(CLI::IsMember({"ast", "nn", "grad", "dist", "pipe", "rank"}));
  app->add_option("--rank", flags->rank, "with --emit=rank: print the program of one rank, with its coordinates and peers")
      ->type_name("N")
      ->check(wholeNumber(0, int64_t{1} << 40));
  app->add_option("--target", flags->model.targets, "devices to compile kernels for in addition to this CPU, separated by commas")
      ->type_name("DEVICE")
      ->delimiter(',');
  return {app, [flags] {
            ExitCode code = findMachine(flags->model);
            return code == ExitCode::Good ? runCompile(*flags) : code;
          }};
}

} // namespace npar::driver
