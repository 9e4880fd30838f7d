// The source of global batches that reads files.
#include "engine/data/DataSource.h"

#include "engine/data/NumberText.h"
#include "engine/data/ReadFailure.h"
#include "engine/data/ReadRows.h"

namespace npar::engine {

namespace {

class FileSource final : public DataSource {
public:
  FileSource(const DataPlan &plan, std::vector<std::unique_ptr<Samples>> files, OrderSettings settings, const BatchShape &shape)
      : plan(plan), files(std::move(files)), sampler(std::move(settings)), shape(shape) {}

  void goOnFrom(int64_t step, int64_t taken) override { sampler.goOnFrom(step, taken); }
  int64_t position(int64_t step) const override { return sampler.position(step); }
  std::vector<SamplePlace> places(int64_t step) const override { return sampler.batch(step); }
  std::string nameOf(const SamplePlace &place) const override {
    return place.fills() ? "" : files[static_cast<size_t>(place.file)]->name(place.sample);
  }
  std::vector<std::string> classes() const override { return files[0]->classes(); }
  int64_t samples() const override { return sampler.samples(); }
  double stepsPerEpoch() const override { return sampler.batchesPerEpoch(); }
  std::string stream() const override { return plan.stream(); }
  std::string order() const override { return plan.orderText(); }

  Batch batch(int64_t step) const override {
    Batch result;
    failure.keep(readRows(files, keptOf(sampler.batch(step)), shape, workers, result));
    return result;
  }

  Status intact() const override { return failure.first(); }

  std::vector<std::string> remarks() const override { return remarksOf(files); }

private:
  DataPlan plan;
  std::vector<std::unique_ptr<Samples>> files;
  SampleOrder sampler;
  BatchShape shape;
  ReadFailure failure;
};

/// Refuses samples that a batch would repeat, and files that have none.
Status checkEnough(const DataPlan &plan, const std::vector<std::unique_ptr<Samples>> &files, const BatchShape &shape) {
  int64_t all = 0;
  for (const std::unique_ptr<Samples> &file : files) {
    if (file->samples() == 0 && plan.groups[0].files[0].weight)
      return Status::badInput("data " + file->description() + (plan.split.shares.empty() ? "" : " in this part") +
                              ", but has a weight: there is nothing to draw from");
    all += file->samples();
  }
  if (all >= shape.rows)
    return {};
  std::string has = files.size() == 1 ? files[0]->description()
                                      : "in " + number(static_cast<int64_t>(files.size())) + " files has " + number(all) + " samples";
  if (!plan.split.shares.empty())
    has += " in part " + number(static_cast<int64_t>(plan.split.part) + 1) + " of its split";
  return Status::badInput("data " + has + ", but a batch needs " + number(shape.rows) + " and would repeat some; make the batch smaller" +
                          (plan.isStream() ? " or the samples shorter, or give a longer file" : ", or give more samples"));
}

} // namespace

Result<std::unique_ptr<DataSource>> DataSource::open(const DataPlan &plan, uint64_t seed, const BatchShape &shape) {
  OrderSettings settings{plan.order, plan.last, plan.seed.value_or(seed), {}, {}, shape.rows};
  std::vector<std::unique_ptr<Samples>> files;
  for (size_t i = 0; i < plan.groups[0].files.size(); ++i) {
    Result<std::unique_ptr<Samples>> file =
        openSamples(plan, i, shape, {plan.split.part == 0, settings.seed}); // the first part is trained on
    if (!file.ok())
      return file.status();
    settings.counts.push_back((*file)->samples());
    if (uint32_t weight = plan.groups[0].files[i].weight)
      settings.weights.push_back(weight);
    files.push_back(std::move(*file));
  }
  if (Status status = checkEnough(plan, files, shape); !status.ok())
    return status;
  return std::unique_ptr<DataSource>(new FileSource(plan, std::move(files), std::move(settings), shape));
}

Result<std::unique_ptr<DataSource>> DataSource::openTokens(const std::string &path, TokenFormat format, Order order, uint64_t seed,
                                                           const BatchShape &shape, const std::string &mask) {
  Result<DataPlan> plan = DataPlan::ofStream(path, format, shape);
  if (!plan.ok())
    return plan.status();
  plan->order = order, plan->mask = mask;
  return open(*plan, seed, shape);
}

Result<std::unique_ptr<DataSource>> DataSource::openTensors(const std::string &path, Order order, uint64_t seed, const BatchShape &shape) {
  DataPlan plan = DataPlan::ofTensors(path, shape);
  plan.order = order;
  return open(plan, seed, shape);
}

} // namespace npar::engine
