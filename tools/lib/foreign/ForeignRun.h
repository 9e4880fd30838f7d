// A training run of another program in npar's terms, and the settings for which npar has no term.
#pragma once

#include "tools/lib/foreign/ForeignFile.h"
#include "tools/lib/foreign/NameTable.h"
#include "tools/lib/foreign/RunRequest.h"
#include "tools/lib/foreign/Training.h"

#include <cstdint>
#include <optional>

namespace npar::foreign {

/// A setting that is ignored because npar does not know it or has no counterpart.
struct NotTaken {
  dsl::Location at;
  std::string setting; ///< as in the file, with its value
  std::string why;
  bool isDifference = false; ///< it is among the run's differences too
};

/// A setting of the file that npar's plan cannot hold.
struct KeptSetting {
  Part part;
  std::string key, value;
};

/// Parts of a model that are recomputed.
struct RecomputedParts {
  int64_t every = 0; ///< of the blocks of each rank, the last of every `every` are recomputed; 0: the feed-forward layers of all blocks
};

/// A constant of the model.
struct Constant {
  std::string name, value;
  Origin origin = Origin::File;
};

struct ForeignRun {
  const ForeignProgram *program = nullptr;  ///< whose run it is, or is written for
  const ForeignProgram *readFrom = nullptr; ///< to be written: whose file the values come from; null: npar's own text
  std::string path;                         ///< of the file, as it was given
  std::string textPath;                     ///< of the file with npar's text of the run, which is removed after the command; empty: none
  std::string model;                        ///< model of the standard library; empty: not in the file
  std::vector<Constant> constants;          ///< the model's
  std::vector<std::string> differences;     ///< from the program's model, if npar's is only the nearest one; sentences
  std::vector<std::pair<std::string, std::string>> modelSettings; ///< of the file that describe the model, as they are there
  std::vector<KeptSetting> kept;                                  ///< written again for the program that they come from
  bool isOwnPlan = false;       ///< the plan is the file's own, as it is there: not a searched or changed one
  int64_t layers = 0;           ///< 0: unknown
  int64_t world = 0;            ///< number of ranks; 0: not in the file
  int64_t hosts = 0;            ///< hosts with as many of the ranks each; 0: not in the file, the ranks fill one host after the other
  int64_t length = 0;           ///< tokens per sequence; 0: the model's own
  int64_t dp = 0, replicas = 1; ///< data-parallel ranks that shard one replica (0: follows from the world), and replicas of them
  int64_t groupRanks = 0;       ///< as the file gives them, the dp that shard one replica; 0: all that there are
  int64_t secondaryRanks = 0;   ///< those of the dp that share a second copy of the parameters; 0: there is none
  int64_t tp = 1, pp = 1, cp = 1;
  int64_t ep = 1;                  ///< ranks that share the experts, among the dp
  bool expertsOverContext = false; ///< all ranks of cp share them, too
  std::string expertsBy;           ///< how rows get to experts: "gather", "all_to_all"; empty: sizes decide
  bool dpOutside = false;          ///< ranks are numbered dp, pp, cp, tp; else pp, dp, cp, tp
  std::string order; ///< of data, pipeline and tensor parallelism in the numbers of ranks, outermost first ("TPD"); empty: by dpOutside
  std::string ring = "ring(zigzag)"; ///< how attention sees the whole sequence under cp
  int64_t micro = 1;                 ///< sequences per rank and micro-batch
  int64_t batch = 0;                 ///< 0: `accumulation` micro-batches
  int64_t accumulation = 1;
  int64_t countedRanks = 1; ///< ranks that `batch` of the file counts for each data-parallel rank
  std::string schedule = "1f1b";
  int64_t chunks = 1;
  std::vector<int64_t> stages;               ///< blocks in each part of the pipeline; empty: balanced by cost
  std::string schedulePath;                  ///< a file with the schedule, instead of `schedule`; empty: none
  std::string recompute;                     ///< "block", "every 2"; empty: nothing
  std::optional<RecomputedParts> recomputed; ///< instead of `recompute`
  int64_t zero = 0;
  bool gradientsPerStep = true; ///< sharded gradients are reduced once per step
  bool storeOverContext = true; ///< state is sharded over cp too
  bool sequenceParallel = false;
  std::string precision = "f32", gradients, reduce; ///< gradients, reduce: empty for the default of the precision
  int64_t bucketBytes = 0;
  std::string bucketNote; ///< where `bucketBytes` comes from; empty: the file
  Training training;
  RunRequest request; ///< how long it trains, its files, and when it evaluates and saves
  // Locations of the sizes that the file sets ("world", "batch", "micro", "tp", "pp", "cp", "dp"), for errors about their combination.
  std::vector<std::pair<std::string, dsl::Location>> places;
  std::vector<NotTaken> notTaken;
  std::vector<std::string> assumed; ///< sentences about what the file leaves open and how npar reads it
  int64_t immaterial = 0;           ///< number of settings that do not affect time or memory
  int64_t understood = 0;

  /// The groups of the dp that each have a second copy of the parameters, where a group is not all of them; else 1.
  int64_t secondaryGroups() const { return zero >= 3 && secondaryRanks > 0 ? dp / secondaryRanks : 1; }
  /// All ranks that share the experts.
  int64_t expertRanks() const { return ep * (expertsOverContext ? cp : 1); }
  /// The type that gradients are stored in, and the one in which ranks add them up.
  const std::string &sumType() const { return gradients.empty() ? precision : gradients; }
  const std::string &reduceType() const { return reduce.empty() ? sumType() : reduce; }
  /// Tells whether a value is written for `program`. The program's own defaults and npar's choices are not.
  bool writes(Origin origin) const { return origin == Origin::File || (origin == Origin::Program && readFrom != program); }
  /// Tells whether settings of the file's plan are written as they are in the file, and not as npar's plan needs them.
  bool writesOwnPlan() const { return isOwnPlan && readFrom == program; }
  /// The settings to write again, in the order of the file.
  std::vector<KeptSetting> keptToWrite() const;
  /// Tells whether one of them has a name that begins with one of the words.
  bool keeps(const std::vector<std::string> &words) const;
  dsl::Location placeOf(const std::string &name) const;
  bool has(const std::string &name) const; ///< the file sets this size
};

/// Remarks about a run, under a heading.
struct Remarks {
  const char *heading;
  std::vector<std::string> lines;
};

/// The differences from the program's model.
Remarks differencesOf(const ForeignRun &run);
/// The assumptions, and the settings that npar does not take.
std::vector<Remarks> remarksOf(const ForeignRun &run);

/// Values from flags that complete or override the file.
struct ForeignHints {
  int64_t world = 0;              ///< ranks by --world or --hosts; 0: neither is given
  int64_t otherwise = 0;          ///< ranks if the file does not give it; 0: unknown
  int64_t batch = 0;              ///< overrides the file's batch, even if the mesh does not divide it; 0: the file's
  bool modelIsKnown = false;      ///< the model comes from --model-config, or from a name in the file
  bool vocabularyIsKnown = false; ///< the vocabulary size comes from --set
  int64_t layers = 0;             ///< layers of the known model; 0: unknown
  int64_t positions = 0;          ///< of the known model, the longest sequence; 0: unknown
};

/// Translates the file into npar's terms. Nothing if `diagnostics` got errors. Fills in missing sizes and checks that the mesh has `world`
/// ranks and that the batch consists of whole micro-batches.
std::optional<ForeignRun> understand(const ForeignFile &file, const ForeignHints &hints, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
