// Runs front end and compiler, and converts their diagnostics into a status.
#include "tools/lib/models/Compilation.h"

#include "dsl/machine/Hosts.h"
#include "engine/program/HostPlacement.h"
#include "tools/lib/models/DiagnosticsJson.h"

#include <algorithm>
#include <sstream>

namespace npar::models {

using engine::Code;
using engine::Result;
using engine::Status;

namespace {

/// True if an error is a bug of npar: the compiler marks those with "internal error: ".
bool isInternal(const dsl::Diagnostics &diagnostics) {
  const std::vector<dsl::Diagnostic> &all = diagnostics.all();
  return std::any_of(all.begin(), all.end(), [](const dsl::Diagnostic &one) { return one.message.rfind("internal error: ", 0) == 0; });
}

std::string textOf(const dsl::Diagnostics &diagnostics) {
  std::ostringstream text;
  diagnostics.print(text);
  return text.str();
}

/// The errors as a status. If there are none, the observer gets the warnings.
Status errorsOf(const dsl::Diagnostics &diagnostics, const dsl::Sources &sources, engine::Observer &observer, bool withWarnings) {
  auto json = [&] { return diagnosticsJson(diagnostics, sources).dump(2, ' ', false, Json::error_handler_t::replace); };
  if (diagnostics.hasErrors())
    return Status::located(isInternal(diagnostics) ? Code::Internal : Code::BadInput, textOf(diagnostics), json());
  if (withWarnings && !diagnostics.all().empty()) {
    observer.warn(textOf(diagnostics));
    observer.diagnosed(json());
  }
  return {};
}

} // namespace

Result<dsl::Program> Compilation::elaborate(const SettingsList &settings, bool withWarnings) {
  dsl::FrontendOptions options = frontend;
  options.settings.insert(options.settings.end(), settings.begin(), settings.end());
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::Program> program = dsl::elaborate(options, sources, diagnostics);
  TRY_STATUS(errorsOf(diagnostics, sources, observer, withWarnings));
  if (!program)
    return Status::internal("internal error: the front end stopped without a message");
  return std::move(*program);
}

Result<std::string> Compilation::syntaxTree() {
  dsl::Diagnostics diagnostics(sources);
  std::ostringstream tree;
  bool good = dsl::printAst(frontend, sources, diagnostics, tree);
  TRY_STATUS(errorsOf(diagnostics, sources, observer, /*withWarnings=*/true));
  if (!good)
    return Status::internal("internal error: the parser stopped without a message");
  return tree.str();
}

Result<compiler::Compiled> Compilation::runCompiler(const dsl::Program &program, compiler::CompileOptions options, bool withWarnings) {
  options.kind = kind;
  options.movesWork = movesWork;
  dsl::Diagnostics diagnostics(sources);
  std::optional<compiler::Compiled> compiled;
  {
    engine::Activity compiling(observer, "compiling '" + frontend.file + "'");
    options.onPhase = [&](const std::string &name) { compiling.phase(name); };
    options.wantsToStop = [&] { return observer.wantsToStop(); };
    compiled = compiler::compile(program, sources, options, diagnostics);
  }
  if (observer.wantsToStop()) // before the errors: they may come from passes that were skipped
    return Status::stopped("the compilation");
  TRY_STATUS(errorsOf(diagnostics, sources, observer, withWarnings));
  if (!compiled)
    return Status::internal("internal error: the compiler stopped without a message");
  return std::move(*compiled);
}

Result<std::string> Compilation::print(const dsl::Program &program, const std::string &stage) {
  compiler::CompileOptions options;
  options.stopAfter = stage;
  TRY(compiler::Compiled compiled, runCompiler(program, options));
  return std::move(compiled.text);
}

Result<memory::SavedActivations> Compilation::saved(const dsl::Program &program) {
  compiler::CompileOptions options;
  options.stopAfter = "saved";
  TRY(compiler::Compiled compiled, runCompiler(program, options));
  return std::move(compiled.saved);
}

Result<ProgramPointer> Compilation::compile(const dsl::Program &program, bool withoutKernels, const std::vector<std::string> &targets,
                                            bool withWarnings) {
  compiler::CompileOptions options;
  options.targets = targets;
  options.withoutKernels = withoutKernels;
  TRY(compiler::Compiled compiled, runCompiler(program, options, withWarnings));
  return std::move(compiled.program);
}

Result<compiler::DraftProgram> Compilation::compileDraft(const dsl::Program &program) {
  compiler::CompileOptions options;
  options.asDraft = true;
  TRY(compiler::Compiled compiled, runCompiler(program, options, /*withWarnings=*/false));
  return std::move(compiled.draft);
}

Result<ProgramPointer> Compilation::compileUnrounded(const dsl::Program &program, const std::vector<int> &nodes) {
  compiler::CompileOptions options;
  options.unrounded = nodes;
  TRY(compiler::Compiled compiled, runCompiler(program, options, /*withWarnings=*/false));
  return std::move(compiled.program);
}

Result<ProgramPointer> Compilation::compileToGenerate(const dsl::Program &program, int64_t positions, bool withWarnings,
                                                      const std::vector<std::string> &targets) {
  compiler::CompileOptions options;
  options.targets = targets;
  options.positions = positions;
  TRY(compiler::Compiled compiled, runCompiler(program, options, withWarnings));
  return std::move(compiled.program);
}

Result<ElaboratedModel> elaborateModel(const ModelOptions &options, engine::Observer &observer, const SettingsList &settings,
                                       bool withWarnings) {
  TRY(dsl::FrontendOptions frontend, options.frontend());
  auto compilation = std::make_unique<Compilation>(std::move(frontend), observer, options.kind);
  compilation->movesWork = options.movesWork;
  TRY(dsl::Program program, compilation->elaborate(settings, withWarnings));
  if (options.place && program.machine && dsl::isUneven(*program.machine)) {
    Result<program::PlaceWords> words = program::readPlace(*options.place);
    if (!words.ok())
      return Status::usage(words.status().message());
    program.plan.place = dsl::HostOrder{words->order, words->inside, program.plan.location};
  }
  return ElaboratedModel{std::move(compilation), std::move(program)};
}

std::optional<dsl::Program> elaborateQuietly(const dsl::FrontendOptions &frontend, dsl::Sources &sources) {
  dsl::Diagnostics unsaid(sources);
  std::optional<dsl::Program> program = dsl::elaborate(frontend, sources, unsaid);
  return unsaid.hasErrors() ? std::nullopt : std::move(program);
}

} // namespace npar::models
