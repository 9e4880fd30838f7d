// Opens the samples of a plan's files.
#include "engine/data/PictureSamples.h"
#include "engine/data/StreamSamples.h"
#include "engine/data/TensorData.h"
#include "engine/data/TextSamples.h"

namespace npar::engine {

Result<std::unique_ptr<Samples>> openSamples(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use) {
  if (plan.isStream())
    return StreamSamples::open(plan, file, shape);
  if (plan.hasPictures())
    return PictureSamples::open(plan, file, shape, use);
  if (plan.hasTexts())
    return TextSamples::open(plan, file, shape, use);
  std::vector<TensorPlace> places(shape.inputs.size());
  for (const DataGroup &group : plan.groups)
    for (const DataFeed &feed : group.feeds)
      places[feed.input] = {group.files[file].path, feed.tensor};
  Result<TensorData> data = TensorData::open(places, shape);
  if (!data.ok())
    return data.status();
  return std::unique_ptr<Samples>(new TensorSamples(std::move(*data), plan.split, file));
}

std::vector<std::string> remarksOf(const std::vector<std::unique_ptr<Samples>> &files) {
  std::vector<std::string> all;
  for (const std::unique_ptr<Samples> &file : files)
    for (std::string &text : file->remarks())
      all.push_back(std::move(text));
  return all;
}

Batch batchOf(const BatchShape &shape, size_t rows) {
  Batch batch;
  for (const InputShape &input : shape.inputs)
    batch.push_back(withInputType(
        input.type, [&](auto element) { return InputValues(std::vector<decltype(element)>(rows * input.elementsOfSample())); }));
  return batch;
}

} // namespace npar::engine
