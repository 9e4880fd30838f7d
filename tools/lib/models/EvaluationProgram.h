// The forward-only program of an evaluation, with the batch that its data and this machine's memory ask for.
#pragma once

#include "engine/runtime/MemoryNeed.h"
#include "engine/training/EvaluationBatch.h"
#include "tools/lib/models/Compilation.h"
#include "tools/lib/models/FileClaims.h"

#include <functional>

namespace npar::models {

struct EvaluationRequest {
  ModelOptions options; ///< of a text, for Evaluation
  /// Called with each program that is elaborated, before it is compiled; may be null.
  std::function<void(dsl::Program &)> edit;
  /// Counts the samples of the data for a program; 0: unknown.
  std::function<engine::Result<int64_t>(const program::Program &)> countSamples;
  engine::Crew crew;
  uint64_t taken = 0;       ///< bytes of the free memory that others will take
  bool ofTraining = false;  ///< the settings of `options` are a training's: its batch is not this one's
  bool withWarnings = true; ///< of the text
};

struct EvaluationProgram {
  ProgramPointer program;
  training::EvaluationBatch batch;
  int64_t there = 0; ///< samples; 0: unknown
  uint64_t room = 0; ///< bytes that the program was allowed
  std::string text() const { return batch.text(there, room); }
};

/// Compiles the text. If neither a setting nor a plan gives the batch, it compiles two small batches without kernels and chooses by their
/// planned cost (EvaluationBatch.h). Claims the files that the text reads and checks the claims.
engine::Result<EvaluationProgram> compileToEvaluate(const EvaluationRequest &request, FileClaims &files, engine::Observer &observer);

} // namespace npar::models
