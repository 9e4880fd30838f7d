// Loads or compiles the model of a command.
#include "tools/npar/model/LoadModel.h"

#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"

#include <filesystem>

namespace npar::driver {

Outcome<ElaboratedModel> elaborateModel(const ModelOptions &options, const SettingsList &settings, bool withWarnings) {
  return reported(models::elaborateModel(options, terminal(), settings, withWarnings));
}

ExitCode claimText(const ModelOptions &options, FileClaims &files) {
  engine::Result<dsl::FrontendOptions> frontend = options.frontend();
  if (!frontend.ok())
    return fail(frontend.status());
  std::error_code error;
  if (!std::filesystem::is_regular_file(frontend->file, error)) // a pipe is read once
    return ExitCode::Good;
  dsl::Sources sources;
  std::optional<dsl::Program> program = models::elaborateQuietly(*frontend, sources);
  files.read(sources, program ? program->data : std::nullopt);
  return files.check();
}

/// Loads a compiled program and claims the files that it names.
static Outcome<ProgramPointer> loadCompiled(const ModelOptions &options, FileClaims &files) {
  if (engine::Status refused = options.refuseTextFlags(); !refused.ok())
    return fail(refused);
  files.read("the program '" + options.model + "'", options.model);
  if (ExitCode code = files.check(); code != ExitCode::Good)
    return code;
  Waiting waiting("checking '" + options.model + "'");
  engine::Result<ProgramPointer> loaded = program::LoadedProgram::fromFile(options.model);
  if (!loaded.ok())
    return fail(loaded.status());
  files.read((*loaded)->root());
  if (ExitCode code = files.check(); code != ExitCode::Good)
    return code;
  return std::move(*loaded);
}

Outcome<ProgramPointer> loadModel(const ModelOptions &options, FileClaims &files, bool withoutKernels, ModelOrigin *origin) {
  if (options.isCompiled())
    return loadCompiled(options, files);
  Outcome<ElaboratedModel> text = elaborateModel(options);
  if (!text.ok())
    return text.code();
  files.read(text->compilation->texts(), text->program.data);
  if (origin)
    *origin = {text->compilation->texts(), text->program.model.constants};
  if (ExitCode code = files.check(); code != ExitCode::Good)
    return code;
  return reported(text->compilation->compile(text->program, withoutKernels, options.targets));
}

} // namespace npar::driver
