// One plan that `npar plan` may choose: sizes and clauses, and its text.
#pragma once

#include "compiler/schedules/Schedule.h"
#include "dsl/Program.h"
#include "dsl/format/ModelText.h"
#include "dsl/machine/Machine.h"
#include "engine/program/Elements.h"
#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"
#include "tools/lib/planner/search/OwnAxes.h"
#include "tools/lib/planner/search/RoutedExperts.h"
#include "tools/lib/verify/ModelOutline.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace npar::foreign {
class ForeignProgram;
}

namespace npar::planner {

using models::ModelOptions;

/// The way in which attention sees the whole of a sequence that cp splits.
enum class Context { None, Zigzag, Ring, Gather, Ulysses };

/// The parts that tp splits. All: every layer; Blocks: the vocabulary is whole; Vocabulary: the blocks have shares of the batch instead;
/// FeedForward, Attention: these layers and the vocabulary, the other layers of the blocks have shares of the batch; OwnAxis: an axis of
/// the model's own where an operation has it, elsewhere as All.
enum class SplitKind { All, Blocks, FeedForward, Attention, Vocabulary, OwnAxis };

struct Split {
  SplitKind kind = SplitKind::All;
  std::string axis; ///< OwnAxis
  bool operator==(const Split &other) const { return kind == other.kind && axis == other.axis; }
  bool operator!=(const Split &other) const { return !(*this == other); }
};

/// The order in which ranks fill hosts. Mesh: that of the mesh; StagesApart: stages first, so that a stage's replicas share hosts;
/// TensorApart: the ranks of tp first, on different hosts.
enum class PlaceOrder { Mesh, StagesApart, TensorApart };

/// The blocks that the backward pass computes again.
struct RecomputedBlocks {
  dsl::RecomputeKind kind = dsl::RecomputeKind::None; ///< None, Block or Every
  int64_t every = 1;                                  ///< Every: blocks between two kept ones
  bool operator==(const RecomputedBlocks &other) const { return kind == other.kind && every == other.every; }
  bool operator!=(const RecomputedBlocks &other) const { return !(*this == other); }
};

struct Candidate {
  int64_t dp = 1, pp = 1, cp = 1, tp = 1, micro = 1;
  int64_t ep = 1;                                    ///< ranks that share the experts, among the `dp` with samples of their own
  const schedules::ScheduleKind *schedule = nullptr; ///< null where pp is 1
  int64_t chunks = 1, live = 0;                      ///< live: 0 where the plan says none
  Context context = Context::None;
  RecomputedBlocks recompute;
  PlaceOrder place = PlaceOrder::Mesh;
  int64_t bucket = 0; ///< bytes; 0: none
  Split split;
  int zero = 0; ///< stage of ZeRO
  bool sequence = false;
  double buffer = 0; ///< rows for experts, as a multiple of a balanced load's; 0: for the worst case

  int64_t ranks() const { return dp * pp * cp * tp; }
  int64_t batchShares() const { return dp * (split.kind == SplitKind::Vocabulary ? tp : 1); }
  bool recomputes() const { return recompute.kind != dsl::RecomputeKind::None; }
  /// Tells whether the blocks' layers other than those that tp splits have shares of its part of the batch.
  bool splitsLayersAlone() const { return split.kind == SplitKind::FeedForward || split.kind == SplitKind::Attention; }
  /// Tells whether the schedule's name is enough: a plan writes no number of chunks after it.
  bool hasOwnChunks() const { return !schedule || !schedule->anyChunks || schedule->keepsCap; }
  /// Tells whether the schedule computes the weights' gradients in tasks of their own.
  bool splitsBackward() const { return schedule && schedule->splitsBackward; }
};

constexpr RecomputedBlocks everyBlock = {dsl::RecomputeKind::Block, 1}, everySecond = {dsl::RecomputeKind::Every, 2};
constexpr int64_t usualBucket = 100'000'000; ///< bytes of the buckets that are tried

// The words of choices, as `--fix` and JSON have them: "zigzag", "all", the name of an own axis, "pp,dp", "every 2", "100 MB"; "none" where
// there is none.
const char *wordOf(Context context);
std::string wordOf(const Split &split);
const char *wordOf(PlaceOrder order);
std::string wordOf(const RecomputedBlocks &recompute);
std::string bucketWord(int64_t bytes);
std::string bufferWord(double buffer);
std::string scheduleWord(const Candidate &candidate);

/// The feature of the table for a split; null for an own axis, which has none.
const char *splitFeature(SplitKind split);

using Choices = std::vector<std::pair<std::string, std::string>>;

/// What a candidate chooses, one word each: a key as `--fix` has it, and a value. `mesh.dp` (without the ranks of `mesh.ep`), `mesh.pp`,
/// `mesh.ep`, `mesh.cp`, `mesh.tp`, `micro`, `schedule`, `chunks`, `live`, `context`, `recompute`, `zero`, `sequence`, `split`, `place`,
/// `bucket`, `buffer`.
Choices choicesOf(const Candidate &candidate);
/// Tells whether two values of a choice are the same apart from spaces.
bool isSameValue(const std::string &a, const std::string &b);
/// "dp = 8, pp = 16, tp = 8, micro 1, 1f1b, recompute block"
std::string nameOf(const Candidate &candidate);

/// A setting is one line of a plan; it may have several keys of `choicesOf`.
enum class Setting { Mesh, Micro, Schedule, Context, Recompute, Zero, Sequence, Split, Place, Bucket, Buffer };
constexpr int settingCount = 11;
/// A setting of a candidate in words: "dp = 8, pp = 16, tp = 8", "micro 2", "interleaved(4)", "no recomputation".
std::string wordsOf(const Candidate &candidate, Setting setting);
bool same(const Candidate &a, const Candidate &b, Setting setting);
/// The number of settings that differ.
int distance(const Candidate &a, const Candidate &b);
/// The number of doublings from one mesh to the other, over all axes.
double meshSteps(const Candidate &a, const Candidate &b);
/// The keys of `--fix` that make a setting.
std::vector<std::string> keysOf(Setting setting);

/// The words for floating types in plans, without `tf32`, which rounds operands alone.
std::vector<std::string> floatWords();

/// The element types of a plan.
struct PlanTypes {
  program::ElementType compute = program::ElementType::F32;
  bool tf32 = false;                                               ///< float32 whose products are rounded to TF32
  std::optional<program::ElementType> gradients = {}, reduce = {}; ///< nothing: as `compute` has them

  /// The word after `compute`.
  std::string computeWord() const;
  /// Types by their words in plans; an empty word: as `compute` has it. Usage for a word that no plan has.
  static engine::Result<PlanTypes> of(const std::string &compute, const std::string &gradients, const std::string &reduce);
};

/// Says how the train block treats the parameters that match some patterns.
struct TrainingRule {
  dsl::ParameterTraining training;
  std::vector<std::string> patterns;
};

/// The model, the machine and the training that a plan is searched for.
struct PlanTask {
  ModelOptions options; ///< of the model alone: no plan, no batch
  verify::ModelOutline names;
  dsl::Machine machine;
  dsl::Train train;
  std::vector<TrainingRule> rules; ///< of its parameters
  PlanTypes types;
  int64_t hosts = 1, batch = 1;
  int64_t blocks = 0, parameters = 0, blockMatrices = 0;                  ///< elements; of matrices in the repeated blocks
  double blockProducts = 0;                                               ///< multiplyAddsOfBlocks
  int64_t sequence = 1, width = 0, hidden = 0, heads = 0, vocabulary = 0; ///< sizes of axes; 0: the model has none
  std::vector<OwnAxis> ownAxes;
  RoutedExperts experts;
  bool countsPositions = false;                ///< RoutedExperts.h
  std::string importAs;                        ///< how a text next to the model's folder imports it
  std::optional<dsl::ModelText> modelText;     ///< TaskRequest::alone; nothing: `importAs` names a file
  const foreign::ForeignProgram *as = nullptr; ///< a program that has to have words for each plan; null: none

  int64_t ranks() const; ///< that the hosts hold
  /// The own axis of this name; null for an unknown one.
  const OwnAxis *ownAxis(const std::string &name) const;
};

/// The text for the search: import, configuration, plan, train block.
std::string textOf(const PlanTask &task, const Candidate &candidate);
/// The text for the user: the same, or with PlanTask::modelText in place of the import.
std::string textToKeep(const PlanTask &task, const Candidate &candidate);

} // namespace npar::planner
