// The samples of one file, or of one file for each input, read one by one, in any order.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/runtime/Batch.h"

#include <memory>

namespace npar::engine {

/// Selects the steps that prepare pictures: the training steps, with random numbers of this seed, or the evaluation steps.
struct PictureUse {
  bool trains = false;
  uint64_t seed = 0;
  bool counts = false; ///< samples are counted only: no picture is prepared
};

/// Thread-safe to read.
class Samples {
public:
  virtual ~Samples() = default;
  /// Number of samples of the opened part.
  virtual int64_t samples() const = 0;
  /// Adds a sample to a batch that has a list of the right type for each input. `epoch`: which random changes it has, if it has any.
  virtual void append(int64_t sample, int64_t epoch, Batch &batch) const = 0;
  /// An error once the file could not be read any more.
  virtual Status intact() const { return {}; }
  /// Remarks on legal but surprising data, a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// Describes trailing data that do not fill a sample, in a sentence; otherwise empty. An evaluation reports them.
  virtual std::string leftOver() const { return ""; }
  /// "'x.u16' has 3 samples of 64 tokens": for messages.
  virtual std::string description() const = 0;
  /// The name of a sample that is a file: "ants/0013.jpg"; empty if it is none.
  virtual std::string name(int64_t) const { return ""; }
};

/// Opens file number `file` of each group, for the part that the plan names. Refuses errors that the file alone shows, with sample,
/// position and value: integers without a class, non-finite floats, tensors of other shapes, lengths that disagree, data without a target
/// that counts.
Result<std::unique_ptr<Samples>> openSamples(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use = {});

/// An error once one of the files could not be read any more.
Status intactOf(const std::vector<std::unique_ptr<Samples>> &files);
/// The remarks on all files.
std::vector<std::string> remarksOf(const std::vector<std::unique_ptr<Samples>> &files);

/// A batch without samples.
Batch emptyBatch(const BatchShape &shape);
/// Adds a padding sample, which does not count: zeros, and targets of the value that the program ignores.
void appendFilling(const BatchShape &shape, Batch &batch);

} // namespace npar::engine
