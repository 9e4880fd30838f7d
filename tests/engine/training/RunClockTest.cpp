// Steps and epochs of a run, for each treatment of an epoch's last samples, also after a resume with another batch.
#include "engine/data/SampleOrder.h"
#include "engine/training/RunClock.h"

#include <gtest/gtest.h>

using namespace npar;
using namespace npar::engine;
using training::Interval;
using training::RunClock;

namespace {

/// Positions of `count` samples in batches of `rows`, without any sample.
class Positions final : public DataSource {
public:
  Positions(int64_t count, int64_t rows, LastBatch last)
      : order({Order::Sequential, last, 0, {count}, {}, rows}), rows(rows) {}
  Batch batch(int64_t) const override { return {}; }
  void goOnFrom(int64_t step, int64_t taken) override { order.goOnFrom(step, taken); }
  int64_t position(int64_t step) const override { return order.position(step); }
  int64_t samples() const override { return order.samples(); }
  double stepsPerEpoch() const override { return order.batchesPerEpoch(); }

  SampleOrder order;
  int64_t rows;
};

int64_t stepsOf(double epochs, int64_t count, int64_t rows, LastBatch last) {
  Positions data(count, rows, last);
  RunClock clock(0, epochs);
  EXPECT_TRUE(clock.start(data, rows, 0).ok());
  return clock.steps();
}

TEST(RunClock, RoundsStepsUp) {
  EXPECT_EQ(stepsOf(1, 100, 30, LastBatch::Join), 4); // 3.33 steps
  EXPECT_EQ(stepsOf(3, 100, 30, LastBatch::Join), 10);
  EXPECT_EQ(stepsOf(1, 100, 30, LastBatch::Drop), 3);
  EXPECT_EQ(stepsOf(3, 100, 30, LastBatch::Drop), 9);
  EXPECT_EQ(stepsOf(3, 100, 30, LastBatch::Pad), 12);
  EXPECT_EQ(stepsOf(0.5, 100, 30, LastBatch::Drop), 2); // of 1.5
  EXPECT_EQ(stepsOf(0.65, 100, 30, LastBatch::Drop), 2);
  EXPECT_EQ(stepsOf(2.5, 100, 30, LastBatch::Pad), 10);
  EXPECT_EQ(stepsOf(0.1, 300, 1, LastBatch::Join), 30); // 0.1 * 300 is more than 30 in binary
  EXPECT_EQ(stepsOf(1e-6, 100, 30, LastBatch::Join), 1);
}

TEST(RunClock, FindsTheEndsOfEpochs) {
  Positions data(100, 30, LastBatch::Join);
  RunClock clock(0, 3);
  ASSERT_TRUE(clock.start(data, 30, 0).ok());
  std::vector<int64_t> ends, halves, threes;
  for (int64_t done = 1; done <= 10; ++done) {
    if (clock.isDue(Interval::epochs(1), done))
      ends.push_back(done);
    if (clock.isDue(Interval::epochs(1.5), done))
      halves.push_back(done);
    if (clock.isDue(Interval(3), done))
      threes.push_back(done);
  }
  EXPECT_EQ(ends, (std::vector<int64_t>{4, 7, 10}));
  EXPECT_EQ(halves, (std::vector<int64_t>{5, 10}));
  EXPECT_EQ(threes, (std::vector<int64_t>{3, 6, 9}));
  EXPECT_EQ(clock.dueBetween(Interval::epochs(1), 4, 10), 2);
  EXPECT_FALSE(clock.isDue(Interval(), 5));
}

TEST(RunClock, GoesOnWhereTheDataDo) {
  Positions data(96, 8, LastBatch::Join); // 12 steps
  RunClock clock(0, 2);
  data.goOnFrom(18, 18 * 8); // in the middle of the second epoch
  ASSERT_TRUE(clock.start(data, 8, 18).ok());
  EXPECT_EQ(clock.steps(), 24);
  EXPECT_EQ(clock.length().offset, 0);
  EXPECT_DOUBLE_EQ(clock.epochsAfter(18), 1.5);
  EXPECT_DOUBLE_EQ(clock.epochsAfter(6), 0.5);
}

TEST(RunClock, GoesOnWithAnotherBatch) {
  for (LastBatch last : {LastBatch::Join, LastBatch::Drop}) {
    Positions data(96, 16, last); // 6 steps
    RunClock clock(0, 2);
    data.goOnFrom(18, 144); // after 18 steps of 8 samples
    ASSERT_TRUE(clock.start(data, 16, 18).ok());
    EXPECT_EQ(clock.steps(), 21); // 48 samples are left
    EXPECT_TRUE(clock.isDue(Interval::epochs(1), 21));
    RunLength length = clock.length();
    EXPECT_EQ(length.stepsPerEpoch, 6);
    EXPECT_EQ(length.offset, -9); // step 18 is where step 9 of this batch would be
    EXPECT_EQ(length.steps, 21);
  }
}

TEST(RunClock, EndsAtOnceIfAllIsDone) {
  Positions data(96, 8, LastBatch::Join);
  RunClock clock(0, 1);
  data.goOnFrom(30, 240);
  ASSERT_TRUE(clock.start(data, 8, 30).ok());
  EXPECT_EQ(clock.steps(), 30);
}

TEST(RunClock, NeedsDataWithAnEnd) {
  BatchShape shape;
  shape.rows = 4;
  std::unique_ptr<DataSource> random = DataSource::random(1, shape);
  EXPECT_TRUE(RunClock(7).start(*random, 4, 0).ok());
  RunClock clock(0, 3);
  EXPECT_EQ(clock.start(*random, 4, 0).message(),
            "the run is to last for a number of epochs, but these data have no end: give a number of steps");
}

TEST(Interval, IsReadFromText) {
  EXPECT_EQ(Interval::read("--x", "20")->times(), 20);
  EXPECT_FALSE(Interval::read("--x", "20")->isInEpochs());
  for (const char *text : {"1 epoch", "1epoch", "1 epochs"}) {
    Result<Interval> read = Interval::read("--x", text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_TRUE(read->isInEpochs() && read->times() == 1) << text;
  }
  EXPECT_EQ(Interval::read("--x", "0.25 epochs")->times(), 0.25);
  for (const char *text : {"", "0", "-1", "1.5", "epoch", "1 step", "1 epoch later", "nan epochs", "inf", "0x10", "1e300 epochs"})
    EXPECT_FALSE(Interval::read("--x", text).ok()) << text;
}

} // namespace
