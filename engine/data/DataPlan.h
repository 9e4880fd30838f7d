// Source and order of the inputs as data: read from a program's data block, or made from a run's flags.
#pragma once

#include "engine/data/SampleOrder.h"
#include "engine/data/SamplePart.h"
#include "engine/pictures/Steps.h"
#include "engine/program/PictureInput.h"
#include "engine/program/TextInput.h"
#include "engine/program/Words.h"
#include "engine/runtime/BatchShape.h"

#include <optional>
#include <set>
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

using program::TextFeedKind;

/// The fields of program::TextFeed.
struct TextFeed {
  TextFeedKind kind = TextFeedKind::Tokens;
  std::vector<std::string> columns = {};
  bool numbered = false;
  std::vector<std::string> names = {};
  size_t of = 0;
  std::string tokenizer = {};
  std::optional<int32_t> padding = std::nullopt;
  bool skipsEmpty = false;
};

/// The fields of program::DataFeed that tell what to read.
struct DataFeed {
  size_t input = 0; ///< index in the program
  std::string tensor = {};
  int64_t shift = 0;
  bool valid = false;
  bool isClass = false;
  std::optional<TextFeed> text = std::nullopt;
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
  std::optional<uint64_t> seed = std::nullopt; ///< seed of the order; nothing: that of the training
  Split split = {};
  std::vector<pictures::Step> training = {}, evaluation = {}; ///< steps that prepare pictures
  std::string mask = {};                                      ///< path of the mask of a single-file stream, which marks targets

  /// The plan of a program's data block; nothing if it has none.
  static std::optional<DataPlan> of(const program::Program &program);
  /// A stream of tokens in one file, for inputs that have a role in a stream. Refuses a program with other inputs.
  static Result<DataPlan> ofStream(const std::string &path, DataFormat format, const BatchShape &shape);
  /// A file with a tensor of the same name for each input.
  static DataPlan ofTensors(const std::string &path, const BatchShape &shape);

  /// All files that are read: data, masks, lengths of documents.
  std::vector<std::string> paths() const;
  DataFormat format() const { return groups[0].files[0].format; } ///< that of all files, except that streams may have several
  bool isStream() const { return program::isStream(format()); }
  bool hasPictures() const { return program::hasPictures(format()); }
  bool hasTexts() const { return program::hasTexts(format()); }
  /// Finds the first feed of this kind from a file of texts; null without one.
  TextFeed *find(TextFeedKind kind);
  const TextFeed *find(TextFeedKind kind) const { return const_cast<DataPlan *>(this)->find(kind); }
  /// The folders or files of the tokenizers, each once.
  std::set<std::string> tokenizers() const;
  /// The largest shift of an input of a stream, in tokens.
  int64_t reach() const;
  /// The kind of the data: "tokens u16", "tensors", "idx", "images", "text".
  std::string stream() const;
  /// The order of the samples in words, and the steps that prepare them for the training. The words differ if the order or a step does:
  /// "shuffled", "sequential, drop last", "shuffled, random_crop(4)".
  std::string orderText() const;
};

} // namespace npar::engine
