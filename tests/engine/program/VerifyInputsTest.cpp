// Inputs that a program declares and a class keeps: each damage is refused.
#include "tests/engine/program/Refusals.h"
#include "tests/engine/program/TwoStages.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

/// Refused once `damage` changed the input "tokens" over [batch 1, seq 4], or the share of it that stage 0 keeps.
template <typename Damage> void expectInputRefused(Damage damage, const std::string &why) {
  ProgramT program = twoStages();
  InputT &input = addInput(program, *program.classes[0], "tokens", 1, 4);
  damage(program, *program.inputs[0], input);
  expectRefused(program, "well formed", why);
}

TEST(Verify, InputsOfTheModel) {
  auto refused = [](auto damage, const std::string &why) {
    expectInputRefused([&](ProgramT &, LogicalInputT &logical, InputT &) { damage(logical); }, "input 'tokens' " + why);
  };
  refused([](LogicalInputT &input) { input.type = ElementType::BF16; }, "has an unsupported type");
  refused([](LogicalInputT &input) { input.classes = -1; }, "has -1 classes");
  refused([](LogicalInputT &input) { input.type = ElementType::F32, input.classes = 5; }, "has floats, but also classes");
  refused([](LogicalInputT &input) { input.type = ElementType::F32, input.role = InputRole::Stream; }, "has floats, but also classes");
  refused([](LogicalInputT &input) { input.role = static_cast<InputRole>(3); }, "has an unknown role");
  refused([](LogicalInputT &input) { input.axes.pop_back(); }, "has an impossible shape");
  refused([](LogicalInputT &input) { input.shape[1] = 0; }, "has an impossible shape");
  // Elements of 4 bytes each that wrap around to 0 bytes.
  refused([](LogicalInputT &input) { input.shape = {int64_t(1) << 31, int64_t(1) << 31}; }, "has an impossible shape");
  refused([](LogicalInputT &input) { input.axes[0] = "rows"; }, "does not begin with the batch of 1 samples");
  refused([](LogicalInputT &input) { input.shape[0] = 2; }, "does not begin with the batch of 1 samples");
}

TEST(Verify, InputThatIsDeclaredTwice) {
  ProgramT program = twoStages();
  addInput(program, *program.classes[0], "tokens", 1, 4);
  addInput(program, *program.classes[1], "tokens", 1, 4);
  expectRefused(program, "well formed", "input 'tokens' is twice in the program");
  program.inputs[1]->name = "targets";
  program.inputs[0]->role = program.inputs[1]->role = InputRole::Shifted;
  expectRefused(program, "well formed", "input 'targets' is a second one that a stream of tokens feeds as shifted");
}

TEST(Verify, BatchThatIsNotItsMicroBatches) {
  expectInputRefused([](ProgramT &program, LogicalInputT &, InputT &) { program.micro = 2; },
                     "the program's batch of 1 samples is not 1 micro-batches x 1 data-parallel ranks x 2 samples");
}

TEST(Verify, InputsOfAClass) {
  auto refused = [](auto damage, const std::string &why) {
    expectInputRefused([&](ProgramT &, LogicalInputT &, InputT &input) { damage(input); }, "class 'stage0': input 'tokens'" + why);
  };
  refused([](InputT &input) { input.type = ElementType::F32; }, " is kept in a type that no value of it becomes");
  refused([](InputT &input) { input.mesh_axes = {7}; }, " names mesh axis 7 of 2");
  refused([](InputT &input) { input.mesh_axes = {1, 1}; }, " names mesh axis 'tp' twice");
  refused([](InputT &input) { input.dimensions.pop_back(); }, " has 1 dimensions, the program's 2");
  refused([](InputT &input) { input.zigzag.pop_back(); }, " has 2 dimensions, the program's 2");
  refused([](InputT &input) { input.dimensions[1] = PieceDimension(4, 4, 0, 1); }, ": dimension 1 has mesh axes out of range");
  refused([](InputT &input) { input.dimensions[1] = PieceDimension(4, 3, 0, 0); }, ": dimension 1 of size 4 kept as 3 on each of 1 ranks");
  refused([](InputT &input) { input.dimensions[1] = PieceDimension(5, 5, 0, 0); }, ": dimension 1 of size 5 kept as 5 on each of 1 ranks");
  refused([](InputT &input) { input.zigzag[1] = 4; }, ": dimension 1 of size 4 is in zigzag order of 8 chunks, which do not divide it");
  refused([](InputT &input) { input.zigzag[0] = 1; }, ": dimension 0 of size 1 is in zigzag order");
  refused([](InputT &input) { input.dimensions[0] = PieceDimension(1, 2, 0, 0); }, " keeps 2 samples of a micro-batch, not the 1");
  refused([](InputT &input) { input.region = 9; }, " does not fit its region");
  refused([](InputT &input) { input.offset = 1 << 20; }, " of 16 bytes does not fit its region");
}

TEST(Verify, InputThatTheProgramLacks) {
  expectInputRefused([](ProgramT &, LogicalInputT &, InputT &input) { input.input = 7; }, "class 'stage0' keeps input 7 of 1");
}

TEST(Verify, InputThatAClassKeepsTwice) {
  expectInputRefused(
      [](ProgramT &program, LogicalInputT &, InputT &input) { program.classes[0]->inputs.push_back(std::make_unique<InputT>(input)); },
      "class 'stage0' keeps input 'tokens' twice");
}

TEST(Verify, InputWithoutASlotPerMicroBatch) {
  expectInputRefused(
      [](ProgramT &program, LogicalInputT &logical, InputT &) { program.micro_count = program.batch = 2, logical.shape[0] = 2; },
      "class 'stage0': input 'tokens' is in a region of 1 slots, not one for each of 2 micro-batches");
}

} // namespace
} // namespace npar::program
