// Divides the sizes of files.
#include "engine/data/SampleCount.h"

#include "engine/data/IdxFile.h"
#include "engine/data/ImageFolder.h"
#include "engine/data/Samples.h"
#include "engine/data/TokenFile.h"
#include "engine/safetensors/Safetensors.h"

#include <algorithm>

namespace npar::engine {
namespace {

int64_t countTensors(const DataPlan &plan, size_t file) {
  Result<std::shared_ptr<SafetensorsFile>> opened = SafetensorsFile::open(plan.groups[0].files[file].path, "data");
  if (!opened.ok() || plan.groups[0].feeds.empty())
    return 0;
  auto tensor = (*opened)->tensors().find(plan.groups[0].feeds[0].tensor);
  if (tensor == (*opened)->tensors().end() || tensor->second.shape.empty())
    return 0;
  return SamplePart(tensor->second.shape[0], plan.split, file).size();
}

int64_t countPictures(const DataPlan &plan, size_t file) {
  const std::string &path = plan.groups[0].files[file].path;
  int64_t count = 0;
  if (plan.format() == DataFormat::Images) {
    Result<ImageFolder> folder = ImageFolder::open(path, /*needed=*/false);
    count = folder.ok() ? folder->samples() : 0;
  } else {
    Result<std::shared_ptr<IdxFile>> array = IdxFile::open(path);
    count = array.ok() ? (*array)->samples() : 0;
  }
  return SamplePart(count, plan.split, file).size();
}

int64_t countOpened(const DataPlan &plan, size_t file, const BatchShape &shape) {
  Result<std::unique_ptr<Samples>> opened = openSamples(plan, file, shape, {false, 0, /*counts=*/true});
  return opened.ok() ? (*opened)->samples() : 0;
}

int64_t countStream(const DataPlan &plan, size_t file, const BatchShape &shape) {
  const DataFile &from = plan.groups[0].files[file];
  int64_t length = shape.tokensOfSample();
  if (!from.lengths.empty()) // documents are cut one by one
    return countOpened(plan, file, shape);
  Result<std::shared_ptr<TokenFile>> tokens = TokenFile::open(from.path, from.format);
  if (!tokens.ok() || length == 0)
    return 0;
  return SamplePart(std::max<int64_t>(0, (*tokens)->size() - plan.reach()) / length, plan.split, file).size();
}

} // namespace

int64_t countSamples(const DataPlan &plan, const BatchShape &shape) {
  int64_t count = 0;
  for (size_t file = 0; !plan.groups.empty() && file < plan.groups[0].files.size(); ++file)
    count += plan.isStream()      ? countStream(plan, file, shape)
             : plan.hasTexts()    ? countOpened(plan, file, shape) // rows end where quotes say
             : plan.hasPictures() ? countPictures(plan, file)
                                  : countTensors(plan, file);
  return count;
}

int64_t countTokenSamples(const std::string &path, DataFormat format, const BatchShape &shape) {
  Result<std::shared_ptr<TokenFile>> tokens = TokenFile::open(path, format);
  int64_t length = shape.tokensOfSample();
  return tokens.ok() && length > 0 ? std::max<int64_t>(0, (*tokens)->size() - 1 + length - 1) / length : 0;
}

} // namespace npar::engine
