// Tensors out of a store into one file, or a folder of several with an index, without holding one of them whole in memory.
#pragma once

#include "engine/checkpoint/TensorStore.h"
#include "engine/program/IndexedTensor.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace npar::engine {

struct TensorToStore {
  std::string name;                                   ///< in the file
  std::string source;                                 ///< in the store
  std::string type;                                   ///< in the file: that of the store, another floating one, or I64 for counts
  std::optional<program::IndexedTensor> indexed = {}; ///< the source is a whole parameter, of which this is the tensor of `index`
  uint64_t index = 0;
};

/// Called from any thread with the size of each part that has been written. If it returns false, writing stops. Can be null.
using WrittenPart = std::function<bool(uint64_t bytes)>;

/// Formats of files of tensors.
enum class TensorFormat { Safetensors, Pytorch };

/// Writes tensors of the store, in this order, as one file, which appears when it is whole and on the disk. Bytes of one type are kept as
/// they are; a value that a narrower type cannot hold is an error that names the tensor.
Status writeTensorFile(const TensorStore &store, const std::vector<TensorToStore> &tensors, const std::string &path,
                       const WrittenPart &written = nullptr, TensorFormat format = TensorFormat::Safetensors);

/// Splits the tensors, in order, into lists of at most `most` bytes. A larger tensor gets a list of its own.
std::vector<std::vector<TensorToStore>> cutIntoFiles(const TensorStore &store, const std::vector<TensorToStore> &tensors, uint64_t most);

struct TensorFolder {
  std::string folder;                                     ///< must not be there, or be empty
  uint64_t fileBytes = UINT64_MAX;                        ///< of tensors in one file, where one tensor alone has no more
  std::vector<std::pair<std::string, std::string>> texts; ///< other files of the folder: name and content
  WrittenPart written;
};

struct WrittenFolder {
  size_t files = 0;   ///< with tensors
  uint64_t bytes = 0; ///< of tensors
};

/// Writes a folder like those of Hugging Face: `model.safetensors`, or several files of limited size with an index that maps tensors to
/// files, and text files. The folder appears when it is complete, or not at all.
Result<WrittenFolder> writeTensorFolder(const TensorStore &store, const std::vector<TensorToStore> &tensors, const TensorFolder &options);

} // namespace npar::engine
