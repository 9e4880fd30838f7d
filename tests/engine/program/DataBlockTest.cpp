// Tests data blocks: how they print, and refusals of those that the engine could not follow.
#include "engine/program/PrintProgram.h"
#include "tests/engine/program/Refusals.h"
#include "tests/engine/program/TwoStages.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

/// Two inputs that a stream of tokens feeds.
ProgramT streamed() {
  ProgramT program = twoStages();
  program.batch = 4, program.micro = 2, program.micro_count = 2;
  for (const char *name : {"tokens", "targets"}) {
    program.inputs.push_back(std::make_unique<LogicalInputT>());
    LogicalInputT &input = *program.inputs.back();
    input.name = name, input.type = ElementType::I32;
    input.axes = {"batch", "seq"}, input.shape = {program.batch, 16};
  }
  program.data = std::make_unique<DataBlockT>();
  program.data->name = "text", program.data->last = DataLast::Drop;
  program.data->groups.push_back(std::make_unique<DataGroupT>());
  DataGroupT &group = *program.data->groups[0];
  for (const char *path : {"a.u16", "b.u16"}) {
    group.files.push_back(std::make_unique<DataFileT>());
    group.files.back()->path = path, group.files.back()->format = DataFormat::U16, group.files.back()->weight = 1;
  }
  for (uint32_t i : {0u, 1u}) {
    group.feeds.push_back(std::make_unique<DataFeedT>());
    group.feeds.back()->input = i, group.feeds.back()->shift = i;
  }
  return program;
}

TEST(DataBlock, IsPrinted) {
  ProgramT program = streamed();
  program.data->shares = {0.75, 0.25}, program.data->split_seed = 42;
  program.data->groups[0]->feeds[0]->below = 9, program.data->groups[0]->feeds[0]->axis = "words";
  auto loaded = LoadedProgram::fromTables(program);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::string text = printProgram((*loaded)->root());
  EXPECT_NE(text.find("\ndata text, shuffled, drop last\n  split 0.75, 0.25 seed 42\n"
                      "  u16 \"a.u16\" weight 1, u16 \"b.u16\" weight 1: tokens below 9 of words, targets shifted by 1\n"),
            std::string::npos)
      << text;
}

/// A folder of pictures and their classes.
ProgramT pictured() {
  ProgramT program = streamed();
  DataGroupT &group = *program.data->groups[0];
  group.files.resize(1);
  group.files[0]->path = "photos", group.files[0]->format = DataFormat::Images, group.files[0]->weight = 0;
  group.feeds[1]->shift = 0, group.feeds[1]->folder_class = true;
  program.inputs[0]->type = ElementType::U8;
  program.inputs[0]->axes = {"batch", "channel", "row", "column"}, program.inputs[0]->shape = {program.batch, 3, 8, 8};
  program.inputs[1]->axes = {"batch"}, program.inputs[1]->shape = {program.batch};
  auto add = [](auto &list, PictureStepKind kind, std::vector<double> numbers) {
    list.push_back(std::make_unique<PictureStepT>());
    list.back()->kind = kind, list.back()->numbers = std::move(numbers);
  };
  add(program.data->training, PictureStepKind::RandomResizedCrop, {0.25, 1, 0.5, 2});
  add(program.data->training, PictureStepKind::Flip, {0.5});
  add(program.data->evaluation, PictureStepKind::Resize, {8});
  add(program.data->evaluation, PictureStepKind::CenterCrop, {});
  return program;
}

TEST(DataBlock, StepsOfPicturesArePrinted) {
  auto loaded = LoadedProgram::fromTables(pictured());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::string text = printProgram((*loaded)->root());
  EXPECT_NE(text.find("  images \"photos\": tokens, targets by the class of the folder\n"
                      "  training: random_resized_crop(0.25, 1, 0.5, 2) antialiased, flip(0.5)\n"
                      "  evaluation: resize(8) antialiased, center_crop\n"),
            std::string::npos)
      << text;
}

TEST(DataBlock, PicturesThatNothingCouldFeedAreRefused) {
  auto refused = [](const char *why, auto damage) {
    ProgramT program = pictured();
    damage(program, *program.data->groups[0]);
    expectRefused(program, "well formed", why);
  };
  refused("cannot be fed by a folder", [](auto &program, auto &) { program.inputs[0]->shape[1] = 4; });
  refused("cannot be fed by a folder", [](auto &program, auto &) { program.inputs[0]->type = ElementType::F32; });
  refused("cannot be fed by a folder", [](auto &, auto &group) { group.feeds[0]->folder_class = true; });
  refused("only a folder of pictures has classes", [](auto &, auto &group) { group.files[0]->format = DataFormat::Tensors; });
  refused("feeds several inputs by one array", [](auto &, auto &group) { group.files[0]->format = DataFormat::Idx; });
  auto step = [](auto &program) -> PictureStepT & { return *program.data->training[0]; };
  refused("a step for pictures", [&](auto &program, auto &) { step(program).kind = static_cast<PictureStepKind>(9); });
  refused("a step for pictures", [&](auto &program, auto &) { step(program).interpolation = static_cast<Interpolation>(9); });
  refused("a step for pictures", [&](auto &program, auto &) { step(program).numbers = {0.25, 1, 2, 0.5}; });
  refused("a step for pictures", [&](auto &program, auto &) { step(program).numbers = {0.25, 1}; });
  refused("a step for pictures",
          [&](auto &program, auto &) { step(program).kind = PictureStepKind::Resize, step(program).numbers = {0.0}; });
  refused("a step for pictures", [&](auto &program, auto &) {
    step(program).kind = PictureStepKind::Resize, step(program).numbers = {8, 1e9};
  });
  refused("a step for pictures",
          [&](auto &program, auto &) { step(program).kind = PictureStepKind::CenterCrop, step(program).numbers = {8}; });
  refused("a step for pictures",
          [&](auto &program, auto &) { step(program).kind = PictureStepKind::RandomCrop, step(program).numbers = {-1}; });
  refused("a step for pictures", [&](auto &program, auto &) { step(program).kind = PictureStepKind::Flip, step(program).numbers = {1.5}; });
}

TEST(DataBlock, IsRefusedWhereNothingCouldFollowIt) {
  auto refused = [](const char *why, auto damage) {
    ProgramT program = streamed();
    damage(*program.data, *program.data->groups[0]);
    expectRefused(program, "well formed", why);
  };
  refused("has an unknown order", [](auto &data, auto &) { data.order = static_cast<DataOrder>(7); });
  refused("fills up batches, but every target counts", [](auto &data, auto &) { data.last = DataLast::Pad; });
  refused("has a part that is no share", [](auto &data, auto &) { data.shares = {0.5, -0.5}; });
  refused("has parts that are more than the whole", [](auto &data, auto &) { data.shares = {0.9, 0.2}; });
  refused("has no files", [](auto &data, auto &) { data.groups.clear(); });
  refused("different numbers of files, or of none", [](auto &, auto &group) { group.files.clear(); });
  refused("files of two kinds", [](auto &, auto &group) { group.files[1]->format = DataFormat::Tensors; });
  refused("weights for some of its files", [](auto &, auto &group) { group.files[1]->weight = 0; });
  refused("too large ones", [](auto &, auto &group) { group.files[1]->weight = UINT32_MAX; });
  refused("does not feed input 'targets'", [](auto &, auto &group) { group.feeds.pop_back(); });
  refused("feeds one twice", [](auto &, auto &group) { group.feeds[1]->input = 0; });
  refused("feeds an input that there is not", [](auto &, auto &group) { group.feeds[1]->input = 2; });
  refused("a bound or a shift that there cannot be", [](auto &, auto &group) { group.feeds[1]->shift = 1 << 20; });
  ProgramT program = streamed();
  program.inputs[1]->axes = {"batch", "other"}, program.inputs[1]->shape[1] = 8;
  expectRefused(program, "well formed", "data block 'text', input 'targets' cannot be fed by a stream of tokens");
}

} // namespace
} // namespace npar::program
