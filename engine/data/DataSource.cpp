// Global batches of tokens and targets by step number: from a token file in some order, or random for checks.
#include "engine/data/DataSource.h"

#include "engine/data/MaskFile.h"
#include "engine/data/Permutation.h"
#include "engine/runtime/Philox.h"

namespace npar::engine {

namespace {

constexpr uint64_t streamOfTokens = 0x746F6B656E73; // "tokens"
constexpr uint64_t streamOfShares = 0x736861726573; // "shares"

class FileSource final : public DataSource {
public:
  /// `mask` may be null.
  FileSource(std::shared_ptr<TokenFile> file, std::shared_ptr<MaskFile> mask, int32_t ignore, Order order, int64_t sequence, int64_t rows,
             uint64_t seed, int64_t count)
      : file(std::move(file)), mask(std::move(mask)), ignore(ignore), order(order), sequence(sequence), rows(rows), seed(seed),
        count(count) {}

  int64_t samples() const override { return count; }

  Batch batch(int64_t step) const override {
    Batch result;
    result.tokens.reserve(static_cast<size_t>(rows * sequence));
    result.targets.reserve(static_cast<size_t>(rows * sequence));
    std::optional<Permutation> permutation;
    int64_t permuted = -1;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t place = step * rows + row, epoch = place / count, sample = place % count;
      if (order == Order::Shuffled) {
        if (epoch != permuted)
          permutation.emplace(count, seed, static_cast<uint64_t>(epoch)), permuted = epoch;
        sample = (*permutation)(sample);
      }
      for (int64_t i = sample * sequence; i < (sample + 1) * sequence; ++i) {
        result.tokens.push_back(file->at(i));
        result.targets.push_back(mask && !mask->isTarget(i + 1) ? ignore : file->at(i + 1));
      }
    }
    return result;
  }

private:
  std::shared_ptr<TokenFile> file;
  std::shared_ptr<MaskFile> mask;
  int32_t ignore;
  Order order;
  int64_t sequence, rows;
  uint64_t seed;
  int64_t count;
};

class RandomSource final : public DataSource {
public:
  RandomSource(int64_t sequence, int64_t rows, uint64_t seed, int64_t vocab, const std::optional<RandomMask> &mask)
      : sequence(sequence), rows(rows), seed(seed), vocab(vocab), mask(mask) {}
  int64_t samples() const override { return 0; }
  Batch batch(int64_t step) const override {
    Batch result;
    for (int64_t i = 0, size = sequence * rows; i < size; ++i) {
      auto bits = philox(seed, streamOfTokens, static_cast<uint64_t>(step * size + i));
      auto below = [&](uint32_t word) { return static_cast<int32_t>(uint64_t{word} * static_cast<uint64_t>(vocab) >> 32); };
      result.tokens.push_back(below(bits[0]));
      result.targets.push_back(mask && isIgnored(step, i / sequence, bits[2]) ? mask->ignore : below(bits[1]));
    }
    return result;
  }

private:
  bool isIgnored(int64_t step, int64_t row, uint32_t word) const {
    int64_t groups = rows / mask->rows;
    if (groups > 1 && row / mask->rows == step % groups)
      return true;
    return word < philox(seed, streamOfShares, static_cast<uint64_t>(step * rows + row))[0];
  }

  int64_t sequence, rows;
  uint64_t seed;
  int64_t vocab;
  std::optional<RandomMask> mask;
};

} // namespace

Result<Order> sampleOrder(const std::string &name) {
  if (name == "shuffled")
    return Order::Shuffled;
  if (name == "sequential")
    return Order::Sequential;
  return Status::badInput("unknown order '" + name + "': shuffled and sequential exist");
}

Result<std::unique_ptr<DataSource>> DataSource::open(const std::string &path, TokenFormat format, Order order, int64_t sequence,
                                                     int64_t batch, uint64_t seed, int64_t vocab, const std::optional<TargetMask> &mask) {
  Result<std::shared_ptr<TokenFile>> file = TokenFile::open(path, format, vocab);
  if (!file.ok())
    return file.status();
  int64_t count = ((*file)->size() - 1) / sequence;
  if ((*file)->size() < sequence + 1)
    return Status::badInput("data '" + path + "' has " + std::to_string((*file)->size()) + " tokens; one sample of sequence length " +
                            std::to_string(sequence) + " needs " + std::to_string(sequence + 1));
  std::shared_ptr<MaskFile> targets;
  if (mask) {
    Result<std::shared_ptr<MaskFile>> opened = MaskFile::open(mask->path, (*file)->size());
    if (!opened.ok())
      return opened.status();
    targets = *opened;
  }
  return std::unique_ptr<DataSource>(new FileSource(*file, targets, mask ? mask->ignore : 0, order, sequence, batch, seed, count));
}

std::unique_ptr<DataSource> DataSource::random(int64_t sequence, int64_t batch, uint64_t seed, int64_t vocab,
                                               const std::optional<RandomMask> &mask) {
  return std::make_unique<RandomSource>(sequence, batch, seed, vocab, mask);
}

} // namespace npar::engine
