// The schedule's picture: boxes per stage, the bubble's share, names escaped.
#include "tools/npar/Timeline.h"

#include <gtest/gtest.h>

using namespace npar::driver;
using npar::program::Phase;

namespace {

/// Two stages, forward of one unit: stage 1 starts when stage 0 is done.
Timeline twoStages() {
  Timeline timeline;
  timeline.title = "a <b> & c";
  timeline.lanes = {{0, "rank 0", {{Phase::Forward, 0, 0, 1}, {Phase::Backward, 0, 2, 4}, {Phase::Update, 0, 4, 5}}},
                    {1, "rank 1", {{Phase::Forward, 0, 1, 2}}}};
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
  std::string svg = timelineSvg(twoStages());
  EXPECT_EQ(count(svg, "<title>"), 4u);
  EXPECT_NE(svg.find("stage 1: forward of micro-batch 0"), std::string::npos);
  EXPECT_NE(svg.find("bubble 50.0 %"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; c"), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(TimelineSvg, DrawsAnEmptyTimeline) {
  std::string svg = timelineSvg(Timeline());
  EXPECT_EQ(svg.rfind("</svg>\n"), svg.size() - 7);
}
