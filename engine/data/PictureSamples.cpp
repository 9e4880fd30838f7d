#include "engine/data/PictureSamples.h"

#include "engine/data/NumberText.h"

#include <algorithm>

namespace npar::engine {
namespace {

/// The sizes without those of 1: an input over [channel 1, row, column] takes an array of rows and columns.
std::vector<int64_t> withoutOnes(std::vector<int64_t> sizes) {
  sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
  return sizes;
}

std::string listText(const std::vector<int64_t> &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : ", ") + number(size);
  return "[" + text + "]";
}

} // namespace

Result<std::unique_ptr<Samples>> PictureSamples::open(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use) {
  std::unique_ptr<PictureSamples> samples(new PictureSamples(plan, file, shape, use));
  Status status = samples->openGroups();
  if (!status.ok())
    return status;
  samples->part.emplace(samples->count, plan.split, file);
  if (samples->samples() > 0) { // a picture that does not fit is found before the training
    Batch trial = emptyBatch(shape);
    samples->append(0, 0, trial);
    status = samples->intact();
  }
  return status.ok() ? Result<std::unique_ptr<Samples>>(std::move(samples)) : status;
}

Status PictureSamples::openGroups() {
  bool isFirst = true;
  for (const DataGroup &group : plan.groups) {
    const std::string &path = group.files[number].path;
    if (group.files[number].format == DataFormat::Images) {
      Result<ImageFolder> opened = ImageFolder::open(path);
      if (!opened.ok())
        return opened.status();
      folder = std::move(*opened);
      count = folder->samples();
      worthKnowing = folder->remarks();
      if (Status status = checkFolder(group); !status.ok())
        return status;
      continue;
    }
    size_t input = group.feeds[0].input;
    Result<std::shared_ptr<IdxFile>> opened = IdxFile::open(path);
    if (!opened.ok())
      return opened.status();
    arrays[input] = *opened;
    if (!isFirst && arrays[input]->samples() != count)
      return Status::badInput("'" + path + "' has " + engine::number(arrays[input]->samples()) + " samples, '" +
                              plan.groups[0].files[number].path + "' has " + engine::number(count));
    count = arrays[input]->samples(), isFirst = false;
    if (Status status = checkArray(input); !status.ok())
      return Status::badInput("'" + path + "' " + status.message());
  }
  return {};
}

Status PictureSamples::checkFolder(const DataGroup &group) {
  const std::string &path = group.files[number].path;
  auto classes = static_cast<int64_t>(folder->classes().size());
  for (const DataFeed &feed : group.feeds) {
    const InputShape &input = shape.inputs[feed.input];
    if (!feed.isClass && !input.has(255))
      return Status::badInput("'" + path + "' has pictures of values 0 to 255 for input '" + input.name + "', but " + input.rangeText());
    if (feed.isClass && !input.has(classes - 1))
      return Status::badInput("'" + path + "' has " + engine::number(classes) + " class folders for input '" + input.name + "', but " +
                              input.rangeText());
    if (feed.isClass && input.range.classes > classes)
      worthKnowing.push_back("'" + path + "' has " + engine::number(classes) + " class folders, but " + input.rangeText());
  }
  return {};
}

/// Errors begin after the name of the file.
Status PictureSamples::checkArray(size_t index) {
  const InputShape &input = shape.inputs[index];
  const std::vector<int64_t> &sizes = arrays[index]->shape();
  std::vector<int64_t> sample(sizes.begin() + 1, sizes.end()), wanted(input.shape.begin() + 1, input.shape.end());
  bool isPicture = takesPictures(index) && sample.size() == 2;
  if (!isPicture && withoutOnes(sample) != withoutOnes(wanted))
    return Status::badInput("has samples of shape " + listText(sample) + ", but input '" + input.name + "' is " + input.typeText());
  return input.has(255) ? Status() : checkNumbers(index);
}

Status PictureSamples::checkNumbers(size_t index) {
  const InputShape &input = shape.inputs[index];
  std::vector<uint8_t> bytes(arrays[index]->sampleSize());
  bool counts = count == 0 || !input.ignore;
  for (int64_t sample = 0; sample < count; ++sample) {
    if (Status status = arrays[index]->read(sample, bytes.data()); !status.ok())
      return status;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (!input.takes(bytes[i]))
        return Status::badInput("has in sample " + engine::number(sample) + " '" + input.name + "' " + engine::number(bytes[i]) +
                                input.positionText(i) + ", but " + input.rangeText());
      counts |= bytes[i] != *input.ignore;
    }
  }
  return counts ? Status() : Status::badInput("has only targets that the model ignores: there is nothing to train on");
}

int64_t PictureSamples::channelsOf(size_t index) const {
  const std::vector<int64_t> &sizes = shape.inputs[index].shape;
  return sizes.size() == 4 ? sizes[1] : 1;
}

const std::string &PictureSamples::pathOf(size_t input) const {
  auto feeds = [input](const DataGroup &group) {
    return std::any_of(group.feeds.begin(), group.feeds.end(), [input](const DataFeed &feed) { return feed.input == input; });
  };
  return std::find_if(plan.groups.begin(), plan.groups.end(), feeds)->files[number].path;
}

Result<pictures::Picture> PictureSamples::picture(size_t index, int64_t item, int64_t epoch) const {
  const std::vector<int64_t> &sizes = shape.inputs[index].shape;
  Result<pictures::Picture> found = pictures::Picture();
  std::string which;
  if (arrays[index]) {
    const std::vector<int64_t> &stored = arrays[index]->shape();
    pictures::Picture grey(stored[1], stored[2], 1);
    if (Status status = arrays[index]->read(item, grey.bytes.data()); !status.ok())
      return status;
    found = pictures::withChannels(std::move(grey), channelsOf(index));
    which = "sample " + engine::number(item) + " of '" + pathOf(index) + "'";
  } else {
    found = folder->read(item, channelsOf(index));
    which = "picture '" + plan.groups[0].files[number].path + "/" + folder->name(item) + "'";
  }
  if (!found.ok())
    return found;
  pictures::Draws draws(use.seed, number, static_cast<uint64_t>(epoch), static_cast<uint64_t>(item));
  found =
      pictures::prepare(std::move(*found), use.trains ? plan.training : plan.evaluation, {sizes[sizes.size() - 2], sizes.back()}, draws);
  return found.ok() ? std::move(found) : Status(found.status().code(), which + " has " + found.status().message());
}

template <typename T> Status PictureSamples::appendTo(std::vector<T> &values, const DataFeed &feed, int64_t item, int64_t epoch) const {
  size_t before = values.size();
  values.resize(before + shape.inputs[feed.input].elementsOfSample());
  T *to = values.data() + before;
  if (feed.isClass) {
    *to = static_cast<T>(folder->classOf(item));
    return {};
  }
  if (const std::shared_ptr<IdxFile> &array = arrays[feed.input]; array && !(takesPictures(feed.input) && array->shape().size() == 3)) {
    std::vector<uint8_t> bytes(array->sampleSize());
    Status status = array->read(item, bytes.data());
    std::copy(bytes.begin(), bytes.end(), to);
    return status;
  }
  Result<pictures::Picture> made = picture(feed.input, item, epoch);
  if (!made.ok())
    return made.status();
  int64_t pixels = made->height * made->width; // channels apart: [channel, row, column]
  for (int64_t channel = 0; channel < made->channels; ++channel)
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      to[channel * pixels + pixel] = static_cast<T>(made->bytes[static_cast<size_t>(pixel * made->channels + channel)]);
  return {};
}

void PictureSamples::append(int64_t sample, int64_t epoch, Batch &batch) const {
  int64_t item = (*part)(sample);
  for (const DataGroup &group : plan.groups)
    for (const DataFeed &feed : group.feeds)
      std::visit([&](auto &values) { failure.keep(appendTo(values, feed, item, epoch)); }, batch[feed.input]);
}

std::string PictureSamples::description() const {
  return "'" + plan.groups[0].files[number].path + "' has " + engine::number(samples()) + (samples() == 1 ? " sample" : " samples");
}

std::string PictureSamples::name(int64_t sample) const { return folder ? folder->name((*part)(sample)) : ""; }

} // namespace npar::engine
