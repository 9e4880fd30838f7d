// Random global batches: for trials without data and for the checks that compare plans.
#include "engine/data/DataSource.h"
#include "engine/numbers/Philox.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace npar::engine {

using program::InputRole;

namespace {

constexpr uint64_t streamOfTokens = 0x746F6B656E73; // "tokens"
constexpr uint64_t streamOfShares = 0x736861726573; // "shares"
constexpr uint64_t streamOfInputs = 0x696E707574;   // "input": the i-th of other role adds i << 40

class RandomSource final : public DataSource {
public:
  RandomSource(uint64_t seed, const BatchShape &shape, int64_t maskedRows) : seed(seed), shape(shape), maskedRows(maskedRows) {}
  int64_t samples() const override { return 0; }
  void goOnFrom(int64_t step, int64_t taken) override { origin = taken - step * shape.rows; }
  int64_t position(int64_t step) const override { return origin + step * shape.rows; }

  Batch batch(int64_t step) const override {
    Batch result;
    for (size_t i = 0; i < shape.inputs.size(); ++i)
      result.push_back(valuesOf(i, step));
    return result;
  }

private:
  uint64_t streamOf(size_t input) const {
    return shape.inputs[input].role == InputRole::Other ? streamOfInputs + (uint64_t{input} << 40) : streamOfTokens;
  }

  /// The number of a batch's first element among all that an input ever gets.
  uint64_t firstOf(const InputShape &input, int64_t step) const {
    return static_cast<uint64_t>(origin + step * shape.rows) * input.elementsOfSample();
  }

  /// The rows that a batch holds.
  std::vector<int64_t> rows() const {
    std::vector<int64_t> all(static_cast<size_t>(shape.rows));
    std::iota(all.begin(), all.end(), 0);
    return keptOf(all);
  }

  InputValues valuesOf(size_t input, int64_t step) const {
    return withInputType(shape.inputs[input].type, [&](auto element) -> InputValues {
      if constexpr (std::is_integral_v<decltype(element)>)
        return integers<decltype(element)>(input, step);
      else
        return normals(input, step);
    });
  }

  template <typename T> std::vector<T> integers(size_t number, int64_t step) const {
    const InputShape &input = shape.inputs[number];
    uint64_t stream = streamOf(number), sample = input.elementsOfSample(), word = input.role == InputRole::Shifted;
    constexpr uint64_t some = 1 << (sizeof(T) == 1 ? 8 : 16); // where any number will do, as for positions
    auto classes = static_cast<uint64_t>(input.range.classes);
    if (classes == 0 || sizeof(T) == 1)
      classes = classes ? std::min(classes, some) : some;
    uint64_t begin = firstOf(input, step);
    std::vector<T> values;
    for (int64_t row : rows())
      for (uint64_t i = 0; i < sample; ++i) {
        auto bits = philox(seed, stream, begin + static_cast<uint64_t>(row) * sample + i);
        bool ignored = input.ignore && maskedRows && isIgnored(step, row, bits[2]);
        values.push_back(static_cast<T>(ignored ? *input.ignore : static_cast<int64_t>(bits[word] * classes >> 32)));
      }
    return values;
  }

  std::vector<float> normals(size_t number, int64_t step) const {
    uint64_t stream = streamOf(number), sample = shape.inputs[number].elementsOfSample(), begin = firstOf(shape.inputs[number], step);
    std::vector<float> values;
    for (int64_t row : rows())
      for (uint64_t i = 0; i < sample; ++i) {
        auto bits = philox(seed, stream, begin + static_cast<uint64_t>(row) * sample + i);
        double radius = std::sqrt(-2 * std::log(uniform(bits[0], bits[1])));
        values.push_back(static_cast<float>(radius * std::cos(2 * M_PI * uniform(bits[2], bits[3]))));
      }
    return values;
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
  int64_t origin = 0; ///< the sample that step 0 would begin with
};

} // namespace

std::unique_ptr<DataSource> DataSource::random(uint64_t seed, const BatchShape &shape, int64_t maskedRows) {
  return std::make_unique<RandomSource>(seed, shape, maskedRows);
}

} // namespace npar::engine
