// Labels that `npar eval --predict` gives to samples.
#pragma once

#include "engine/data/OncePass.h"
#include "engine/json/Json.h"
#include "engine/training/PredictedLabels.h"
#include "tools/lib/trained/NamedModel.h"
#include "tools/npar/eval/EvalFlags.h"
#include "tools/npar/job/Job.h"

#include <optional>

namespace npar::driver {

/// Predicted labels, printed or written by one process, in the order of the data.
class Labels {
public:
  Labels(const EvalFlags &flags, const Job &job, const engine::OncePass &data) : flags(flags), data(job.isVoice() ? &data : nullptr) {}
  engine::Status open(const program::Program &program, const trained::NamedModel &named);
  /// Takes the labels of the samples that a step has just evaluated. Errors of the file are kept for `finish`, so that the others do not
  /// wait for a process that fails.
  engine::Status add(const engine::Session &session, int64_t first, int64_t samples);
  engine::Status finish();
  /// The labels, if they are part of the command's JSON.
  OrderedJson take() { return std::move(json); }

private:
  const EvalFlags &flags;
  const engine::OncePass *data; ///< null in a process that prints nothing
  std::optional<training::LabelReader> reader;
  std::optional<training::LabelFile> file;
  engine::Status written;
  OrderedJson json = OrderedJson::array();
};

} // namespace npar::driver
