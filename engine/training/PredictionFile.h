// Predictions of an evaluation as a safetensors file: a tensor for each output of the model, the samples first, in the order of the data.
#pragma once

#include "engine/runtime/Session.h"
#include "engine/safetensors/SafetensorsWriter.h"

#include <memory>
#include <string>

namespace npar::training {

class PredictionFile {
public:
  /// For so many samples. Floats of 16 bits are written as float32. With an empty path nothing is written: for processes that only take
  /// part in reading results.
  static engine::Result<PredictionFile> create(const std::string &path, const program::Program &program, int64_t samples);
  /// What the last step left of the first `samples` of its batch, which are samples `first` and on of the data. Every session takes part.
  /// What cannot be written is told by `commit`, so that nobody waits for a process that has stopped.
  engine::Status add(const engine::Session &session, int64_t first, int64_t samples);
  engine::Status commit();

private:
  PredictionFile(std::unique_ptr<engine::SafetensorsWriter> writer, const program::Program &program)
      : writer(std::move(writer)), program(&program) {}

  std::unique_ptr<engine::SafetensorsWriter> writer; ///< null: nothing is written
  const program::Program *program;
  engine::Status written; ///< why nothing more is
};

} // namespace npar::training
