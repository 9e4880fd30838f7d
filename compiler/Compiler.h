// The compiler's front door: an elaborated program in, one compiled program or the text of a stage out.
#pragma once

#include "compiler/memory/SavedActivations.h"
#include "dsl/Program.h"
#include "engine/program/Loader.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::compiler {

struct CompileOptions {
  /// What the program is for; only Training has a backward and an update.
  program::ProgramKind kind = program::ProgramKind::Training;
  /// Of a program that generates: positions that it computes at a time, with what attention looks back at kept from step to step
  /// (engine/program/Kept.h). 0: the whole sequence, and nothing is kept. A model whose text does not allow it is warned of and compiled
  /// so.
  int64_t positions = 0;
  /// Stop after a stage and return its text: "nn", "grad", "dist", "pipe" or "rank"; empty: go through.
  /// "saved": account for the saved activations instead.
  std::string stopAfter;
  /// Leave the generated kernels out (inspect, planning on paper): such a program runs on the null backend only.
  bool withoutKernels = false;
  /// Devices that kernels are generated for besides this processor, of `deviceTargets`.
  std::vector<std::string> targets;
  /// Nodes of the model, ascending, whose results are not rounded to a 16-bit type that the plan computes in: what `npar verify` measures.
  std::vector<int> unrounded;
  /// Told what begins: a pass by its name, such as "place-insert-reshards", or the number of a kernel; null: nobody is.
  std::function<void(const std::string &)> onPhase;
};

/// `program` is verified, and its `data()` is what a .npx file holds.
struct Compiled {
  std::string text;                                      ///< of the stage, when stopAfter is set
  SavedActivations saved;                                ///< when stopAfter is "saved"
  std::shared_ptr<const program::LoadedProgram> program; ///< otherwise
};

/// The devices that there is code for: "cuda:sm_90" and so on, the backend that loads it and the oldest device that runs it.
std::vector<std::string> deviceTargets();

/// Compiles. Errors are reported through `diagnostics`, at the user's text where they come from it; then nothing is returned.
std::optional<Compiled> compile(const dsl::Program &program, const dsl::Sources &sources, const CompileOptions &options,
                                dsl::Diagnostics &diagnostics);

} // namespace npar::compiler
