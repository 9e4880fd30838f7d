// The files and kinds that the user gives for a program's inputs; they override its data block.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

/// A file for one input, or for all if `input` is empty.
struct GivenFile {
  std::string input, path;

  /// The parts of `INPUT=FILE`. Text before `=` that cannot be an input belongs to the file's name.
  static GivenFile of(const std::string &text);
  bool hasTensors() const;
  /// The format of a file of texts with columns, by the ending of its name; nothing for other files.
  std::optional<DataFormat> textFormat() const;
  /// True for what can only be a stream of tokens, unless the data are texts: one file for all inputs, which is neither a file of tensors
  /// nor one of columns nor a folder.
  bool mustBeStream() const;
};

struct GivenData {
  std::vector<std::string> files;           ///< FILE or INPUT=FILE, as given
  std::string tokens, mask, order;          ///< empty: not given
  std::vector<std::string> columns;         ///< of texts, names or numbers: one, or two for pairs
  std::string tokenizer;                    ///< for texts; empty: not given
  std::string ownTokenizer;                 ///< of the model's folder; empty: it has none, or is not known
  bool keepsTokenizer = false;              ///< `ownTokenizer` is a checkpoint's copy of the one that the data block names
  bool random = false, mayBeRandom = false; ///< --random-data: is given; the command has it

  /// Usage for wrong combinations, before anything is compiled.
  Status check() const;
  /// The format of a file for all inputs that has texts; nothing for other files. `block`: the format of the data block's files, if there
  /// is one.
  std::optional<DataFormat> textFormat(const std::string &path, std::optional<DataFormat> block) const;
  /// True if a file can hold tokens of a kind that is not stated.
  bool lacksTokens() const;
};

/// Finds by its name how texts feed an input without a data block: tokens (or input_ids), mask (attention_mask), segment (token_type_ids).
std::optional<TextFeedKind> usualTextFeed(const std::string &input);

/// The sources of a program's inputs: its data block, with the changes that the user makes. Usage for a program without any data.
Result<DataPlan> planOf(const GivenData &given, const program::Program &program, const BatchShape &shape);

/// A sentence about the parts of a plan's split that a run does not read; empty if it reads all of them. The run trains on the first part.
/// `evaluates`: it evaluates the last part; `other`: it evaluates other data.
std::string unusedParts(const DataPlan &plan, bool evaluates, bool other);

/// The usage error of a command without data. `mayBeRandom`: the command has --random-data.
Status noData(bool mayBeRandom);
/// The usage error of a token file of unknown kind.
Status noTokens();

} // namespace npar::engine
