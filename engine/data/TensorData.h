// Training data as tensors: one for each input in safetensors files, whose first dimension is the samples.
#pragma once

#include "engine/data/Samples.h"
#include "engine/safetensors/Safetensors.h"

#include <set>

namespace npar::engine {

/// Location of an input's samples.
struct TensorPlace {
  std::string path, tensor;
};

/// Thread-safe to read. The files are not loaded: each batch reads its samples.
class TensorData {
public:
  /// Every input of `shape` takes the tensor at its place, of shape [samples, the input's other sizes]: i32 and u8 from I32, I64 and U8,
  /// f32 from F32, BF16 and F16. Refuses, with names and numbers, a tensor that is missing, of another type or shape or with another number
  /// of samples than the first; an integer that the input does not take and a float that is not finite, with sample and position; and data
  /// in which no target counts. Tensors that no input takes become a remark.
  static Result<TensorData> open(const std::vector<TensorPlace> &places, const BatchShape &shape);

  int64_t samples() const { return count; }
  const std::vector<std::string> &remarks() const { return worthKnowing; }
  /// Writes a sample to a row of each input's list. An error if it can no longer be read.
  Status write(int64_t sample, Batch &batch, size_t row) const;
  /// The first input's file.
  const std::string &path() const { return places[0].path; }

private:
  TensorData(std::vector<TensorPlace> places, const BatchShape &shape) : places(std::move(places)), shape(shape) {}
  Status openFiles();
  Status findTensors();
  void remarkUnused();
  Status checkShape(size_t index, const StoredTensor &tensor);
  Status checkValues(size_t index);
  Status checkIntegers(size_t index);
  Status checkFloats(size_t index) const;
  Result<std::vector<uint8_t>> read(size_t index, uint64_t first, uint64_t count) const;
  Status writeInput(size_t index, uint64_t sample, InputValues &lists, size_t row) const;

  std::vector<TensorPlace> places; ///< by input
  BatchShape shape;
  std::vector<std::shared_ptr<SafetensorsFile>> files; ///< by input; shared by those of one path
  std::vector<StoredTensor> tensors;                   ///< by input
  int64_t count = 0;
  std::vector<std::string> worthKnowing;
};

/// The samples of one part of the data.
class TensorSamples final : public Samples {
public:
  TensorSamples(TensorData data, const Split &split, size_t file) : data(std::move(data)), part(this->data.samples(), split, file) {}
  int64_t samples() const override { return part.size(); }
  Status write(int64_t sample, int64_t, Batch &batch, size_t row) const override { return data.write(part(sample), batch, row); }
  std::vector<std::string> remarks() const override { return data.remarks(); }
  std::string description() const override;

private:
  TensorData data;
  SamplePart part;
};

} // namespace npar::engine
