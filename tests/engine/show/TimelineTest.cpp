// The schedule's picture: boxes per stage, the bubble's share, names escaped.
#include "engine/show/Timeline.h"

#include <gtest/gtest.h>

using namespace npar::show;
using npar::program::Phase;

namespace {

/// Two stages, forward of one unit: stage 1 starts when stage 0 is done.
Timeline twoStageTimeline() {
  Timeline timeline;
  timeline.title = "a <b> & c";
  TimelineLane first, second;
  first.ranks = "rank 0";
  first.boxes = {{Phase::Forward, 0, 0, 1, 0}, {Phase::Backward, 0, 2, 4, 1}, {Phase::Update, 0, 4, 5, 0}};
  first.messages = {{false, 1, 1.5}, {true, 4, 4.5}};
  first.memory = {{0, 10}, {2, 40}, {4, 20}};
  first.arenaBytes = 50;
  second.stage = 1;
  second.ranks = "rank 1";
  second.boxes = {{Phase::Forward, 0, 1, 2, 0}};
  timeline.lanes = {first, second};
  timeline.span = 5;
  timeline.bubble = 0.5;
  return timeline;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

} // namespace

TEST(TimelineSvg, DrawsEachTaskWithItsName) {
  std::string svg = timelineSvg(twoStageTimeline());
  EXPECT_EQ(count(svg, "<title>"), 4u);
  EXPECT_NE(svg.find("stage 1: forward of micro-batch 0"), std::string::npos);
  EXPECT_NE(svg.find("bubble 50.0 %"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; c"), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(TimelineSvg, SetsPhasesAndCommunicationApart) {
  std::string svg = timelineSvg(twoStageTimeline());
  for (const char *part : {"#8CCBF0", "#0072B2", "url(#Update)", "id=\"Update\"", "#D55E00", "url(#transfer)", "collective", "chunk 1",
                           "lighter", "live memory"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

// 512 boxes too narrow to be seen alone are one path, not 512 elements.
TEST(TimelineSvg, JoinsWhatIsTooNarrow) {
  Timeline timeline = twoStageTimeline();
  timeline.lanes[1].boxes.clear();
  for (uint32_t micro = 0; micro < 4096; ++micro)
    timeline.lanes[1].boxes.push_back({Phase::Forward, micro, 1 + micro / 4096.0, 1 + (micro + 1) / 4096.0, 0});
  std::string svg = timelineSvg(timeline);
  EXPECT_EQ(count(svg, "<title>"), 3u);
  EXPECT_LT(svg.size(), 20000u);
}

TEST(TimelineSvg, DrawsAnEmptyTimeline) {
  std::string svg = timelineSvg(Timeline());
  EXPECT_EQ(svg.rfind("</svg>\n"), svg.size() - 7);
}
