// Describes what else a run of another program does: how long it trains, when it evaluates and saves, and which files it uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::foreign {

/// The times at which something is repeated.
struct Repetition {
  enum class Every { Never, Steps, Epoch } every = Every::Never;
  std::optional<int64_t> steps; ///< for Every::Steps: a whole number of training steps
  std::optional<double> share;  ///< for Every::Steps instead of `steps`: a share of all training steps, in (0, 1)
};

/// Values that the file states, or that the program has by default if the file leaves them open. Nothing: the program has no such setting.
/// Paths are as in the file, which are relative to the folder that the run is started in.
struct RunRequest {
  std::optional<double> epochs;         ///< passes over the training data
  std::optional<int64_t> maxSteps;      ///< training steps; they count instead of `epochs`
  std::optional<int64_t> warmupSteps;   ///< of the learning rate
  std::optional<double> warmupRatio;    ///< the same as a share of all training steps; counts without `warmupSteps`
  std::optional<std::string> schedule;  ///< of the learning rate, by the program's name: "linear", "cosine"
  std::optional<uint64_t> seed;         ///< of initialization, dropout and data order
  std::optional<Repetition> evaluation; ///< evaluation during training
  std::optional<Repetition> saving;     ///< checkpoints during training
  std::optional<int64_t> mostSaved;     ///< checkpoints that are kept
  std::vector<std::string> trainFiles, evaluationFiles;
  std::optional<std::string> dataset; ///< name of a public data set, which npar does not download
  std::optional<std::string> weights; ///< a folder with pretrained weights, or the public name of a model
  std::optional<std::string> resume;  ///< a checkpoint to continue from; "true": the last one in `output`
  std::optional<std::string> output;  ///< folder for checkpoints and the trained model
  bool trains = true;                 ///< false: the run only evaluates or predicts

  /// Tells whether the epochs decide how long it trains.
  bool isInEpochs() const { return !maxSteps && epochs && *epochs > 0; }
};

} // namespace npar::foreign
