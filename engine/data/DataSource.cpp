// Global batches of tokens and targets by step number: from a token file in some order, or random for checks.
#include "engine/data/DataSource.h"

#include "engine/data/Permutation.h"
#include "engine/runtime/Philox.h"

#include <optional>

namespace npar::engine {

namespace {

constexpr uint64_t streamOfTokens = 0x746F6B656E73; // "tokens"

class FileSource final : public DataSource {
public:
  FileSource(std::shared_ptr<TokenFile> file, Order order, int64_t sequence, int64_t rows, uint64_t seed, int64_t count)
      : file(std::move(file)), order(order), sequence(sequence), rows(rows), seed(seed), count(count) {}

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
        result.targets.push_back(file->at(i + 1));
      }
    }
    return result;
  }

private:
  std::shared_ptr<TokenFile> file;
  Order order;
  int64_t sequence, rows;
  uint64_t seed;
  int64_t count;
};

class RandomSource final : public DataSource {
public:
  RandomSource(int64_t sequence, int64_t rows, uint64_t seed, int64_t vocab) : size(sequence * rows), seed(seed), vocab(vocab) {}
  int64_t samples() const override { return 0; }
  Batch batch(int64_t step) const override {
    Batch result;
    for (int64_t i = 0; i < size; ++i) {
      auto bits = philox(seed, streamOfTokens, static_cast<uint64_t>(step * size + i));
      auto below = [&](uint32_t word) { return static_cast<int32_t>(uint64_t{word} * static_cast<uint64_t>(vocab) >> 32); };
      result.tokens.push_back(below(bits[0]));
      result.targets.push_back(below(bits[1]));
    }
    return result;
  }

private:
  int64_t size;
  uint64_t seed;
  int64_t vocab;
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
                                                     int64_t batch, uint64_t seed, int64_t vocab) {
  Result<std::shared_ptr<TokenFile>> file = TokenFile::open(path, format, vocab);
  if (!file.ok())
    return file.status();
  int64_t count = ((*file)->size() - 1) / sequence;
  if ((*file)->size() < sequence + 1)
    return Status::badInput("data '" + path + "' has " + std::to_string((*file)->size()) + " tokens; one sample of sequence length " +
                            std::to_string(sequence) + " needs " + std::to_string(sequence + 1));
  return std::unique_ptr<DataSource>(new FileSource(*file, order, sequence, batch, seed, count));
}

std::unique_ptr<DataSource> DataSource::random(int64_t sequence, int64_t batch, uint64_t seed, int64_t vocab) {
  return std::make_unique<RandomSource>(sequence, batch, seed, vocab);
}

} // namespace npar::engine
