// The sources of global batches that read files.
#include "engine/data/DataSource.h"

#include "engine/data/DataCheck.h"
#include "engine/data/TensorData.h"

namespace npar::engine {

using program::InputRole;

namespace {

class TokenSource final : public DataSource {
public:
  TokenSource(TokenData data, SampleOrder order, const BatchShape &shape, std::vector<std::string> remarks)
      : data(std::move(data)), order(order), shape(shape), length(shape.tokensOfSample()), worthKnowing(std::move(remarks)) {}

  int64_t samples() const override { return order.samples(); }
  std::vector<std::string> remarks() const override { return worthKnowing; }

  Batch batch(int64_t step) const override {
    std::vector<int64_t> samples = keptOf(order.batch(step, origin));
    Batch result;
    for (const InputShape &input : shape.inputs)
      result.push_back(input.type == program::ElementType::U8 ? InputValues(valuesOf<uint8_t>(input, samples))
                                                              : InputValues(valuesOf<int32_t>(input, samples)));
    return result;
  }

private:
  /// checkData saw that the values fit.
  template <typename T> std::vector<T> valuesOf(const InputShape &input, const std::vector<int64_t> &samples) const {
    std::vector<T> values;
    values.reserve(samples.size() * static_cast<size_t>(length));
    bool shifted = input.role == InputRole::Shifted;
    int32_t ignored = input.ignore.value_or(0); // the mask is refused where the program ignores none
    for (int64_t sample : samples)
      for (int64_t i = sample * length + shifted, end = i + length; i < end; ++i)
        values.push_back(static_cast<T>(!shifted || data.isTarget(i) ? data.tokens->at(i) : ignored));
    return values;
  }

  TokenData data;
  SampleOrder order;
  BatchShape shape;
  int64_t length;
  std::vector<std::string> worthKnowing;
};

class TensorSource final : public DataSource {
public:
  TensorSource(TensorData data, SampleOrder order) : data(std::move(data)), order(order) {}
  int64_t samples() const override { return order.samples(); }
  std::vector<std::string> remarks() const override { return data.remarks(); }
  Batch batch(int64_t step) const override { return data.batch(keptOf(order.batch(step, origin))); }
  Status intact() const override { return data.intact(); }

private:
  TensorData data;
  SampleOrder order;
};

} // namespace

std::vector<int64_t> DataSource::keptOf(const std::vector<int64_t> &all) const {
  if (!kept)
    return all;
  std::vector<int64_t> result;
  for (int64_t row : *kept)
    result.push_back(all[static_cast<size_t>(row)]);
  return result;
}

Result<std::unique_ptr<DataSource>> DataSource::openTokens(const std::string &path, TokenFormat format, Order order, uint64_t seed,
                                                           const BatchShape &shape, const std::string &mask) {
  for (const InputShape &input : shape.inputs)
    if (input.role == InputRole::Other)
      return Status::badInput("a file of tokens is a sequence and, one place on, its targets: it cannot feed input '" + input.name + "', " +
                              input.typeText() + ", of " + shape.names() + "; give a safetensors file with a tensor for each");
  Result<std::shared_ptr<TokenFile>> file = TokenFile::open(path, format);
  if (!file.ok())
    return file.status();
  TokenData data{path, mask, *file, nullptr};
  if (!mask.empty()) {
    if (const InputShape *ignoring = shape.ignoring(); !ignoring || ignoring->role != InputRole::Shifted)
      return Status::badInput("mask '" + mask + "' needs a program that ignores targets");
    Result<std::shared_ptr<MaskFile>> opened = MaskFile::open(mask, (*file)->size());
    if (!opened.ok())
      return opened.status();
    data.mask = *opened;
  }
  Result<std::vector<std::string>> remarks = checkData(data, shape);
  if (!remarks.ok())
    return remarks.status();
  SampleOrder samples(order, seed, ((*file)->size() - 1) / shape.tokensOfSample(), shape.rows);
  return std::unique_ptr<DataSource>(new TokenSource(std::move(data), samples, shape, std::move(*remarks)));
}

Result<std::unique_ptr<DataSource>> DataSource::openTensors(const std::string &path, Order order, uint64_t seed, const BatchShape &shape) {
  Result<TensorData> data = TensorData::open(path, shape);
  if (!data.ok())
    return data.status();
  SampleOrder samples(order, seed, data->samples(), shape.rows);
  return std::unique_ptr<DataSource>(new TensorSource(std::move(*data), samples));
}

} // namespace npar::engine
