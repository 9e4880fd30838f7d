// Writes tensors as `torch.save` writes a dictionary of them, for `torch.load(weights_only=True)`.
#pragma once

#include "engine/pytorch/ZipWriter.h"
#include "engine/safetensors/TensorWriter.h"

#include <memory>

namespace npar::engine {

/// A ZIP archive with a pickle, which describes the tensors, and one file for the bytes of each. Pieces come in order.
class StateDictWriter final : public TensorWriter {
public:
  /// Writes the pickle. Names must differ and be UTF-8.
  static Result<std::unique_ptr<StateDictWriter>> create(const std::string &path, const std::vector<TensorToWrite> &tensors);
  Status write(size_t tensor, uint64_t offset, const void *bytes, size_t size) override;
  Status commit() override;
  bool isInOrder() const override { return true; }

private:
  StateDictWriter(ZipWriter archive, std::vector<uint64_t> sizes) : archive(std::move(archive)), sizes(std::move(sizes)) {}
  Status beginUpTo(size_t count);

  ZipWriter archive;
  std::vector<uint64_t> sizes; ///< bytes, by tensor
  size_t begun = 0;            ///< number of tensors whose files have begun
};

} // namespace npar::engine
