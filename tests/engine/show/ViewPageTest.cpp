// The page's data: complete, small where a schedule repeats, and unable to leave its script element.
#include "engine/show/ViewPage.h"
#include "engine/json/Json.h"
#include "tests/engine/show/Packed.h"

#include <gtest/gtest.h>

using namespace npar;
using namespace npar::program;
using namespace npar::show;

namespace {

size_t occurrences(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

} // namespace

TEST(ViewPage, HoldsEveryTaskAndStep) {
  Packed packed(timedStages());
  View view = viewOf(packed.root());
  Json data = Json::parse(pageData({&view, &view}));
  ASSERT_EQ(data["views"].size(), 2u);
  const auto &one = data["views"][1]["classes"][1];
  EXPECT_EQ(one["tasks"].size(), 5u * 4);
  EXPECT_EQ(one["tasks"][5 + 2], 2000000000); // begin of task 1 in nanoseconds
  EXPECT_EQ(one["fragments"][1]["steps"].size(), 3u);
  EXPECT_EQ(one["fragments"][1]["steps"][0][0], "Receive");
  EXPECT_EQ(one["fragments"][1]["steps"][0][7][3], 0); // from class 0
  ASSERT_EQ(one["waits"].size(), 1u);
  EXPECT_EQ(one["waits"][0], Json::parse("[1,0,1,1,1,1,1]")); // step 0 of F1:1 waits for step 1 of F1:0
}

TEST(ViewPage, WritesRepeatedWaitsOnce) {
  ProgramT program = emptyProgram({}, 100);
  RankClassT &one = addClass(program, "stage0", {});
  uint32_t box = addRegion(one, "box", 64, 1), forward = addFragment(one, "F0", Phase::Forward);
  addStep(program, one, forward, StepKind::Zero, 0, {}, {{box, 0, 64}}, {}, "zero");
  for (uint32_t micro = 0; micro < 100; ++micro) {
    addTask(one, forward, micro);
    if (micro)
      one.task_dependencies.emplace_back(micro, 0, micro - 1, 0);
  }
  Packed packed(program);
  View view = viewOf(packed.root());
  Json data = Json::parse(pageData({&view}));
  EXPECT_EQ(data["views"][0]["classes"][0]["waits"].dump(), "[[0,0,0,0,1,1,99]]");
}

// Names come from model texts and paths: whatever they hold is text.
TEST(ViewPage, NoNameEndsTheScript) {
  const std::string hostile = "</script><script>alert(1)</script><!-- {{title}} /*script*/ \xff & \"";
  ProgramT program = timedStages();
  program.model = hostile;
  program.collectives[0]->cause = std::make_unique<CauseT>();
  program.collectives[0]->cause->kind = CauseKind::WantsOrder, program.collectives[0]->cause->operation = hostile;
  for (auto &label : program.labels) {
    label->text = label->path = hostile;
    label->source = std::make_unique<SourcePlaceT>();
    label->source->file = hostile;
  }
  for (auto &rankClass : program.classes)
    rankClass->name = hostile;
  Packed packed(program);
  View view = viewOf(packed.root());
  std::string page = viewPage({&view});
  EXPECT_EQ(occurrences(page, "<script"), 2u);
  EXPECT_EQ(occurrences(page, "</script"), 2u);
  EXPECT_EQ(occurrences(page, "alert(1)</script"), 0u);
  EXPECT_EQ(occurrences(page, "<!--"), 0u);
  std::string data = pageData({&view});
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(data)["views"][0]["labels"][0][0].get<std::string>().substr(0, 17), "</script><script>");
}

TEST(ViewPage, AsksForNothingFromOutside) {
  Packed packed(timedStages());
  View view = viewOf(packed.root());
  std::string page = viewPage({&view});
  for (const char *part : {"http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(occurrences(page, part), 0u) << part;
  for (const char *mark : {"{{title}}", "/*style*/", "/*data*/", "/*script*/"})
    EXPECT_EQ(occurrences(page, mark), 0u) << mark;
}
