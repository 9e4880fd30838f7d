// The compiler's front door: an elaborated program in, one compiled program or the text of a stage out.
#pragma once

#include "compiler/PlacedValues.h"
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
  /// What the compiled program is for. Only Training has a backward pass and an update.
  program::ProgramKind kind = program::ProgramKind::Training;
  /// Number of positions that a generation program computes per step; keys and values of earlier positions are then cached across steps
  /// (engine/program/Kept.h). 0: compute the whole sequence at every step, without a cache. If the model does not allow a cache, the
  /// compiler warns and compiles as for 0.
  int64_t positions = 0;
  /// Stop after a stage and return its text: "nn", "grad", "dist", "pipe" or "rank"; empty: go through.
  /// "saved": account for the saved activations instead.
  std::string stopAfter;
  /// Leave the generated kernels out (inspect, planning on paper): such a program runs on the null backend only.
  bool withoutKernels = false;
  /// Compile a draft for predictions alone: without kernels, and without verifying the program after each pass and at the end.
  bool asDraft = false;
  /// Move independent work between each collective and the first use of its result (memory/OverlapCollectives.h). False: to predict
  /// programs that do not.
  bool movesWork = true;
  /// Devices, from `deviceTargets`, for which kernels are generated in addition to this processor.
  std::vector<std::string> targets;
  /// Nodes of the model, in ascending order, whose results are not rounded to the 16-bit type of the plan; `npar verify` measures them.
  std::vector<int> unrounded;
  /// Gets the layouts of the forward pass's values, also if a later phase fails; may be null.
  std::vector<PlacedValue> *placed = nullptr;
  /// Called when a phase begins, with a pass name such as "place-insert-reshards" or a kernel number; may be null.
  std::function<void(const std::string &)> onPhase;
  /// Asked between passes, phases and kernels; true ends the compilation without a program. Errors that it reports after that are
  /// meaningless. May be null.
  std::function<bool()> wantsToStop;
};

/// A compiled program that nothing has verified. Predictions read its figures; no session runs it and no file holds it.
struct DraftProgram {
  flatbuffers::DetachedBuffer bytes;
  const program::Program &root() const { return *program::GetProgram(bytes.data()); }
};

/// `program` is verified, and its `data()` is what a .npx file holds.
struct Compiled {
  std::string text;                                      ///< text of the stage at which `stopAfter` stopped
  memory::SavedActivations saved;                        ///< set if `stopAfter` is "saved"
  DraftProgram draft;                                    ///< set if `asDraft`
  std::shared_ptr<const program::LoadedProgram> program; ///< set otherwise
};

/// The devices that there is code for: "cuda:sm_90" and so on, the backend that loads it and the oldest device that runs it.
std::vector<std::string> deviceTargets();

/// Compiles. Errors are reported through `diagnostics`, at the user's text where they come from it; then nothing is returned.
std::optional<Compiled> compile(const dsl::Program &program, const dsl::Sources &sources, const CompileOptions &options,
                                dsl::Diagnostics &diagnostics);

} // namespace npar::compiler
