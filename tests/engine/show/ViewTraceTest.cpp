// The planned trace: every task and step as a slice, an arrow per message, counters that reach the peak.
#include "engine/json/Json.h"
#include "engine/show/View.h"
#include "tests/engine/show/Packed.h"

#include <gtest/gtest.h>
#include <map>

using namespace npar;
using namespace npar::program;
using namespace npar::show;

namespace {

Json eventsOf(const ProgramT &program) {
  Packed packed(program);
  return Json::parse(viewTrace(viewOf(packed.root())))["traceEvents"];
}

/// The slice of a thread that holds a moment.
bool isInSlice(const Json &events, const Json &arrow) {
  for (const auto &event : events)
    if (event["ph"] == "X" && event["pid"] == arrow["pid"] && event["tid"] == arrow["tid"]) {
      double begin = event["ts"], at = arrow["ts"];
      if (begin <= at && at <= begin + event["dur"].get<double>())
        return true;
    }
  return false;
}

} // namespace

TEST(ViewTrace, HasAnArrowPerMessageFromSendToReceive) {
  Json events = eventsOf(timedStages());
  std::map<int, std::vector<Json>> arrows;
  for (const auto &event : events)
    if (event["ph"] == "s" || event["ph"] == "t" || event["ph"] == "f")
      arrows[event["id"]].push_back(event);
  size_t messages = 0, collectives = 0;
  for (const auto &[id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(ends[0]["ph"], "s");
    EXPECT_EQ(ends[1]["ph"], "f");
    EXPECT_LE(ends[0]["ts"].get<double>(), ends[1]["ts"].get<double>());
    for (const auto &end : ends)
      EXPECT_TRUE(isInSlice(events, end)) << end.dump();
    ends[0]["cat"] == "message" ? ++messages : ++collectives;
    if (ends[0]["cat"] == "message") {
      EXPECT_EQ(ends[0]["pid"], 0);
      EXPECT_EQ(ends[1]["pid"], 1);
    }
  }
  EXPECT_EQ(messages, 2u);    // one per micro-batch
  EXPECT_EQ(collectives, 1u); // the norm joins both stages; the all_reduce over tp stays inside its class
}

TEST(ViewTrace, CountersReachThePeak) {
  ProgramT program = timedStages();
  Packed packed(program);
  View view = viewOf(packed.root());
  std::map<int, int64_t> highest;
  for (const auto &event : eventsOf(program))
    if (event["ph"] == "C") {
      int64_t sum = 0;
      for (const auto &bytes : event["args"])
        sum += bytes.get<int64_t>();
      highest[event["pid"]] = std::max(highest[event["pid"]], sum);
    }
  ASSERT_EQ(highest.size(), 2u);
  for (size_t process = 0; process < 2; ++process)
    EXPECT_EQ(highest[static_cast<int>(process)], static_cast<int64_t>(view.classes[process].memory.peakBytes));
}

TEST(ViewTrace, NamesProcessesAndCarriesThePlansIds) {
  size_t slices = 0, named = 0;
  for (const auto &event : eventsOf(timedStages())) {
    if (event["ph"] == "M" && event["name"] == "process_name")
      ++named;
    if (event["ph"] == "X" && event["args"].contains("step")) {
      ++slices;
      for (const char *field : {"task", "step", "micro", "kind", "bytes", "source"})
        EXPECT_TRUE(event["args"].contains(field)) << field;
    }
  }
  EXPECT_EQ(named, 2u);
  EXPECT_EQ(slices, (1u + 2 * 3 + 3) * 2);
}
