// Writes the predictions of an evaluation to a safetensors file: one tensor per output of the model, samples first, in data order.
#pragma once

#include "engine/runtime/Session.h"
#include "engine/safetensors/SafetensorsWriter.h"

#include <memory>
#include <string>

namespace npar::training {

class PredictionFile {
public:
  /// Creates a file for `samples` samples. 16-bit floats are written as float32. With an empty path nothing is written, for processes that
  /// only take part in reading results.
  static engine::Result<PredictionFile> create(const std::string &path, const program::Program &program, int64_t samples);
  /// Writes the last step's results for the first `samples` samples of its batch, which start at sample `first` of the data. Every session
  /// must call it. Write errors are reported by `commit`, so that a failing process still takes part and the others do not wait for it.
  engine::Status add(const engine::Session &session, int64_t first, int64_t samples);
  engine::Status commit();

private:
  PredictionFile(std::unique_ptr<engine::SafetensorsWriter> writer, const program::Program &program)
      : writer(std::move(writer)), program(&program) {}

  std::unique_ptr<engine::SafetensorsWriter> writer; ///< null: nothing is written
  const program::Program *program;
  engine::Status written; ///< the first write error, after which nothing more is written
};

} // namespace npar::training
