// A checkpoint in memory, cut into several files by hand: what offline tools are tested with.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace npar::testing {

/// Tensors whose bytes are in memory; a manifest without pieces. Its texts are in a folder that it removes at the end.
class MemoryCheckpoint final : public engine::CheckpointStore {
public:
  /// Seven tensors: a matrix, a vector, a scalar, one of 16 bits, one without elements, and state of the first two.
  MemoryCheckpoint();
  ~MemoryCheckpoint() override;

  const std::string &description() const override { return text; }
  const std::map<std::string, engine::StoreEntry> &tensors() const override { return entries; }
  engine::Status read(const std::string &name, uint64_t first, uint64_t count, uint8_t *to) const override;
  const engine::Manifest &manifest() const override { return content; }
  const std::string &folder() const override { return path; }
  engine::Status readPiece(const engine::ManifestTensor &, const engine::ManifestPiece &, uint64_t, uint64_t, uint8_t *) const override {
    return engine::Status::badInput("it has no pieces");
  }
  engine::Status verify(uint64_t, uint64_t, const std::function<void(uint64_t)> &) const override { return {}; }
  std::vector<std::string> paths() const override { return {}; }

  /// The bytes of a tensor, to change them.
  std::vector<uint8_t> &bytesOf(const std::string &name) { return bytes.at(name); }
  void remove(const std::string &name);
  std::string unreadable; ///< a tensor that cannot be read
  /// A cut into three files: the matrix as a grid of rectangles, one of them in two ranges, the rest whole.
  engine::Manifest threeFiles() const;

private:
  void add(const std::string &name, const std::string &type, std::vector<int64_t> shape, const std::string &of = "",
           const std::string &slot = "");
  std::string text = "checkpoint 'memory'", path;
  engine::Manifest content;
  std::map<std::string, engine::StoreEntry> entries;
  std::map<std::string, std::vector<uint8_t>> bytes;
};

} // namespace npar::testing
