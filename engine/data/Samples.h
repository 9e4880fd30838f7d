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
  /// Writes a sample to a row of a batch that batchOf has made. `epoch`: which random changes it has, if it has any. An error leaves
  /// unspecified values in the row. Different rows can be written at the same time.
  virtual Status write(int64_t sample, int64_t epoch, Batch &batch, size_t row) const = 0;
  /// True if samples are expensive to compute, so that several should be written at the same time.
  virtual bool isComputed() const { return false; }
  /// Remarks on legal but surprising data, a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// Describes trailing data that do not fill a sample, in a sentence; otherwise empty. An evaluation reports them.
  virtual std::string leftOver() const { return ""; }
  /// "'x.u16' has 3 samples of 64 tokens": for messages.
  virtual std::string description() const = 0;
  /// The name of a sample that is a file, "ants/0013.jpg", or its place in a file of texts, "line 17"; otherwise empty.
  virtual std::string name(int64_t) const { return ""; }
  /// The texts that a sample's tokens were made of; empty if the data have none.
  virtual std::vector<std::string> texts(int64_t) const { return {}; }
  /// The names of the classes that a folder or a column states, by number, as printable text; empty if it states none.
  virtual std::vector<std::string> classes() const { return {}; }
};

/// Opens file number `file` of each group, for the part that the plan names. Refuses errors that the file alone shows, with sample,
/// position and value: integers without a class, non-finite floats, tensors of other shapes, lengths that disagree, data without a target
/// that counts.
Result<std::unique_ptr<Samples>> openSamples(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use = {});

/// The remarks on all files.
std::vector<std::string> remarksOf(const std::vector<std::unique_ptr<Samples>> &files);

/// A batch of `rows` samples, all zeros.
Batch batchOf(const BatchShape &shape, size_t rows);
/// The values of an input in one row of a batch.
template <typename T> T *rowOf(std::vector<T> &values, const InputShape &input, size_t row) {
  return values.data() + row * input.elementsOfSample();
}

} // namespace npar::engine
