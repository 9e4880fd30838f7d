// Text to program in memory: the driver's path through dsl and compiler, or through the program loader, with messages printed.
#pragma once

#include "compiler/Compiler.h"
#include "dsl/Frontend.h"
#include "engine/program/Loader.h"
#include "tools/npar/files/FileClaims.h"
#include "tools/npar/model/ModelOptions.h"
#include "tools/npar/terminal/Outcome.h"

#include <memory>

namespace npar::driver {

using ProgramPointer = std::shared_ptr<const program::LoadedProgram>;

using SettingsList = std::vector<std::pair<std::string, std::string>>;

/// One model text on its way: keeps the sources that messages point into. Errors are printed on stderr where they happen.
class Compilation {
public:
  explicit Compilation(dsl::FrontendOptions options, program::ProgramKind kind = program::ProgramKind::Training)
      : frontend(std::move(options)), kind(kind) {}
  Compilation(const Compilation &) = delete;
  Compilation &operator=(const Compilation &) = delete;

  /// Reads and elaborates; `settings` are added after those of the command line and win. Warnings can be left out where they were printed.
  Outcome<dsl::Program> elaborate(const SettingsList &settings = {}, bool withWarnings = true);
  /// Prints the syntax tree to stdout.
  ExitCode printSyntaxTree();
  /// The text of a stage; see compiler::CompileOptions::stopAfter.
  Outcome<std::string> print(const dsl::Program &program, const std::string &stage);
  /// What the backward of a micro-batch keeps of the forward.
  Outcome<compiler::SavedActivations> saved(const dsl::Program &program);
  /// The compiled program, verified, with scratch memory planned for this machine's library and kernels for this machine and `targets`.
  Outcome<ProgramPointer> compile(const dsl::Program &program, bool withoutKernels = false, const std::vector<std::string> &targets = {},
                                  bool withWarnings = true);
  /// The same for this processor, where the results of these nodes of the model, ascending, are not rounded to a 16-bit type. Without
  /// warnings.
  Outcome<ProgramPointer> compileUnrounded(const dsl::Program &program, const std::vector<int> &nodes);

  /// A program that generates, so many positions at a time, or the whole sequence (0, or where the text does not allow it, which is a
  /// warning).
  Outcome<ProgramPointer> compileToGenerate(const dsl::Program &program, int64_t positions, bool withWarnings,
                                            const std::vector<std::string> &targets = {});

  /// The texts read so far, which the program's locations point into.
  const dsl::Sources &texts() const { return sources; }

private:
  Outcome<compiler::Compiled> runCompiler(const dsl::Program &program, compiler::CompileOptions options, bool withWarnings = true);
  dsl::FrontendOptions frontend;
  program::ProgramKind kind;
  dsl::Sources sources;
};

/// A model text that was read and elaborated, with the compilation that holds the texts its locations point into.
struct ElaboratedModel {
  std::unique_ptr<Compilation> compilation;
  dsl::Program program;
};

Outcome<ElaboratedModel> elaborateModel(const ModelOptions &options, const SettingsList &settings = {}, bool withWarnings = true);

/// The texts that a program was made of, and what its model's settings may be. Empty for a compiled program.
struct ModelOrigin {
  std::optional<dsl::Sources> texts;
  std::vector<std::string> constants; ///< names of the model's own
};

/// Elaborates a text without printing anything; nothing if it is wrong. `sources` gets the texts that were read.
std::optional<dsl::Program> elaborateQuietly(const dsl::FrontendOptions &frontend, dsl::Sources &sources);

/// Claims the files that a text reads and names, and checks the claims, for a command that elaborates the text later. Errors of the text
/// are reported then, not here.
ExitCode claimText(const ModelOptions &options, FileClaims &files);

/// Loads a .npx file, or compiles a text in memory. All files that it reads are claimed in `files`, which are checked before the compiler
/// runs: only the texts themselves say what they import. `origin` (may be null) gets what a text was read from.
Outcome<ProgramPointer> loadModel(const ModelOptions &options, FileClaims &files, bool withoutKernels = false,
                                  ModelOrigin *origin = nullptr);

} // namespace npar::driver
