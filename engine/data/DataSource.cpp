// Global batches of tokens and targets by step number: from a token file in some order, or random for checks.
#include "engine/data/DataSource.h"

#include "engine/data/DataCheck.h"
#include "engine/data/Permutation.h"
#include "engine/numbers/Philox.h"

namespace npar::engine {

namespace {

constexpr uint64_t streamOfTokens = 0x746F6B656E73; // "tokens"
constexpr uint64_t streamOfShares = 0x736861726573; // "shares"

class FileSource final : public DataSource {
public:
  FileSource(TokenData data, Order order, uint64_t seed, const BatchShape &shape, std::vector<std::string> remarks)
      : data(std::move(data)), order(order), seed(seed), sequence(shape.sequence), rows(shape.rows),
        count((this->data.tokens->size() - 1) / sequence), ignore(shape.ignore.value_or(0)), worthKnowing(std::move(remarks)) {}

  int64_t samples() const override { return count; }
  std::vector<std::string> remarks() const override { return worthKnowing; }

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
        result.tokens.push_back(data.tokens->at(i));
        result.targets.push_back(data.isTarget(i + 1) ? data.tokens->at(i + 1) : ignore);
      }
    }
    return result;
  }

private:
  TokenData data;
  Order order;
  uint64_t seed;
  int64_t sequence, rows, count;
  int32_t ignore; ///< what targets get that do not count; the mask is refused where the program ignores none
  std::vector<std::string> worthKnowing;
};

class RandomSource final : public DataSource {
public:
  RandomSource(uint64_t seed, const BatchShape &shape, int64_t maskedRows)
      : seed(seed), shape(shape), maskedRows(shape.ignore ? maskedRows : 0) {}
  int64_t samples() const override { return 0; }
  Batch batch(int64_t step) const override {
    Batch result;
    for (int64_t i = 0, size = shape.rows * shape.sequence; i < size; ++i) {
      auto bits = philox(seed, streamOfTokens, static_cast<uint64_t>(step * size + i));
      result.tokens.push_back(draw(shape.tokens, bits[0]));
      result.targets.push_back(maskedRows && isIgnored(step, i / shape.sequence, bits[2]) ? *shape.ignore : draw(shape.targets, bits[1]));
    }
    return result;
  }

private:
  static int32_t draw(const ValueRange &range, uint32_t word) {
    constexpr uint64_t some = 1 << 16; // where any number will do, as for positions
    return static_cast<int32_t>(uint64_t{word} * (range.classes ? static_cast<uint64_t>(range.classes) : some) >> 32);
  }

  bool isIgnored(int64_t step, int64_t row, uint32_t word) const {
    int64_t groups = shape.rows / maskedRows;
    if (groups > 1 && row / maskedRows == step % groups)
      return true;
    return word < philox(seed, streamOfShares, static_cast<uint64_t>(step * shape.rows + row))[0];
  }

  uint64_t seed;
  BatchShape shape;
  int64_t maskedRows;
};

} // namespace

Result<Order> sampleOrder(const std::string &name) {
  if (name == "shuffled")
    return Order::Shuffled;
  if (name == "sequential")
    return Order::Sequential;
  return Status::badInput("unknown order '" + name + "': shuffled and sequential exist");
}

Result<std::unique_ptr<DataSource>> DataSource::open(const std::string &path, TokenFormat format, Order order, uint64_t seed,
                                                     const BatchShape &shape, const std::string &mask) {
  Result<std::shared_ptr<TokenFile>> file = TokenFile::open(path, format);
  if (!file.ok())
    return file.status();
  TokenData data{path, mask, *file, nullptr};
  if (!mask.empty()) {
    if (!shape.ignore)
      return Status::badInput("mask '" + mask + "' needs a program that ignores targets");
    Result<std::shared_ptr<MaskFile>> opened = MaskFile::open(mask, (*file)->size());
    if (!opened.ok())
      return opened.status();
    data.mask = *opened;
  }
  Result<std::vector<std::string>> remarks = checkData(data, shape);
  if (!remarks.ok())
    return remarks.status();
  return std::unique_ptr<DataSource>(new FileSource(std::move(data), order, seed, shape, std::move(*remarks)));
}

std::unique_ptr<DataSource> DataSource::random(uint64_t seed, const BatchShape &shape, int64_t maskedRows) {
  return std::make_unique<RandomSource>(seed, shape, maskedRows);
}

} // namespace npar::engine
