// Selects the samples of a training step's batch, by step, seed and epoch alone, never by plan.
#include "engine/data/SampleOrder.h"

#include "engine/data/Permutation.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace npar::engine {

Result<Order> sampleOrder(const std::string &name) {
  if (std::optional<Order> order = program::valueOf<Order>(name))
    return *order;
  return Status::badInput("unknown order '" + name + "': use shuffled or sequential");
}

SampleOrder::SampleOrder(OrderSettings given) : settings(std::move(given)) {
  for (int64_t samples : settings.counts) {
    begins.push_back(count);
    count += samples;
  }
  // Each place goes to the file that lags furthest in its share of the places so far.
  auto sum = std::accumulate(settings.weights.begin(), settings.weights.end(), int64_t{0});
  std::vector<int64_t> had(settings.weights.size());
  for (int64_t place = 0; place < sum; ++place) {
    size_t next = 0;
    for (size_t file = 1; file < had.size(); ++file)
      if (settings.weights[file] * (place + 1) - sum * had[file] > settings.weights[next] * (place + 1) - sum * had[next])
        next = file;
    round.push_back({static_cast<int32_t>(next), had[next]++});
  }
}

/// Places of one batch to samples; permutations are made when a file and an epoch are first met.
class SampleOrder::Lookup {
public:
  explicit Lookup(const SampleOrder &order) : order(order) {}

  SamplePlace at(int64_t place) {
    const OrderSettings &settings = order.settings;
    if (settings.weights.empty()) {
      int64_t sample = permuted(0, order.count, place / order.count, place % order.count);
      auto after = std::upper_bound(order.begins.begin(), order.begins.end(), sample);
      auto file = static_cast<size_t>(after - order.begins.begin()) - 1; // of empty files that begin there the last, which is not empty
      return {static_cast<int32_t>(file), sample - order.begins[file], place / order.count};
    }
    auto length = static_cast<int64_t>(order.round.size());
    const Turn &turn = order.round[static_cast<size_t>(place % length)];
    auto file = static_cast<size_t>(turn.file);
    int64_t number = place / length * settings.weights[file] + turn.before, samples = settings.counts[file];
    return {turn.file, permuted(turn.file, samples, number / samples, number % samples), number / samples};
  }

private:
  int64_t permuted(int32_t file, int64_t samples, int64_t epoch, int64_t sample) {
    if (order.settings.order == Order::Sequential)
      return sample;
    auto key = std::pair(file, epoch);
    auto found = known.find(key);
    if (found == known.end())
      found = known.emplace(key, Permutation(samples, order.settings.seed, static_cast<uint64_t>(epoch) + (uint64_t(file) << 40))).first;
    return found->second(sample);
  }

  const SampleOrder &order;
  std::map<std::pair<int32_t, int64_t>, Permutation> known;
};

int64_t SampleOrder::position(int64_t step) const {
  int64_t steps = step - firstStep, rows = settings.rows;
  if (settings.last == LastBatch::Join)
    return firstPlace + steps * rows;
  auto batchesOf = [&](int64_t samples) { return (samples + (settings.last == LastBatch::Pad ? rows - 1 : 0)) / rows; };
  int64_t epoch = firstPlace / count, begin = firstPlace % count, inFirst = batchesOf(count - begin);
  if (steps < inFirst)
    return firstPlace + steps * rows;
  steps -= inFirst;
  return (epoch + 1 + steps / batchesOf(count)) * count + steps % batchesOf(count) * rows;
}

double SampleOrder::batchesPerEpoch() const {
  const int64_t rows = settings.rows;
  switch (settings.last) {
  case LastBatch::Join:
    break;
  case LastBatch::Drop:
    return static_cast<double>(count / rows);
  case LastBatch::Pad:
    return static_cast<double>((count + rows - 1) / rows);
  }
  return static_cast<double>(count) / static_cast<double>(rows);
}

std::vector<SamplePlace> SampleOrder::batch(int64_t step) const {
  int64_t begin = position(step), end = settings.last == LastBatch::Join ? INT64_MAX : (begin / count + 1) * count;
  Lookup lookup(*this);
  std::vector<SamplePlace> result;
  for (int64_t place = begin; place < begin + settings.rows; ++place)
    result.push_back(place < end ? lookup.at(place) : SamplePlace());
  return result;
}

} // namespace npar::engine
