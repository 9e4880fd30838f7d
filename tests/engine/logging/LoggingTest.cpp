// The step log and the trace: what they write is JSON that tools can rely on.
#include "engine/json/Json.h"
#include "engine/logging/Json.h"
#include "engine/logging/StepLog.h"
#include "engine/logging/Trace.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <thread>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

TEST(JsonTest, numbersReadBackAndOthersAreNull) {
  for (double value : {0.0, 1.0, 5.545177444479562, 1e-300, -2.5e17})
    EXPECT_EQ(Json::parse(jsonNumber(value)).get<double>(), value);
  EXPECT_EQ(jsonNumber(std::nan("")), "null");
  EXPECT_EQ(jsonNumber(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(Json::parse(jsonString("a\"b\n\x01\xff")).get<std::string>().substr(0, 3), "a\"b");
}

TEST(StepLogTest, lossesStandByTheirNames) {
  StepRecord record = {0, 5.5, 1.25, 3e-4, 4096, 1000};
  EXPECT_FALSE(Json::parse(stepLine(record)).contains("losses"));
  record.losses = {{2.5, 17}, {0.25}};
  LogShape shape;
  shape.losses = {"words", "small"};
  Json line = Json::parse(stepLine(record, shape));
  EXPECT_EQ(line["losses"], Json::parse(R"({"words": 2.5, "small": 0.25})"));
  EXPECT_EQ(line["counted"], Json::parse(R"({"words": 17})"));
}

TEST(StepLogTest, validTokensStandWhereTheyAreKnown) {
  EXPECT_FALSE(Json::parse(stepLine({0, 5.5, 1.25, 3e-4, 4096, 1000})).contains("valid_tokens"));
  EXPECT_EQ(Json::parse(stepLine({0, 5.5, 1.25, 3e-4, 4096, 1000, 0, false, 17}))["valid_tokens"], 17);
}

TEST(StepLogTest, epochAndSampleStandWhereDataHaveAnEnd) {
  StepRecord record{7, 5.5, 1.25, 3e-4, 4096, 1000};
  EXPECT_FALSE(Json::parse(stepLine(record)).contains("epoch"));
  record.epoch = 2, record.sample = 48;
  EXPECT_EQ(Json::parse(stepLine(record))["epoch"], 2);
  EXPECT_EQ(Json::parse(stepLine(record))["sample"], 48);
  EXPECT_FALSE(Json::parse(stepLine(record)).contains("data_wait_seconds"));
  record.dataWait = 0.25;
  EXPECT_EQ(Json::parse(stepLine(record))["data_wait_seconds"], 0.25);
  EXPECT_NE(tensorBoardEvents().row({}, record).find("data_wait_seconds"), std::string::npos);
}

TEST(StepLogTest, oneObjectPerLine) {
  std::string path = "/tmp/npar-log-" + std::to_string(::getpid());
  auto log = StepLog::open(path);
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)->append(StepRecord{0, 5.5, 1.25, 3e-4, 4096, 1000}).ok());
  ASSERT_TRUE((*log)->append(StepRecord{1, std::nan(""), std::numeric_limits<double>::infinity(), 3e-4, 4096, 1000}).ok());
  ASSERT_TRUE((*log)->close().ok());
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  Json first = Json::parse(line);
  EXPECT_EQ(first["step"], 0);
  EXPECT_EQ(first["loss"], 5.5);
  EXPECT_EQ(first["grad_norm"], 1.25);
  EXPECT_EQ(first["lr"], 3e-4);
  EXPECT_EQ(first["tokens"], 4096);
  EXPECT_EQ(first["tokens_per_second"], 1000);
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_TRUE(Json::parse(line)["loss"].is_null());
  EXPECT_TRUE(Json::parse(line)["grad_norm"].is_null());
  ::unlink(path.c_str());
}

TEST(StepLogTest, aLossScaleIsWrittenWhereThereIsOne) {
  EXPECT_EQ(Json::parse(stepLine({0, 5.5, 1.25, 3e-4, 4096, 1000})).count("loss_scale"), 0u);
  EXPECT_EQ(Json::parse(stepLine({0, 5.5, 1.25, 3e-4, 4096, 1000})).count("skipped"), 0u);
  EXPECT_EQ(Json::parse(stepLine({0, NAN, INFINITY, 3e-4, 4096, 1000, 0, true}))["skipped"], true);
  Json scaled = Json::parse(stepLine({0, 5.5, 1.25, 3e-4, 4096, 1000, 65536, true}));
  EXPECT_EQ(scaled["loss_scale"], 65536);
  EXPECT_EQ(scaled["skipped"], true);
}

TEST(StepLogTest, errorsNameTheFile) {
  EXPECT_EQ(StepLog::open("/nonexistent/log").status().message(), "cannot write the log '/nonexistent/log': No such file or directory");
  auto full = StepLog::open("/dev/full");
  ASSERT_TRUE(full.ok());
  EXPECT_EQ((*full)->append(StepRecord{}).message(), "cannot write the log '/dev/full': No space left on device");
}

TEST(TraceTest, eventsOfAllThreadsBecomeOneTimeline) {
  Trace trace;
  uint32_t compute = trace.addLane("compute"), group = trace.addLane("group dp");
  EXPECT_EQ(trace.addLane("compute"), compute);
  uint32_t matmul = trace.addLabel("matmul \"h.0\"", "a.npar:3:4"), reduce = trace.addLabel("all_reduce", "");
  trace.addTask(1, 2, "B0:1");
  std::thread([&] { trace.record({1, compute, matmul, 2, 5, 1, 0, 10.0, 10.5}); }).join();
  trace.record({0, group, reduce, 0, 1, 0, 0, 9.0, 9.25});
  Json root = Json::parse(trace.json());
  std::vector<Json> intervals;
  for (const Json &event : root["traceEvents"])
    if (event["ph"] == "X")
      intervals.push_back(event);
  ASSERT_EQ(intervals.size(), 2u);
  EXPECT_EQ(intervals[0]["pid"], 0);
  EXPECT_EQ(intervals[0]["ts"], 0);
  EXPECT_EQ(intervals[1]["name"], "matmul \"h.0\"");
  EXPECT_EQ(intervals[1]["cat"], "B0:1");
  EXPECT_EQ(intervals[1]["ts"], 1e6);
  EXPECT_EQ(intervals[1]["dur"], 5e5);
  EXPECT_EQ(intervals[1]["args"]["step"], 5);
  EXPECT_EQ(intervals[1]["args"]["source"], "a.npar:3:4");
}

TEST(TraceTest, fullTraceCountsWhatItLeavesOut) {
  Trace trace(5000);
  for (int i = 0; i < 10000; ++i)
    trace.record({0, 0, 0, 0, 0, 0, 0, double(i), double(i)});
  EXPECT_EQ(trace.events().size() + trace.dropped(), 10000u);
  EXPECT_GT(trace.dropped(), 0u);
}

TEST(TraceTest, laterTrainingStepsAreNotRecorded) {
  Trace trace(5000, 2);
  for (int64_t step = 0; step < 4; ++step)
    trace.record({0, 0, 0, 0, 0, 0, step, double(step), double(step)});
  EXPECT_EQ(trace.events().size(), 2u);
  EXPECT_EQ(trace.dropped(), 0u);
}

// The other process has registered its lanes and labels in another order, and its clock is 100 s ahead.
TEST(TraceTest, whatAnotherProcessHasRecordedIsAdded) {
  Trace own, other(5000);
  uint32_t compute = own.addLane("compute"), matmul = own.addLabel("matmul", "a.npar:3:4");
  own.record({0, compute, matmul, 0, 0, 0, 0, 10.0, 10.5});
  uint32_t group = other.addLane("group dp"), theirs = other.addLane("compute");
  uint32_t reduce = other.addLabel("all_reduce", "a.npar:7:1"), again = other.addLabel("matmul", "a.npar:3:4");
  other.addTask(1, 2, "B0:1");
  other.record({1, theirs, again, 2, 0, 0, 0, 110.25, 110.5});
  other.record({1, group, reduce, 2, 1, 0, 0, 111.0, 112.0});
  ASSERT_TRUE(own.add(other.pack(), -100).ok());
  std::vector<Json> intervals;
  std::map<std::pair<int, int>, std::string> lanes;
  Json root = Json::parse(own.json());
  for (const Json &event : root["traceEvents"])
    if (event["ph"] == "X")
      intervals.push_back(event);
    else if (event["name"] == "thread_name")
      lanes[{event["pid"], event["tid"]}] = event["args"]["name"];
  ASSERT_EQ(intervals.size(), 3u);
  EXPECT_EQ(intervals[1]["ts"], 0.25e6);
  EXPECT_EQ(intervals[1]["name"], "matmul");
  EXPECT_EQ(intervals[1]["cat"], "B0:1");
  EXPECT_EQ((lanes[{1, intervals[1]["tid"]}]), "compute");
  EXPECT_EQ(intervals[2]["ts"], 1e6);
  EXPECT_EQ(intervals[2]["args"]["source"], "a.npar:7:1");
  EXPECT_EQ((lanes[{1, intervals[2]["tid"]}]), "group dp");
  std::vector<uint8_t> packed = other.pack();
  for (size_t size : {size_t{0}, size_t{9}, packed.size() / 2, packed.size() - 1}) {
    Trace damaged;
    EXPECT_FALSE(damaged.add({packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size)}, 0).ok()) << size;
  }
}

TEST(TraceTest, fullDiskIsAnError) {
  EXPECT_FALSE(Trace().write("/dev/full").ok());
  EXPECT_FALSE(Trace().write("/nonexistent/trace.json").ok());
}

} // namespace
} // namespace npar::testing
