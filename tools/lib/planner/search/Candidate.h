// One plan that `npar plan` may choose: sizes and clauses, and its text.
#pragma once

#include "dsl/Program.h"
#include "dsl/machine/Machine.h"
#include "tools/lib/foreign/ForeignFile.h"
#include "tools/lib/models/ModelOptions.h"
#include "tools/lib/verify/ModelOutline.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace npar::planner {

using models::ModelOptions;

struct Candidate {
  int64_t dp = 1, pp = 1, cp = 1, tp = 1, micro = 1;
  std::string schedule = "none"; ///< "none" where pp is 1
  int64_t chunks = 1, live = 0;  ///< live: 0 where the plan says none
  std::string context = "none";  ///< how attention sees the sequence that cp splits: ring, zigzag, gather, ulysses
  std::string recompute = "none", place = "dp,pp", bucket = "none";
  /// The layers that tp splits: "all"; "blocks": the vocabulary is whole; "vocabulary": the blocks have shares of the batch instead;
  /// "feedforward" or "attention": these and the vocabulary, the other layers of the blocks have shares of the batch.
  std::string split = "all";
  int zero = 0; ///< stage of ZeRO
  bool sequence = false;

  int64_t ranks() const { return dp * pp * cp * tp; }
  int64_t batchShares() const { return dp * (split == "vocabulary" ? tp : 1); }
  bool recomputes() const { return recompute != "none"; }
};

/// The feature of the table for a word of `Candidate::split`.
const char *splitFeature(const std::string &split);

/// Tells whether its schedule computes the weights' gradients in tasks of their own.
bool splitsBackward(const Candidate &candidate);

using Choices = std::vector<std::pair<std::string, std::string>>;

/// What a candidate chooses, one word each: a key as `--fix` has it, and a value. `mesh.dp`, `mesh.pp`, `mesh.cp`, `mesh.tp`, `micro`,
/// `schedule`, `chunks`, `live`, `context`, `recompute`, `zero`, `sequence`, `split`, `place`, `bucket`.
Choices choicesOf(const Candidate &candidate);
/// Tells whether two values of a choice are the same apart from spaces.
bool isSameValue(const std::string &a, const std::string &b);
/// "dp = 8, pp = 16, tp = 8, micro 1, 1f1b, recompute block"
std::string nameOf(const Candidate &candidate);

/// A setting is one line of a plan; it may have several keys of `choicesOf`.
enum class Setting { Mesh, Micro, Schedule, Context, Recompute, Zero, Sequence, Split, Place, Bucket };
constexpr int settingCount = 10;
/// A setting of a candidate in words: "dp = 8, pp = 16, tp = 8", "micro 2", "interleaved(4)", "no recomputation".
std::string wordsOf(const Candidate &candidate, Setting setting);
bool same(const Candidate &a, const Candidate &b, Setting setting);
/// The number of settings that differ.
int distance(const Candidate &a, const Candidate &b);
/// The number of doublings from one mesh to the other, over all axes.
double meshSteps(const Candidate &a, const Candidate &b);
/// The keys of `--fix` that make a setting.
std::vector<std::string> keysOf(Setting setting);

/// The model, the machine and the training that a plan is searched for.
struct PlanTask {
  ModelOptions options; ///< of the model alone: no plan, no batch
  verify::ModelOutline names;
  dsl::Machine machine;
  dsl::Train train;
  std::vector<std::string> rules; ///< of its parameters, as text
  std::string compute = "f32";
  std::string gradients, reduce; ///< their types; empty: as `compute` has it
  int64_t hosts = 1, batch = 1;
  int64_t blocks = 0, parameters = 0, blockMatrices = 0;                  ///< elements; of matrices in the repeated blocks
  double blockProducts = 0;                                               ///< multiplyAddsOfBlocks
  int64_t sequence = 1, width = 0, hidden = 0, heads = 0, vocabulary = 0; ///< sizes of axes; 0: the model has none
  std::string importAs;                                                   ///< how a text next to the model's folder imports it
  std::optional<foreign::ForeignFormat> as;                               ///< the program that has to have words for each plan

  int64_t ranks() const; ///< that the hosts hold
};

/// The whole text: import, configuration, plan, train block.
std::string textOf(const PlanTask &task, const Candidate &candidate);

} // namespace npar::planner
