// Training data as tensors: a safetensors file with one for each input, whose first dimension are the samples.
#pragma once

#include "engine/checkpoint/Safetensors.h"
#include "engine/runtime/Batch.h"

#include <mutex>

namespace npar::engine {

/// Thread-safe to read. The file is not loaded: each batch reads its samples.
class TensorData {
public:
  /// Every input of `shape` takes the tensor of its name, of shape [samples, the input's other sizes]: i32 and u8 from I32, I64 and U8, f32
  /// from F32, BF16 and F16. Refuses, with names and numbers, a tensor that is missing, of another type or shape or with another number of
  /// samples than the first; fewer samples than a batch; an integer that the input does not take and a float that is not finite, with
  /// sample and position; and data in which no target counts. Tensors that no input takes are a remark.
  static Result<TensorData> open(const std::string &path, const BatchShape &shape);

  int64_t samples() const { return count; }
  const std::vector<std::string> &remarks() const { return worthKnowing; }
  /// The batch that consists of these samples; zeros for what cannot be read any more, which intact() tells then.
  Batch batch(const std::vector<int64_t> &samples) const;
  /// What went wrong first with reading since the file was opened.
  Status intact() const;

private:
  TensorData(std::string path, std::shared_ptr<SafetensorsFile> file, const BatchShape &shape)
      : path(std::move(path)), file(std::move(file)), shape(shape) {}
  Status findTensors();
  Status checkShape(const InputShape &input, const StoredTensor &tensor);
  Status checkValues(const InputShape &input, const StoredTensor &tensor);
  Status checkIntegers(const InputShape &input, const StoredTensor &tensor);
  Status checkFloats(const InputShape &input, const StoredTensor &tensor) const;
  Result<std::vector<uint8_t>> read(const StoredTensor &tensor, uint64_t first, uint64_t count) const;
  InputValues valuesOf(size_t input, const std::vector<int64_t> &samples) const;

  std::string path;
  std::shared_ptr<SafetensorsFile> file;
  BatchShape shape;
  std::vector<StoredTensor> tensors; ///< by input
  int64_t count = 0;
  std::vector<std::string> worthKnowing;
  struct Failure {
    std::mutex mutex;
    Status first;
  };
  std::shared_ptr<Failure> failure = std::make_shared<Failure>();
};

} // namespace npar::engine
