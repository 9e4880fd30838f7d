// Writes a safetensors file piece by piece: header first, then the tensors' bytes, never whole in memory.
#pragma once

#include "engine/files/OutputFile.h"
#include "engine/safetensors/Safetensors.h"
#include "engine/safetensors/TensorWriter.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

/// Pieces may be written in any order and from several threads at once, a pipe's in the order of the tensors.
class SafetensorsWriter final : public TensorWriter {
public:
  /// Writes the header. The tensors' bytes will follow each other in the given order. Names must differ and be UTF-8, types must be known.
  /// `metadata` is the header's metadata, in which other readers expect the name of a framework.
  static Result<std::unique_ptr<SafetensorsWriter>> create(const std::string &path, const std::vector<TensorToWrite> &tensors,
                                                           const std::map<std::string, std::string> &metadata = {{"format", "pt"}});
  Status write(size_t tensor, uint64_t offset, const void *bytes, size_t size) override;
  Status commit() override;
  /// True if the output is a pipe or a device.
  bool isInOrder() const override { return file.isDirect(); }

  uint64_t bytesOf(size_t tensor) const { return tensors[tensor].second.end - tensors[tensor].second.begin; }
  /// Size of the whole file, including the header.
  uint64_t bytes() const { return begin + (tensors.empty() ? 0 : tensors.back().second.end); }
  /// Size of the header, at which the first tensor begins.
  uint64_t headerBytes() const { return begin; }

private:
  SafetensorsWriter(files::OutputFile file, std::vector<std::pair<std::string, StoredTensor>> tensors, uint64_t begin)
      : file(std::move(file)), tensors(std::move(tensors)), written(this->tensors.size()), begin(begin) {}
  files::OutputFile file;
  std::vector<std::pair<std::string, StoredTensor>> tensors;
  std::vector<std::atomic<uint64_t>> written; ///< bytes, by tensor
  uint64_t begin;
};

} // namespace npar::engine
