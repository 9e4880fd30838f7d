// Samples of a stream of tokens: windows of it, or of its documents.
#pragma once

#include "engine/data/DataCheck.h"
#include "engine/data/Samples.h"

#include <algorithm>
#include <mutex>

namespace npar::engine {

/// Let l be the tokens per sample and s the largest shift of an input. A stream of n tokens has floor((n - s) / l) samples; sample i is
/// tokens [i l, i l + l). With documents, each document is cut separately, into ceil((n - s) / l) samples: no sample has tokens of two, and
/// the last of a document is padded with zeros and targets that do not count. A split divides samples or, with documents, documents.
class StreamSamples final : public Samples {
public:
  static Result<std::unique_ptr<Samples>> open(const DataPlan &plan, size_t file, const BatchShape &shape);
  int64_t samples() const override { return count; }
  Status write(int64_t sample, int64_t epoch, Batch &batch, size_t row) const override;
  std::vector<std::string> remarks() const override { return worthKnowing; }
  std::string leftOver() const override;
  std::string description() const override;

private:
  StreamSamples(const DataGroup &group, TokenData data, const BatchShape &shape, SamplePart part)
      : feeds(group.feeds), data(std::move(data)), shape(shape), length(shape.tokensOfSample()), part(std::move(part)) {
    for (const DataFeed &feed : feeds)
      farthest = std::max(farthest, feed.valid ? int64_t{0} : int64_t{feed.shift});
  }
  Status readInto(TokenWindow &window, int64_t begin, int64_t end) const;
  Status readDocuments(const DataFile &file, const Split &split, uint64_t number, int64_t reach);
  template <typename T> void writeTo(T *values, const DataFeed &feed, const TokenWindow &window, int64_t begin, int64_t end) const;

  /// A document of the part: its tokens are [begin, end), its first sample is number `first`.
  struct Document {
    int64_t begin, end, first;
  };

  std::vector<DataFeed> feeds;
  TokenData data;
  BatchShape shape;
  int64_t length, count = 0;
  int64_t farthest = 0; ///< largest shift of the inputs that take tokens
  SamplePart part;
  std::vector<Document> documents; ///< empty: the stream is one piece
  std::vector<std::string> worthKnowing;
  struct Recent {
    std::mutex mutex;
    TokenWindow window; ///< the tokens read last
    int64_t begin = -1; ///< first token of the last sample
  };
  std::unique_ptr<Recent> recent = std::make_unique<Recent>();
};

} // namespace npar::engine
