#include "engine/data/PictureSamples.h"

#include "engine/data/ClassNames.h"
#include "engine/data/NumberText.h"
#include "engine/files/ClassFolders.h"
#include "engine/program/PrintText.h"
#include "engine/readable/Printable.h"

#include <algorithm>

namespace npar::engine {
namespace {

/// The sizes without those of 1: an input over [channel 1, row, column] takes an array of rows and columns.
std::vector<int64_t> withoutOnes(std::vector<int64_t> sizes) {
  sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
  return sizes;
}

bool feedsClasses(const DataGroup &group) {
  return std::any_of(group.feeds.begin(), group.feeds.end(), [](const DataFeed &feed) { return feed.isClass; });
}

} // namespace

Result<std::unique_ptr<Samples>> PictureSamples::open(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use) {
  std::unique_ptr<PictureSamples> samples(new PictureSamples(plan, file, shape, use));
  Status status = samples->openGroups();
  if (!status.ok())
    return status;
  samples->part.emplace(samples->count, plan.split, file);
  if (samples->samples() > 0 && !use.counts) { // a picture that does not fit is found before the training
    Batch trial = batchOf(shape, 1);
    status = samples->write(0, 0, trial, 0);
  }
  return status.ok() ? Result<std::unique_ptr<Samples>>(std::move(samples)) : status;
}

Status PictureSamples::openGroups() {
  bool isFirst = true;
  for (const DataGroup &group : plan.groups) {
    const std::string &path = group.files[number].path;
    if (group.files[number].format == DataFormat::Images) {
      Result<ImageFolder> opened = ImageFolder::open(path, feedsClasses(group));
      if (!opened.ok())
        return opened.status();
      folder = std::move(*opened);
      count = folder->samples();
      worthKnowing = folder->remarks();
      if (Status status = checkClasses(group); !status.ok())
        return status;
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

/// A class is a number in all folders of a group, so they must have the same classes.
Status PictureSamples::checkClasses(const DataGroup &group) const {
  const std::string &path = group.files[number].path, &first = group.files[0].path;
  if (number == 0 || !feedsClasses(group))
    return {};
  TRY(std::vector<std::string> expected, files::classesIn(first));
  std::string difference = classDifference({"'" + path + "'", folder->classes()}, {"'" + first + "'", expected});
  return difference.empty() ? Status() : Status::badInput(difference + "; give the folders of a data block sub-folders of the same names");
}

/// Errors begin after the name of the file.
Status PictureSamples::checkArray(size_t index) {
  const InputShape &input = shape.inputs[index];
  const std::vector<int64_t> &sizes = arrays[index]->shape();
  std::vector<int64_t> sample(sizes.begin() + 1, sizes.end()), wanted(input.shape.begin() + 1, input.shape.end());
  const bool isChanged = takesPictures(index) && !(plan.training.empty() && plan.evaluation.empty());
  if (isChanged && !hasColours(index))
    return Status::badInput("feeds input '" + input.name + "', which steps would change: they mix the values of u8 pictures, but " +
                            (!input.has(255)                          ? input.rangeText()
                             : input.type != program::ElementType::U8 ? "the input is " + input.typeText()
                                                                      : engine::number(*input.ignore) + " does not count in the loss") +
                            "; give arrays that have the sizes of the inputs and remove the steps");
  if (!isPicture(index) && (isChanged || withoutOnes(sample) != withoutOnes(wanted)))
    return Status::badInput("has samples of shape " + program::listText(sample) + ", but input '" + input.name + "' is " +
                            input.typeText() +
                            (isChanged ? "; steps prepare arrays over [row, column], or [channel, row, column] with 1 or 3 channels" : ""));
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
      counts |= bytes[i] != input.ignore;
    }
  }
  return counts ? Status() : Status::badInput("has only targets that the model ignores: there is nothing to train on");
}

bool PictureSamples::hasColours(size_t index) const {
  const InputShape &input = shape.inputs[index];
  return input.type == program::ElementType::U8 && input.has(255) && !input.ignore;
}

/// Over rows and columns, after the samples and perhaps channels.
bool PictureSamples::isPicture(size_t index) const {
  const std::vector<int64_t> &sizes = arrays[index]->shape();
  if (!takesPictures(index) || sizes.size() < 3)
    return false;
  const int64_t channels = sizes.size() == 3 ? 1 : sizes[1];
  return channels == 1 || channels == channelsOf(index) || (channels == 3 && hasColours(index));
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

/// Reads a picture of an array [sample, row, column] or [sample, channel, row, column].
Result<pictures::Picture> PictureSamples::arrayPicture(const IdxFile &array, int64_t item) const {
  const std::vector<int64_t> &sizes = array.shape();
  const int64_t channels = sizes.size() == 3 ? 1 : sizes[1];
  pictures::Picture made(sizes[sizes.size() - 2], sizes.back(), channels);
  std::vector<uint8_t> planes(array.sampleSize());
  TRY_STATUS(array.read(item, planes.data()));
  const int64_t pixels = made.height * made.width;
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      made.bytes[static_cast<size_t>(pixel * channels + channel)] = planes[static_cast<size_t>(channel * pixels + pixel)];
  return made;
}

Result<pictures::Picture> PictureSamples::picture(size_t index, int64_t item, int64_t epoch) const {
  const std::vector<int64_t> &sizes = shape.inputs[index].shape;
  Result<pictures::Picture> found = pictures::Picture();
  std::string which;
  if (arrays[index]) {
    TRY(pictures::Picture read, arrayPicture(*arrays[index], item));
    found = pictures::withChannels(std::move(read), channelsOf(index));
    which = "sample " + engine::number(item) + " of '" + pathOf(index) + "'";
  } else {
    found = folder->read(item, channelsOf(index));
    which = "picture '" + plan.groups[0].files[number].path + "/" + folder->name(item) + "'";
  }
  if (!found.ok())
    return found;
  pictures::Draws draws(use.seed, number, static_cast<uint64_t>(epoch), static_cast<uint64_t>(item));
  found = pictures::prepare(std::move(*found), steps(), {sizes[sizes.size() - 2], sizes.back()}, draws);
  return found.ok() ? std::move(found) : Status(found.status().code(), which + " has " + found.status().message());
}

template <typename T> Status PictureSamples::writeTo(T *to, const DataFeed &feed, int64_t item, int64_t epoch) const {
  if (feed.isClass) {
    *to = static_cast<T>(folder->classOf(item));
    return {};
  }
  if (const std::shared_ptr<IdxFile> &array = arrays[feed.input]; array && !isPicture(feed.input)) {
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

Status PictureSamples::write(int64_t sample, int64_t epoch, Batch &batch, size_t row) const {
  int64_t item = (*part)(sample);
  for (const DataGroup &group : plan.groups)
    for (const DataFeed &feed : group.feeds) {
      auto write = [&](auto &values) { return writeTo(rowOf(values, shape.inputs[feed.input], row), feed, item, epoch); };
      TRY_STATUS(std::visit(write, batch[feed.input]));
    }
  return {};
}

std::string PictureSamples::description() const {
  return "'" + plan.groups[0].files[number].path + "' has " + engine::number(samples()) + (samples() == 1 ? " sample" : " samples");
}

std::vector<std::string> PictureSamples::classes() const {
  std::vector<std::string> names;
  if (folder && feedsClasses(plan.groups[0]))
    for (const std::string &name : folder->classes())
      names.push_back(readable::printableName(name));
  return names;
}

std::string PictureSamples::name(int64_t sample) const { return folder ? folder->name((*part)(sample)) : ""; }

} // namespace npar::engine
