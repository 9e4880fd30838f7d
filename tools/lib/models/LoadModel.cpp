// Claims what a text or a compiled program names before it is used.
#include "tools/lib/models/LoadModel.h"

#include "dsl/Suggestions.h"

#include <filesystem>

namespace npar::models {

using engine::Result;
using engine::Status;

Status claimText(const ModelOptions &options, FileClaims &files) {
  TRY(dsl::FrontendOptions frontend, options.frontend());
  std::error_code error;
  if (!std::filesystem::is_regular_file(frontend.file, error)) // a pipe is read once
    return {};
  dsl::Sources sources;
  std::optional<dsl::Program> program = elaborateQuietly(frontend, sources);
  files.read(sources, program ? program->data : std::nullopt);
  return files.check();
}

/// Loads a compiled program and claims the files that it names.
static Result<ProgramPointer> loadCompiled(const ModelOptions &options, FileClaims &files, engine::Observer &observer) {
  TRY_STATUS(options.refuseTextFlags());
  files.read("the program '" + options.model + "'", options.model);
  TRY_STATUS(files.check());
  engine::Activity activity(observer, "checking '" + options.model + "'");
  TRY(ProgramPointer loaded, program::LoadedProgram::fromFile(options.model));
  files.read(loaded->root());
  TRY_STATUS(files.check());
  return loaded;
}

static std::string followingBatch(const dsl::Program &program) {
  const dsl::Plan &plan = program.plan;
  auto text = [](int64_t number) { return std::to_string(number); };
  return program.train.batchFollows ? "batch " + text(program.train.batch) + " = " + dsl::counted(plan.dataParallel, "rank") + " x " +
                                          text(plan.micro) + " x " + text(plan.microCount)
                                    : "";
}

Result<ProgramPointer> loadModel(const ModelOptions &options, FileClaims &files, engine::Observer &observer, bool withoutKernels,
                                 ModelOrigin *origin) {
  if (options.isCompiled())
    return loadCompiled(options, files, observer);
  TRY(ElaboratedModel text, elaborateModel(options, observer));
  files.read(text.compilation->texts(), text.program.data);
  if (origin)
    *origin = {text.compilation->texts(), text.program.model.constants, followingBatch(text.program)};
  TRY_STATUS(files.check());
  return text.compilation->compile(text.program, withoutKernels, options.targets);
}

} // namespace npar::models
