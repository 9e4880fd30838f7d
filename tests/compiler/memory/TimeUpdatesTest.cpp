// Planned times inside the update: steps wait for messages and for the members of a collective over stages.
#include "compiler/memory/Allocate.h"

#include <gtest/gtest.h>

namespace npar::memory {
namespace {

using program::StepKind;

/// A program whose classes run one update each, beginning at `begins`.
struct Example {
  explicit Example(const std::vector<double> &begins) {
    for (size_t index = 0; index < begins.size(); ++index) {
      program.classes.push_back(std::make_unique<program::RankClassT>());
      program::RankClassT &rankClass = *program.classes.back();
      rankClass.fixed.push_back(std::make_unique<program::CoordinateT>());
      rankClass.fixed.back()->value = static_cast<uint32_t>(index);
      rankClass.fragments.push_back(std::make_unique<program::FragmentT>());
      rankClass.fragments.back()->phase = program::Phase::Update;
      rankClass.tasks.emplace_back(0, 0, 0, 0, begins[index], begins[index]);
    }
  }
  void add(size_t index, StepKind kind, double seconds, uint32_t event, const std::vector<uint32_t> &after = {}) {
    program::FragmentT &fragment = *program.classes[index]->fragments[0];
    uint32_t payload = 0;
    if (kind == StepKind::Send || kind == StepKind::Receive) {
      payload = static_cast<uint32_t>(program.transfers.size());
      program.transfers.push_back(std::make_unique<program::TransferT>());
      program.transfers.back()->event = event;
    } else if (kind == StepKind::Collective) {
      payload = static_cast<uint32_t>(program.collectives.size());
      program.collectives.push_back(std::make_unique<program::CollectiveT>());
      program.collectives.back()->event = event;
      program.collectives.back()->axes = {0};
    }
    uint32_t first = static_cast<uint32_t>(fragment.dependencies.size());
    fragment.dependencies.insert(fragment.dependencies.end(), after.begin(), after.end());
    fragment.steps.emplace_back(kind, 0, 0, 0, 0, 0, payload, first, static_cast<uint32_t>(after.size()), 0, 0.0, 0.0, seconds);
  }
  double begin(size_t index, size_t step) const {
    return program.classes[index]->tasks[0].begin() + program.classes[index]->fragments[0]->steps[step].begin();
  }
  double end(size_t index) const { return program.classes[index]->tasks[0].end(); }
  program::ProgramT program;
};

/// Class 1 begins early and waits for what class 0 sends late; what does not depend on the message runs meanwhile.
TEST(TimeUpdates, WaitsForMessages) {
  Example example({10, 2});
  example.add(0, StepKind::Kernel, 3, 0);
  example.add(0, StepKind::Send, 1, 5, {0});
  example.add(1, StepKind::Receive, 1, 5);
  example.add(1, StepKind::Kernel, 2, 0);
  example.add(1, StepKind::Kernel, 4, 0, {0, 1});
  timeUpdates(example.program);
  EXPECT_DOUBLE_EQ(example.begin(0, 1), 13);
  EXPECT_DOUBLE_EQ(example.end(0), 14);
  EXPECT_DOUBLE_EQ(example.begin(1, 0), 13);
  EXPECT_DOUBLE_EQ(example.begin(1, 1), 2);
  EXPECT_DOUBLE_EQ(example.begin(1, 2), 14);
  EXPECT_DOUBLE_EQ(example.end(1), 18);
}

/// A collective over the stages begins for all when its last member is ready.
TEST(TimeUpdates, MeetsInCollectives) {
  Example example({1, 7, 3});
  for (size_t index = 0; index < 3; ++index) {
    example.add(index, StepKind::Kernel, 1, 0);
    example.add(index, StepKind::Collective, 2, 9, {0});
    example.add(index, StepKind::Kernel, 1, 0, {1});
  }
  timeUpdates(example.program);
  for (size_t index = 0; index < 3; ++index) {
    EXPECT_DOUBLE_EQ(example.begin(index, 1), 8);
    EXPECT_DOUBLE_EQ(example.begin(index, 2), 10);
    EXPECT_DOUBLE_EQ(example.end(index), 11);
  }
}

/// A message without a sender leaves the times unchanged; the checks report the error.
TEST(TimeUpdates, LeavesWhatNeverRuns) {
  Example example({0});
  example.add(0, StepKind::Receive, 1, 5);
  example.add(0, StepKind::Kernel, 4, 0, {0});
  timeUpdates(example.program);
  EXPECT_DOUBLE_EQ(example.end(0), 0);
}

} // namespace
} // namespace npar::memory
