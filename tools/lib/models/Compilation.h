// Text to program in memory: through dsl and compiler. Errors have locations; warnings and progress go to a Observer.
#pragma once

#include "compiler/Compiler.h"
#include "dsl/Frontend.h"
#include "engine/program/Loader.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"

#include <memory>

namespace npar::models {

using program::ProgramPointer;

using SettingsList = std::vector<std::pair<std::string, std::string>>;

/// Reads and compiles one model text, and keeps the sources that messages point into. Errors are Status::located.
class Compilation {
public:
  Compilation(dsl::FrontendOptions options, engine::Observer &observer, program::ProgramKind kind = program::ProgramKind::Training)
      : frontend(std::move(options)), observer(observer), kind(kind) {}
  Compilation(const Compilation &) = delete;
  Compilation &operator=(const Compilation &) = delete;

  /// Reads and elaborates; `settings` come after those of the options and override them. `withWarnings`: false if the same text was
  /// elaborated before.
  engine::Result<dsl::Program> elaborate(const SettingsList &settings = {}, bool withWarnings = true);
  /// The syntax tree as text.
  engine::Result<std::string> syntaxTree();
  /// The text of a stage; see compiler::CompileOptions::stopAfter.
  engine::Result<std::string> print(const dsl::Program &program, const std::string &stage);
  /// Activations that the backward pass of a micro-batch needs from its forward pass.
  engine::Result<memory::SavedActivations> saved(const dsl::Program &program);
  /// The compiled program, verified, with scratch memory planned for this machine's library and kernels for this machine and `targets`.
  engine::Result<ProgramPointer> compile(const dsl::Program &program, bool withoutKernels = false,
                                         const std::vector<std::string> &targets = {}, bool withWarnings = true);
  /// A program without kernels that nothing verifies, for predictions. Warnings are dropped.
  engine::Result<compiler::DraftProgram> compileDraft(const dsl::Program &program);
  /// The same as `compile` for this processor, where the results of these nodes of the model, ascending, are not rounded to a 16-bit type.
  /// Warnings are dropped.
  engine::Result<ProgramPointer> compileUnrounded(const dsl::Program &program, const std::vector<int> &nodes);

  /// A generation program that computes `positions` per step; 0, or a text that does not allow that (a warning): the whole sequence.
  engine::Result<ProgramPointer> compileToGenerate(const dsl::Program &program, int64_t positions, bool withWarnings,
                                                   const std::vector<std::string> &targets = {});

  bool movesWork = true; ///< CompileOptions::movesWork

  /// The texts read so far, which the program's locations point into.
  const dsl::Sources &texts() const { return sources; }

private:
  engine::Result<compiler::Compiled> runCompiler(const dsl::Program &program, compiler::CompileOptions options, bool withWarnings = true);
  dsl::FrontendOptions frontend;
  engine::Observer &observer;
  program::ProgramKind kind;
  dsl::Sources sources;
};

/// A model text that was read and elaborated, with the compilation that holds the texts its locations point into.
struct ElaboratedModel {
  std::unique_ptr<Compilation> compilation;
  dsl::Program program;
};

engine::Result<ElaboratedModel> elaborateModel(const ModelOptions &options, engine::Observer &observer, const SettingsList &settings = {},
                                               bool withWarnings = true);

/// Elaborates a text without errors and warnings; nothing if it is wrong. `sources` gets the texts that were read.
std::optional<dsl::Program> elaborateQuietly(const dsl::FrontendOptions &frontend, dsl::Sources &sources);

} // namespace npar::models
