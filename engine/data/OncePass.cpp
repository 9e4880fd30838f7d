// Cuts data into batches, the last of which is padded with samples that do not count.
#include "engine/data/OncePass.h"

#include "engine/data/DataCheck.h"
#include "engine/data/ReadFailure.h"
#include "engine/data/ReadRows.h"
#include "engine/data/TextSamples.h"

#include <algorithm>
#include <numeric>

namespace npar::engine {

using program::InputRole;

namespace {

class TokenPass final : public OncePass {
public:
  TokenPass(std::shared_ptr<TokenFile> tokens, const BatchShape &shape)
      : tokens(std::move(tokens)), shape(shape), ignore(shape.find(InputRole::Shifted)->ignore), length(shape.tokensOfSample()),
        targets(this->tokens->size() - 1) {}

  int64_t steps() const override { return (targets + length * shape.rows - 1) / (length * shape.rows); }

  int64_t samples() const override { return (targets + length - 1) / length; }

  Status intact() const override { return failure.first(); }

  CountedBatch batch(int64_t step) const override {
    CountedBatch result;
    result.samples = std::min(shape.rows, samples() - step * shape.rows);
    int64_t first = step * length * shape.rows;
    std::vector<int32_t> window = read(first);
    for (const InputShape &input : shape.inputs)
      result.batch.push_back(
          withInputType(input.type, [&](auto element) { return InputValues(valuesOf<decltype(element)>(input, first, window)); }));
    for (int64_t i = 0; i < length * shape.rows; ++i)
      result.counts.push_back(first + i < targets && !(ignore && window[static_cast<size_t>(i + 1)] == *ignore));
    return result;
  }

private:
  /// The tokens of a batch and the one after it; zeros for what is not needed or not there.
  std::vector<int32_t> read(int64_t first) const {
    std::vector<int32_t> window(static_cast<size_t>(length * shape.rows + 1), 0);
    auto fill = [&](int64_t from, int64_t number) {
      if (int64_t there = std::min(number, tokens->size() - first - from); there > 0)
        failure.keep(tokens->read(first + from, there, window.data() + from));
    };
    if (ignore)
      fill(0, length * shape.rows + 1);
    else
      for (int64_t row : keptOf(shape.rows))
        fill(row * length, length + 1);
    return window;
  }

  /// Padding is token 0, for which every model has a class.
  template <typename T> std::vector<T> valuesOf(const InputShape &input, int64_t first, const std::vector<int32_t> &window) const {
    std::vector<T> values;
    std::vector<int64_t> rows = keptOf(shape.rows);
    values.reserve(rows.size() * static_cast<size_t>(length));
    for (int64_t row : rows)
      for (int64_t i = row * length, end = i + length; i < end; ++i)
        values.push_back(first + i < targets ? static_cast<T>(window[static_cast<size_t>(i + (input.role == InputRole::Shifted))]) : T(0));
    return values;
  }

  std::shared_ptr<TokenFile> tokens;
  BatchShape shape;
  std::optional<int32_t> ignore;
  int64_t length, targets;
  ReadFailure failure;
};

class SamplesPass final : public OncePass {
public:
  SamplesPass(std::vector<std::unique_ptr<Samples>> files, const BatchShape &shape, uint64_t positions)
      : files(std::move(files)), shape(shape), positions(positions) {
    for (const std::unique_ptr<Samples> &file : this->files)
      count += file->samples();
  }

  int64_t steps() const override { return (count + shape.rows - 1) / shape.rows; }
  int64_t samples() const override { return count; }
  std::vector<std::string> classes() const override { return files[0]->classes(); }
  std::string nameOf(int64_t sample) const override {
    const SamplePlace place = placeOf(sample);
    return files[static_cast<size_t>(place.file)]->name(place.sample);
  }
  std::vector<std::string> textsOf(int64_t sample) const override {
    const SamplePlace place = placeOf(sample);
    return files[static_cast<size_t>(place.file)]->texts(place.sample);
  }
  Status intact() const override { return failure.first(); }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> all = remarksOf(files);
    for (const std::unique_ptr<Samples> &file : files)
      if (std::string text = file->leftOver(); !text.empty())
        all.push_back(text);
    return all;
  }

  CountedBatch batch(int64_t step) const override {
    CountedBatch result;
    result.samples = std::min(shape.rows, count - step * shape.rows);
    std::vector<int64_t> rows = keptOf(shape.rows), all(static_cast<size_t>(shape.rows));
    std::iota(all.begin(), all.end(), int64_t{0});
    for (int64_t row : all)
      result.counts.insert(result.counts.end(), positions, step * shape.rows + row < count);
    result.batch = read(step, rows);
    if (!ignores())
      return result;
    Batch whole = rows.size() == all.size() ? Batch() : read(step, all);
    for (size_t i = 0; i < shape.inputs.size(); ++i)
      if (leavesOut(shape.inputs[i]))
        std::visit([&](const auto &values) { leaveOut(values, *shape.inputs[i].ignore, result.counts); },
                   (whole.empty() ? result.batch : whole)[i]);
    return result;
  }

private:
  /// The file of a sample, counted over all of them, and its number there.
  SamplePlace placeOf(int64_t sample) const {
    SamplePlace place{0, sample};
    for (; place.sample >= files[static_cast<size_t>(place.file)]->samples(); ++place.file)
      place.sample -= files[static_cast<size_t>(place.file)]->samples();
    return place;
  }

  Batch read(int64_t step, const std::vector<int64_t> &rows) const {
    std::vector<SamplePlace> places;
    for (int64_t row : rows)
      places.push_back(step * shape.rows + row < count ? placeOf(step * shape.rows + row) : SamplePlace()); // padding
    Batch batch;
    failure.keep(readRows(files, places, shape, workers, batch));
    return batch;
  }

  bool leavesOut(const InputShape &input) const { return input.ignore && input.elementsOfSample() == positions; }
  bool ignores() const {
    return std::any_of(shape.inputs.begin(), shape.inputs.end(), [this](const InputShape &input) { return leavesOut(input); });
  }
  template <typename T> static void leaveOut(const std::vector<T> &targets, int32_t ignored, std::vector<uint8_t> &counts) {
    for (size_t i = 0; i < targets.size(); ++i)
      if (targets[i] == static_cast<T>(ignored))
        counts[i] = 0;
  }

  std::vector<std::unique_ptr<Samples>> files;
  BatchShape shape;
  uint64_t positions;
  int64_t count = 0;
  ReadFailure failure;
};

} // namespace

std::vector<int64_t> OncePass::keptOf(int64_t rows) const {
  if (kept)
    return *kept;
  std::vector<int64_t> all(static_cast<size_t>(rows));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

Result<std::unique_ptr<OncePass>> OncePass::openTokens(const std::string &path, TokenFormat format, const BatchShape &shape,
                                                       uint64_t positions) {
  const InputShape *shifted = shape.find(InputRole::Shifted);
  if (!shape.find(InputRole::Stream) || !shifted || shape.inputs.size() != 2 || shifted->elementsOfSample() != positions)
    return Status::badInput("a file of tokens feeds only a sequence and its shifted targets: it cannot feed " + shape.names() +
                            "; give a safetensors file with a tensor for each");
  Result<std::shared_ptr<TokenFile>> file = TokenFile::open(path, format);
  if (!file.ok())
    return file.status();
  if ((*file)->size() < 2)
    return Status::badInput("data '" + path + "' has " + std::to_string((*file)->size()) + ((*file)->size() == 1 ? " token" : " tokens") +
                            "; the first has no predecessor, so at least two are needed");
  Result<DataPlan> plan = DataPlan::ofStream(path, format, shape);
  if (!plan.ok())
    return plan.status();
  if (Status status = checkTokenValues({path, "", *file, nullptr, plan->groups[0].feeds}, shape); !status.ok())
    return status;
  std::unique_ptr<OncePass> pass = std::make_unique<TokenPass>(std::move(*file), shape);
  pass->read = {path};
  return pass;
}

/// Returns true for one unsplit stream in which each token after the first is the target of the token before it.
static bool isPlainStream(const DataPlan &plan, const BatchShape &shape, uint64_t positions) {
  const DataGroup &group = plan.groups[0];
  const InputShape *shifted = shape.find(InputRole::Shifted);
  return plan.isStream() && group.files.size() == 1 && group.files[0].lengths.empty() && plan.mask.empty() && plan.split.shares.empty() &&
         shape.inputs.size() == 2 && shape.find(InputRole::Stream) && shifted && shifted->elementsOfSample() == positions &&
         std::all_of(group.feeds.begin(), group.feeds.end(), [&](const DataFeed &feed) {
           return !feed.valid && feed.shift == (shape.inputs[feed.input].role == InputRole::Shifted ? 1 : 0);
         });
}

Result<std::unique_ptr<OncePass>> OncePass::open(const DataPlan &given, const BatchShape &shape, uint64_t positions, bool wholeSamples) {
  if (!wholeSamples && isPlainStream(given, shape, positions))
    return openTokens(given.groups[0].files[0].path, given.groups[0].files[0].format, shape, positions);
  DataPlan plan = given;
  if (plan.groups[0].files.size() > 1)
    TRY_STATUS(nameClasses(plan)); // once for all files
  std::vector<std::unique_ptr<Samples>> files;
  int64_t samples = 0;
  for (size_t i = 0; i < plan.groups[0].files.size(); ++i) {
    Result<std::unique_ptr<Samples>> file = openSamples(plan, i, shape);
    if (!file.ok())
      return file.status();
    samples += (*file)->samples();
    files.push_back(std::move(*file));
  }
  if (samples == 0)
    return Status::badInput("data " + files[0]->description() + (plan.split.shares.empty() ? "" : " in this part of its split") +
                            ": there is nothing to go through");
  std::unique_ptr<OncePass> pass = std::make_unique<SamplesPass>(std::move(files), shape, positions);
  pass->read = plan.paths();
  return pass;
}

Result<std::unique_ptr<OncePass>> OncePass::openTensors(const std::string &path, const BatchShape &shape, uint64_t positions) {
  return open(DataPlan::ofTensors(path, shape), shape, positions);
}

} // namespace npar::engine
