// Tests the names of tasks in messages and traces.
#include "engine/program/Describe.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

/// Tasks that run per micro-batch, weight gradients included, have its number after their fragment's name; tasks that run once have only
/// the name.
TEST(Describe, TasksOfMicroBatchesHaveTheirNumber) {
  RankClassT rankClass;
  for (auto [name, phase] : {std::pair{"P0", Phase::Prologue},
                             {"C7", Phase::Count},
                             {"F7", Phase::Forward},
                             {"B7", Phase::Backward},
                             {"W7", Phase::Weight},
                             {"U0", Phase::Update}}) {
    rankClass.tasks.emplace_back(static_cast<uint32_t>(rankClass.fragments.size()), 3, 0, 0, 0.0, 0.0);
    rankClass.fragments.push_back(std::make_unique<FragmentT>());
    rankClass.fragments.back()->name = name;
    rankClass.fragments.back()->phase = phase;
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(RankClass::Pack(builder, &rankClass));
  const RankClass &packed = *flatbuffers::GetRoot<RankClass>(builder.GetBufferPointer());
  std::vector<std::string> names;
  for (uint32_t task = 0; task < packed.tasks()->size(); ++task)
    names.push_back(describeTask(packed, task));
  EXPECT_EQ(names, (std::vector<std::string>{"P0", "C7:3", "F7:3", "B7:3", "W7:3", "U0"}));
}

} // namespace
} // namespace npar::program
