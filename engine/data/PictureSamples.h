// Samples of IDX files and of folders of pictures.
#pragma once

#include "engine/data/IdxFile.h"
#include "engine/data/ImageFolder.h"
#include "engine/data/Samples.h"

#include <optional>

namespace npar::engine {

/// Each IDX file feeds one input; a folder feeds one with its pictures and perhaps one with their classes. An input over rows and columns,
/// and perhaps channels before them, takes pictures, which the steps of the data block prepare. Thread-safe to read.
class PictureSamples final : public Samples {
public:
  /// Refuses IDX files of different numbers of samples or of other shapes than the inputs, numbers without a class, steps that would mix
  /// classes, more folders than classes, folders of different classes, and a first picture that does not fit. Other pictures of a folder
  /// are read when their batch is made.
  static Result<std::unique_ptr<Samples>> open(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use);
  int64_t samples() const override { return part->size(); }
  Status write(int64_t sample, int64_t epoch, Batch &batch, size_t row) const override;
  bool isComputed() const override { return folder || !steps().empty(); }
  std::vector<std::string> remarks() const override { return worthKnowing; }
  std::string description() const override;
  std::string name(int64_t sample) const override;
  std::vector<std::string> classes() const override;

private:
  PictureSamples(const DataPlan &plan, size_t file, const BatchShape &shape, PictureUse use)
      : plan(plan), number(file), shape(shape), use(use), arrays(shape.inputs.size()) {}
  Status openGroups();
  Status checkClasses(const DataGroup &group) const;
  Status checkFolder(const DataGroup &group);
  Status checkArray(size_t input);
  Status checkNumbers(size_t input);
  bool takesPictures(size_t input) const { return shape.inputs[input].shape.size() >= 3; }
  bool hasColours(size_t input) const; ///< else classes, which steps must not mix
  bool isPicture(size_t input) const;  ///< true for the pictures of an array
  int64_t channelsOf(size_t input) const;
  const std::string &pathOf(size_t input) const;
  Result<pictures::Picture> arrayPicture(const IdxFile &array, int64_t item) const;
  Result<pictures::Picture> picture(size_t input, int64_t item, int64_t epoch) const;
  const std::vector<pictures::Step> &steps() const { return use.trains ? plan.training : plan.evaluation; }
  template <typename T> Status writeTo(T *to, const DataFeed &feed, int64_t item, int64_t epoch) const;

  DataPlan plan;
  size_t number; ///< of the file
  BatchShape shape;
  PictureUse use;
  int64_t count = 0;
  std::vector<std::shared_ptr<IdxFile>> arrays; ///< by input; null for a folder
  std::optional<ImageFolder> folder;
  std::optional<SamplePart> part;
  std::vector<std::string> worthKnowing;
};

} // namespace npar::engine
