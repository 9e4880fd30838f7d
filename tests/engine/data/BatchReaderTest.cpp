// Batches are read before they are requested, in order, and at most two ahead.
#include "engine/data/BatchReader.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

/// Batches that hold their step; knows what was read, and fails from a step on.
class CountingSource final : public DataSource {
public:
  explicit CountingSource(int64_t broken = INT64_MAX) : broken(broken) {}
  Batch batch(int64_t step) const override {
    std::lock_guard<std::mutex> lock(mutex);
    ++read;
    changed.notify_all();
    return {std::vector<int32_t>{static_cast<int32_t>(step)}};
  }
  Status intact() const override { return read > broken ? Status::badInput("cut short") : Status(); }
  void goOnFrom(int64_t, int64_t) override {}
  int64_t position(int64_t step) const override { return step; }
  int64_t samples() const override { return 0; }

  /// Returns when this many batches have been read.
  void waitFor(int64_t count) const {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return read >= count; });
  }
  int64_t count() const {
    std::lock_guard<std::mutex> lock(mutex);
    return read;
  }

private:
  int64_t broken;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  mutable int64_t read = 0;
};

TEST(BatchReader, readsAheadAndInOrder) {
  CountingSource source;
  BatchReader reader(source, 3, 9);
  source.waitFor(3); // two are ready and one waits for its place, though none was asked for
  for (int32_t step = 3; step < 9; ++step) {
    EXPECT_LE(source.count(), step - 3 + 3);
    EXPECT_EQ(std::get<std::vector<int32_t>>(reader.next().batch[0]), std::vector<int32_t>{step});
  }
  EXPECT_EQ(source.count(), 6) << "no batch beyond the last step";
}

TEST(BatchReader, endsBeforeItsLastStep) {
  CountingSource source;
  { BatchReader reader(source, 0, 1000); }
  { BatchReader none(source, 5, 5); }
  EXPECT_LE(source.count(), 3);
}

/// A file that is cut while it is read ahead ends the training at the batch that misses it, not before.
TEST(BatchReader, saysWithWhichBatchTheDataBroke) {
  CountingSource source(2);
  BatchReader reader(source, 0, 4);
  for (int step = 0; step < 2; ++step)
    EXPECT_TRUE(reader.next().intact.ok());
  EXPECT_FALSE(reader.next().intact.ok());
}

} // namespace
} // namespace npar::testing
