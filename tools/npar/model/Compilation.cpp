// Runs front end and compiler, or the loader, and prints what they report.
#include "tools/npar/model/Compilation.h"

#include "dsl/machine/Hosts.h"
#include "engine/program/HostPlacement.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace npar::driver {

Outcome<dsl::Program> Compilation::elaborate(const SettingsList &settings, bool withWarnings) {
  dsl::FrontendOptions options = frontend;
  options.settings.insert(options.settings.end(), settings.begin(), settings.end());
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::Program> program = dsl::elaborate(options, sources, diagnostics);
  if (speaks() && (withWarnings || diagnostics.hasErrors())) // of a job all processes read the same text
    diagnostics.print(std::cerr);
  if (!program || diagnostics.hasErrors())
    return ExitCode::BadInput;
  return std::move(*program);
}

ExitCode Compilation::printSyntaxTree() {
  dsl::Diagnostics diagnostics(sources);
  bool good = dsl::printAst(frontend, sources, diagnostics, std::cout);
  diagnostics.print(std::cerr);
  return good ? ExitCode::Good : ExitCode::BadInput;
}

/// Whether what went wrong is a bug of npar and not the user's: the compiler's messages say so in their first words.
static bool isInternal(const dsl::Diagnostics &diagnostics) {
  const std::vector<dsl::Diagnostic> &all = diagnostics.all();
  return std::any_of(all.begin(), all.end(), [](const dsl::Diagnostic &one) { return one.message.rfind("internal error: ", 0) == 0; });
}

Outcome<compiler::Compiled> Compilation::runCompiler(const dsl::Program &program, compiler::CompileOptions options, bool withWarnings) {
  options.kind = kind;
  dsl::Diagnostics diagnostics(sources);
  std::optional<compiler::Compiled> compiled;
  {
    Waiting waiting("compiling '" + frontend.file + "'");
    options.onPhase = [&](const std::string &name) { waiting.phase(name); };
    compiled = compiler::compile(program, sources, options, diagnostics);
  }
  if (withWarnings || diagnostics.hasErrors())
    diagnostics.print(std::cerr);
  if (!compiled && !diagnostics.hasErrors())
    return fail(ExitCode::Internal, "internal error: the compiler stopped without a message");
  if (!compiled || diagnostics.hasErrors())
    return isInternal(diagnostics) ? ExitCode::Internal : ExitCode::BadInput;
  return std::move(*compiled);
}

Outcome<std::string> Compilation::print(const dsl::Program &program, const std::string &stage) {
  compiler::CompileOptions options;
  options.stopAfter = stage;
  Outcome<compiler::Compiled> compiled = runCompiler(program, options);
  if (!compiled.ok())
    return compiled.code();
  return std::move(compiled->text);
}

Outcome<compiler::SavedActivations> Compilation::saved(const dsl::Program &program) {
  compiler::CompileOptions options;
  options.stopAfter = "saved";
  Outcome<compiler::Compiled> compiled = runCompiler(program, options);
  if (!compiled.ok())
    return compiled.code();
  return std::move(compiled->saved);
}

Outcome<ProgramPointer> Compilation::compile(const dsl::Program &program, bool withoutKernels, const std::vector<std::string> &targets,
                                             bool withWarnings) {
  compiler::CompileOptions options;
  options.targets = targets;
  options.withoutKernels = withoutKernels;
  Outcome<compiler::Compiled> compiled = runCompiler(program, options, withWarnings);
  if (!compiled.ok())
    return compiled.code();
  return std::move(compiled->program);
}

Outcome<ProgramPointer> Compilation::compileUnrounded(const dsl::Program &program, const std::vector<int> &nodes) {
  compiler::CompileOptions options;
  options.unrounded = nodes;
  Outcome<compiler::Compiled> compiled = runCompiler(program, options, /*withWarnings=*/false);
  if (!compiled.ok())
    return compiled.code();
  return std::move(compiled->program);
}

Outcome<ProgramPointer> Compilation::compileToGenerate(const dsl::Program &program, int64_t positions, bool withWarnings,
                                                       const std::vector<std::string> &targets) {
  compiler::CompileOptions options;
  options.targets = targets;
  options.positions = positions;
  Outcome<compiler::Compiled> compiled = runCompiler(program, options, withWarnings);
  if (!compiled.ok())
    return compiled.code();
  return std::move(compiled->program);
}

Outcome<ElaboratedModel> elaborateModel(const ModelOptions &options, const SettingsList &settings, bool withWarnings) {
  Outcome<dsl::FrontendOptions> frontend = options.frontend();
  if (!frontend.ok())
    return frontend.code();
  auto compilation = std::make_unique<Compilation>(std::move(*frontend), options.kind);
  Outcome<dsl::Program> program = compilation->elaborate(settings, withWarnings);
  if (!program.ok())
    return program.code();
  if (options.place && program->machine && dsl::isUneven(*program->machine)) {
    engine::Result<program::PlaceWords> words = program::readPlace(*options.place);
    if (!words.ok())
      return fail(ExitCode::Usage, words.status().message());
    program->plan.place = dsl::HostOrder{words->order, words->inside, program->plan.location};
  }
  return ElaboratedModel{std::move(compilation), std::move(*program)};
}

std::optional<dsl::Program> elaborateQuietly(const dsl::FrontendOptions &frontend, dsl::Sources &sources) {
  dsl::Diagnostics unsaid(sources);
  std::optional<dsl::Program> program = dsl::elaborate(frontend, sources, unsaid);
  return unsaid.hasErrors() ? std::nullopt : std::move(program);
}

ExitCode claimText(const ModelOptions &options, FileClaims &files) {
  Outcome<dsl::FrontendOptions> frontend = options.frontend();
  if (!frontend.ok())
    return frontend.code();
  std::error_code error;
  if (!std::filesystem::is_regular_file(frontend->file, error)) // a pipe is read once
    return ExitCode::Good;
  dsl::Sources sources;
  std::optional<dsl::Program> program = elaborateQuietly(*frontend, sources);
  files.read(sources, program ? program->data : std::nullopt);
  return files.check();
}

Outcome<ProgramPointer> loadModel(const ModelOptions &options, FileClaims &files, bool withoutKernels, ModelOrigin *origin) {
  if (options.isCompiled()) {
    if (ExitCode code = options.refuseTextFlags(); code != ExitCode::Good)
      return code;
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
  Outcome<ElaboratedModel> text = elaborateModel(options);
  if (!text.ok())
    return text.code();
  files.read(text->compilation->texts(), text->program.data);
  if (origin)
    *origin = {text->compilation->texts(), text->program.model.constants};
  if (ExitCode code = files.check(); code != ExitCode::Good)
    return code;
  return text->compilation->compile(text->program, withoutKernels, options.targets);
}

} // namespace npar::driver
