// Where inputs come from and in which order, as data: read from a program's data block, or made of a run's flags.
#pragma once

#include "engine/data/SampleOrder.h"
#include "engine/data/SamplePart.h"
#include "engine/runtime/BatchShape.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

using program::DataFormat;

/// The fields of program::DataFile.
struct DataFile {
  std::string path;
  DataFormat format = DataFormat::Tensors;
  uint32_t weight = 0;
  std::string lengths = {};
};

/// The fields of program::DataFeed that say what to read.
struct DataFeed {
  size_t input = 0; ///< index in the program
  std::string tensor = {};
  int64_t shift = 0;
  bool valid = false;
};

struct DataGroup {
  std::vector<DataFile> files;
  std::vector<DataFeed> feeds;
};

/// Every input is fed by one group; file i of each group has the same samples. A stream of tokens is the only group.
struct DataPlan {
  std::vector<DataGroup> groups;
  Order order = Order::Shuffled;
  LastBatch last = LastBatch::Join;
  std::optional<uint64_t> seed = std::nullopt; ///< of the order; nothing: that of the training
  Split split = {};
  std::string mask = {}; ///< of a stream in one file: which tokens are targets

  /// What a program's data block says; nothing where it has none.
  static std::optional<DataPlan> of(const program::Program &program);
  /// A stream of tokens in one file, for the inputs that a stream feeds by their use. Refuses a program with other inputs.
  static Result<DataPlan> ofStream(const std::string &path, DataFormat format, const BatchShape &shape);
  /// A file with a tensor for each input, by its name.
  static DataPlan ofTensors(const std::string &path, const BatchShape &shape);

  /// Every file that the samples are read from: data, masks, lengths of documents.
  std::vector<std::string> paths() const;
  bool isStream() const { return groups[0].files[0].format != DataFormat::Tensors; }
  /// How many tokens on the farthest input of a stream looks.
  int64_t reach() const;
  /// The kind of the data: "tokens u16", "tensors".
  std::string stream() const;
  /// How samples follow each other, in words that differ where the samples do: "shuffled", "sequential, drop last".
  std::string orderText() const;
};

} // namespace npar::engine
