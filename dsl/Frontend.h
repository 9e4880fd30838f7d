// The front end's one entry: reads, parses, checks and elaborates a model with its train block and plan.
#pragma once

#include "dsl/NamedValue.h"
#include "dsl/Program.h"
#include "dsl/Schedules.h"
#include "dsl/SourceProvider.h"

#include <iosfwd>
#include <memory>

namespace npar::dsl {

namespace ast {
struct Plan; // dsl/Ast.h
struct Train;
} // namespace ast

/// The use of a program, which decides what its text must have.
enum class Purpose {
  Training,   ///< a loss and a train block
  Generation, ///< the same; a program takes the logits that the loss compares, of samples that are no batch of the training
  Evaluation, ///< a loss, metrics or outputs
  Outputs     ///< outputs; losses and metrics are left out, with the inputs that only they read
};

/// Tells whether a model must have a loss, and a train block.
constexpr bool needsLoss(Purpose purpose) { return purpose == Purpose::Training || purpose == Purpose::Generation; }

struct FrontendOptions {
  std::string file;                                          ///< path of the .npar text
  TextsPointer texts = nullptr;                              ///< where texts come from; null: as `Sources` say
  std::vector<std::string> librarySearch;                    ///< folders tried for `import`, after the importing file's own
  std::optional<std::string> plan;                           ///< name, or "none"; absent: the file's only plan
  std::optional<std::string> train;                          ///< name; absent: the model's only train block
  std::optional<std::string> config;                         ///< name; absent: the model's own defaults
  std::vector<std::pair<std::string, std::string>> settings; ///< `--set key=value`, in order
  std::optional<std::string> machine;                        ///< path of the text of a machine; absent: the reference machine
  int64_t devices = 0;                                       ///< of each host of `machine`, as takeDevices wants it; 0: all
  int64_t world = 0;                                         ///< ranks of a mesh with `rest` without a setting for it; 0: unknown
  KnownSchedules schedules;                                  ///< schedules that plans may name
  Purpose purpose = Purpose::Training;
  /// Prepares a comparison of two programs: optimizers ignore gradients that are only rounding (elaborateOptimizer), a machine without
  /// figures of float64 has those of float32, and an evaluation may have nothing to evaluate.
  bool damped = false;
  std::vector<NamedValue> *values = nullptr; ///< gets the meanings of the model's names, also if there are errors; may be null
};

/// Reads and elaborates. Returns nothing when `diagnostics` got errors. No input crashes it; it throws only what the standard
/// library throws, such as `std::bad_alloc`.
std::optional<Program> elaborate(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics);

/// Parses only and prints the syntax tree (`--emit=ast`). Returns false on errors.
bool printAst(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics, std::ostream &out);

/// Prints a plan or a train block as text that parses to the same tree.
void print(const ast::Plan &plan, std::ostream &out);
void print(const ast::Train &train, std::ostream &out);

} // namespace npar::dsl
