// A training run of another program in npar's words, and what of it has none.
#pragma once

#include "tools/lib/foreign/ForeignFile.h"

#include <cstdint>

namespace npar::foreign {

/// A setting that has no counterpart here, or that npar does not know.
struct NotTaken {
  dsl::Location at;
  std::string setting; ///< as the file has it, with its value
  std::string why;
};

struct ForeignRun {
  ForeignFormat format = ForeignFormat::Megatron;
  std::string model;                                          ///< of the standard library; empty: the file does not say it
  std::vector<std::pair<std::string, std::string>> constants; ///< of the model
  int64_t layers = 0;                                         ///< 0: unknown
  int64_t world = 0;                                          ///< 0: the file does not say it
  int64_t length = 0;                                         ///< of a sequence; 0: the model's own
  int64_t dp = 0, replicas = 1; ///< dp: what shares a replica's storage, 0: what the world leaves; replicas: of that, outside
  int64_t tp = 1, pp = 1, cp = 1;
  bool dpOutside = false;            ///< ranks are numbered dp, pp, cp, tp; else pp, dp, cp, tp
  std::string ring = "ring(zigzag)"; ///< how attention sees the whole sequence under cp
  int64_t micro = 1;                 ///< sequences per rank and micro-batch
  int64_t batch = 0;                 ///< 0: `accumulation` micro-batches
  int64_t accumulation = 1;
  std::string schedule = "1f1b";
  int64_t chunks = 1;
  std::vector<int64_t> stages; ///< blocks of each part of the pipeline; empty: as balanced by cost
  std::string recompute;       ///< "block", "every 2"; empty: nothing
  int64_t zero = 0;
  bool gradientsPerStep = true; ///< of stored gradients: reduced once per step
  bool storeOverContext = true; ///< shares are over cp too
  bool sequenceParallel = false;
  std::string precision = "f32", gradients, reduce; ///< the latter two empty: as the precision has it
  int64_t bucketBytes = 0;
  std::string optimizer = "AdamW(lr = 1e-4)";
  bool clip = true;
  // Where errors about the whole point: settings that the run has, by name ("world", "batch", "micro", "tp", "pp", "cp", "dp").
  std::vector<std::pair<std::string, dsl::Location>> places;
  std::vector<NotTaken> notTaken;
  std::vector<std::string> assumed; ///< sentences: what the file leaves open and how it was read
  int64_t immaterial = 0;           ///< settings that say nothing of time or memory
  int64_t understood = 0;

  dsl::Location placeOf(const std::string &name) const;
  bool has(const std::string &name) const; ///< such a place
};

/// What the caller knows besides the file.
struct ForeignHints {
  int64_t world = 0;              ///< of --world, or of --hosts; 0: neither
  int64_t batch = 0;              ///< in place of the file's, whether the mesh divides it or not; 0: the file's
  bool modelIsKnown = false;      ///< --model-config says it
  bool vocabularyIsKnown = false; ///< --set says it
  int64_t layers = 0;             ///< of that model; 0: unknown
};

/// In npar's words. Nothing when `diagnostics` got errors. Sizes are filled in and checked: the mesh has `world` ranks, the batch is whole
/// micro-batches.
std::optional<ForeignRun> understand(const ForeignFile &file, const ForeignHints &hints, dsl::Diagnostics &diagnostics);

} // namespace npar::foreign
