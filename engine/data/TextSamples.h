// Samples of files of texts: each row becomes tokens, classes and numbers.
#pragma once

#include "engine/data/Samples.h"
#include "engine/data/TextTable.h"
#include "engine/text/Tokenizer.h"

#include <map>
#include <memory>
#include <optional>

namespace npar::engine {

/// Texts are read and encoded when their batch is made; opening checks everything else. Thread-safe to read.
class TextSamples final : public Samples {
public:
  /// Refuses what TextTable refuses, empty texts unless they are skipped, labels without a class, texts that are no numbers, a tokenizer
  /// with more tokens than the model, without a token for padding or without a form for pairs.
  static Result<std::unique_ptr<Samples>> open(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use);
  int64_t samples() const override { return part->size(); }
  Status write(int64_t sample, int64_t epoch, Batch &batch, size_t row) const override;
  bool isComputed() const override { return true; }
  std::vector<std::string> remarks() const override { return worthKnowing; }
  std::string description() const override;
  /// "line 17"
  std::string name(int64_t sample) const override;
  std::vector<std::string> texts(int64_t sample) const override;
  std::vector<std::string> classes() const override { return names; }

private:
  /// The columns of a feed as fields of a row, and what its texts become.
  struct Feed {
    size_t input = 0;
    TextFeed text;
    std::vector<size_t> fields;
    std::shared_ptr<const Tokenizer> tokenizer; ///< of Tokens
    TextForm form;
    int32_t padding = 0;
  };
  /// A row's tokens, without padding, and their types.
  struct Encoded {
    std::vector<int32_t> ids, types;
  };
  TextSamples(const DataPlan &plan, size_t file, const BatchShape &shape) : plan(plan), number(file), shape(shape) {}
  Status prepare();
  Status openTokenizer(Feed &feed, std::map<std::string, std::shared_ptr<const Tokenizer>> &opened) const;
  Status scan();
  Result<bool> check(const TextFields &fields);
  Status checkClass(const Feed &feed, const std::string &text);
  Status writeNumber(const Feed &feed, size_t place, const std::string &text, Batch &batch, size_t row) const;
  Result<Encoded> encode(const Feed &feed, const TextFields &fields) const;
  Status fill(const TextFields &fields, Batch &batch, size_t row) const;
  const std::string &path() const { return plan.groups[0].files[number].path; }

  DataPlan plan;
  size_t number; ///< of the file
  BatchShape shape;
  TextColumns columns;
  std::vector<Feed> feeds;
  std::optional<TextTable> table;
  std::vector<std::string> names;       ///< of the classes
  std::map<std::string, int32_t> codes; ///< number of each class
  bool listsNames = false;              ///< the plan has the names; otherwise the rows make them
  int64_t skipped = 0;
  Batch trial; ///< of one sample, for checks of numbers
  std::optional<SamplePart> part;
  std::vector<std::string> worthKnowing;
};

/// Names the classes of a plan's class feed, if its files have them and the plan does not: those in all its files, ascending; whole numbers
/// by value. A plan of one file may stay as it is: opening finds them.
Status nameClasses(DataPlan &plan);

} // namespace npar::engine
