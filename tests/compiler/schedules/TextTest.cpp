// Schedules as text: what is printed reads back, PyTorch's own dumps are read, and every wrong or hostile text gets a place and a reason.
#include "compiler/schedules/Text.h"
#include "compiler/schedules/Simulate.h"
#include "compiler/schedules/Validate.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

namespace npar::schedules {

static std::string recorded(const std::string &name) {
  std::ifstream in(std::string(NPAR_SCHEDULE_TESTS) + "/pytorch/" + name + ".csv", std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

static std::string errors(const std::string &text) {
  std::string result;
  for (const TextError &error : checkCsv(text).errors)
    result += std::to_string(error.at.row) + ":" + std::to_string(error.at.column) + ": " + error.reason + "\n";
  return result;
}

static void roundTrip(const Schedule &schedule) {
  ReadSchedule read = checkCsv(printCsv(schedule));
  ASSERT_TRUE(read.errors.empty()) << read.errors[0].reason;
  EXPECT_EQ(read.schedule, schedule);
}

TEST(ScheduleText, PrintsPyTorchsActions) {
  Request request;
  request.stages = 2;
  request.micros = 2;
  EXPECT_EQ(printCsv(makeSchedule(*findSchedule("1f1b"), request).schedule), "0F0,0F1,0B0,0B1\n"
                                                                             "1F0,1B0,1F1,1B1\n");
  Schedule split{"", 1, 2, vPlacement(1), {{{Phase::F, 0, 0}, {Phase::F, 0, 1}, {Phase::B, 0, 1}, {Phase::B, 0, 0}, {Phase::W, 0, 0}}}};
  EXPECT_EQ(printCsv(split), "0F0,1F0,1B0,0I0,0W0\n");
  roundTrip(split);
}

TEST(ScheduleText, EveryScheduleReadsBack) {
  for (const ScheduleKind &kind : scheduleKinds())
    for (int stages : {1, 2, 3, 4, 8})
      for (int micros : {1, 2, 4, 8, 16}) {
        SCOPED_TRACE(testing::Message() << kind.name << " " << stages << " stages, " << micros << " micro-batches");
        Request request;
        request.stages = stages;
        request.micros = micros;
        if (Made made = makeSchedule(kind, request); made.refusal.empty())
          roundTrip(made.schedule);
      }
}

// Any placement, any split of backwards: the order of one stage is shuffled into one that runs alone.
TEST(ScheduleText, RandomSchedulesReadBack) {
  std::mt19937 chance(7);
  auto below = [&](int limit) { return static_cast<int>(chance() % limit); };
  for (int trial = 0; trial < 200; ++trial) {
    int stages = 1 + below(5), chunks = 1 + below(4), micros = 1 + below(6);
    Schedule schedule{"", micros, chunks, loopPlacement(stages, chunks), TaskLists(stages)};
    std::shuffle(schedule.placement.begin(), schedule.placement.end(), chance);
    for (size_t place = 0; place < schedule.placement.size(); ++place)
      for (int micro = 0; micro < micros; ++micro)
        schedule.lists[schedule.placement[place]].push_back({Phase::F, micro, schedule.chunkAt(place)});
    for (size_t place = schedule.placement.size(); place-- > 0;)
      for (int micro = 0; micro < micros; ++micro) {
        std::vector<Task> &tasks = schedule.lists[schedule.placement[place]];
        tasks.push_back({Phase::B, micro, schedule.chunkAt(place)});
        if (below(2))
          tasks.push_back({Phase::W, micro, schedule.chunkAt(place)});
      }
    ASSERT_TRUE(validate(schedule).empty());
    roundTrip(schedule);
  }
}

// The makespans of unit costs (each of the two chunks takes half) are those of PyTorch's own time steps without its empty cells.
TEST(ScheduleText, ReadsPyTorchsDumps) {
  struct Row {
    const char *name;
    int stages, micros;
    double makespan;
    bool v;
  };
  for (const Row &row : {Row{"interleaved_4x8x2", 4, 8, 28.5, false}, Row{"interleaved_zero_bubble_4x8x2", 4, 8, 25.5, false},
                         Row{"zbv_zero_bubble_4x8", 4, 8, 25.5, true}, Row{"zbv_zero_bubble_4x8_comms", 4, 8, 25.5, true},
                         Row{"dualpipe_v_4x10", 4, 10, 31.5, true}}) {
    SCOPED_TRACE(row.name);
    ReadSchedule read = checkCsv(recorded(row.name));
    ASSERT_TRUE(read.errors.empty()) << read.errors[0].reason;
    const Schedule &schedule = read.schedule;
    EXPECT_EQ(schedule.stages(), row.stages);
    EXPECT_EQ(schedule.micros, row.micros);
    EXPECT_EQ(schedule.chunks, 2);
    EXPECT_EQ(schedule.placement, row.v ? vPlacement(row.stages) : loopPlacement(row.stages, 2));
    EXPECT_DOUBLE_EQ(simulate(schedule, std::vector<StageCost>(row.stages)).timeline.makespan, row.makespan);
    roundTrip(schedule);
  }
  EXPECT_EQ(checkCsv(recorded("zbv_zero_bubble_4x8")).schedule, checkCsv(recorded("zbv_zero_bubble_4x8_comms")).schedule);
}

// PyTorch's looped breadth-first schedule runs the backwards of a chunk from the last micro-batch to the first: not the bits of others
// (RULES.md#N2).
TEST(ScheduleText, RefusesBackwardsInDescendingOrder) {
  EXPECT_EQ(errors(recorded("looped_bfs_2x4x2")).find("1:39: '2B2' comes after '2B3': gradients must accumulate in ascending order"), 0u);
}

TEST(ScheduleText, ReadsWhatSpreadsheetsWrite) {
  Schedule plain = checkCsv("0F0,0B0\n1F0,1B0\n").schedule;
  EXPECT_EQ(plain.stages(), 2);
  for (const char *text : {"\xef\xbb\xbf"
                           "0F0,0B0\r\n1F0,1B0\r\n",
                           "\"0F0\",,,\"0B0\"\n,\"1F0\",\"1B0\",\n\n\n", " 0F0 ,\t0B0,,\n,1F0 , 1B0\r\n,,,\r\n", "0F0,0B0\n1F0,1B0"}) {
    EXPECT_EQ(errors(text), "") << text;
    EXPECT_EQ(checkCsv(text).schedule, plain) << text;
  }
}

TEST(ScheduleText, ReadsOverlappedPairs) {
  Schedule plain = checkCsv("0F0,0F1,0B0,0B1\n").schedule, overlapped = checkCsv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n").schedule;
  EXPECT_FALSE(overlapped == plain);
  EXPECT_EQ(printCsv(overlapped), "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  ASSERT_TRUE(overlapped.lists[0][2].overlaps);
  overlapped.lists[0][2].overlaps = false;
  EXPECT_EQ(overlapped, plain);
  // A micro-batch's backward waits for its forward: these are two actions, one after the other.
  EXPECT_EQ(checkCsv("0F0,(0F1;0B1)OVERLAP_F_B,0B0\n").schedule, checkCsv("0F0,0F1,0B1,0B0\n").schedule);
  EXPECT_EQ(errors("0F0,(0F1;0B0)OVERLAP\n"), "1:5: '(0F1;0B0)OVERLAP' is no action; overlapped ones are written (0F3;1B2)OVERLAP_F_B\n");
  EXPECT_EQ(errors("(0F0;)OVERLAP_F_B,0B0\n"),
            "1:6: '' is not an action: write virtual stage, kind (F, B, I or W) and micro-batch, such as 0F3\n");
}

TEST(ScheduleText, DropsWhatFollowsFromTheOrder) {
  EXPECT_EQ(checkCsv("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0RESHARD,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0\n").schedule,
            checkCsv("0F0,0B0\n1F0,1B0\n").schedule);
  EXPECT_EQ(errors("0RECV_F0,0F0,0B0,0SEND_B0\n1F0,1SEND_F0,1B0,1RECV_B0\n"),
            "1:1: '0RECV_F0' has no peer: virtual stage 0 is the first\n"
            "1:18: '0SEND_B0' has no peer: virtual stage 0 is the first\n"
            "2:5: '1SEND_F0' has no peer: virtual stage 1 is the last\n"
            "2:18: '1RECV_B0' has no peer: virtual stage 1 is the last\n");
  EXPECT_EQ(errors("0F0,0B0,1UNSHARD\n1F0,1B0\n"), "1:9: '1UNSHARD' belongs to virtual stage 1, which has no compute action in this row\n");
  EXPECT_EQ(errors("0F0,0SEND_F1,0B0\n1F0,1B0\n"), "1:5: '0SEND_F1' is for no micro-batch: there are 1, counted from 0\n");
}

TEST(ScheduleText, RefusesWords) {
  const std::string hint = " is not an action: write virtual stage, kind (F, B, I or W) and micro-batch, such as 0F3\n";
  for (const char *word : {"F0", "0f0", "0X0", "0", "zero", "0F0F0", "0F-1", "-1F0", "0F 0", "0F0;0B0", "0SEND0", "\"0F0"})
    EXPECT_EQ(errors(std::string("0F0,") + word + "\n"), "1:5: '" + std::string(word) + "'" + hint);
  EXPECT_EQ(errors("0F0,\xc3\xa4\n"), "1:5: '\\xc3\\xa4'" + hint);
  EXPECT_EQ(errors("0F0,0F\n"), "1:5: '0F' lacks a micro-batch: write 0F0 for the first\n");
  EXPECT_EQ(errors("99999999999999999999F0\n"), "1:1: the virtual stage of '99999999999999999999F0' is above 16383\n");
  EXPECT_EQ(errors("0F1048576\n"), "1:1: the micro-batch of '0F1048576' is above 1048575\n");
  EXPECT_EQ(errors("0F0,0B0\n0F1,x,y\n").find("2:5: 'x'"), 0u);
}

TEST(ScheduleText, RefusesRowsThatAreNoStages) {
  EXPECT_EQ(errors(""), "1:1: the schedule is empty\n");
  EXPECT_EQ(errors(",,,\n\n"), "1:1: the schedule has no compute action such as 0F0\n");
  EXPECT_EQ(errors("0F0,0B0\n\n1F0,1B0\n"), "2:1: this row has no compute action: each row is a stage\n");
  EXPECT_EQ(errors("0F0,0B0\n1F0,0F1,1B0,0B1\n"), "2:5: virtual stage 0 is in row 1 already ('0F0'): each is on one stage\n"
                                                  "2:13: virtual stage 0 is in row 1 already ('0F0'): each is on one stage\n");
  EXPECT_EQ(errors("0F0,0B0\n2F0,2B0\n"), "2:1: '2F0' belongs to virtual stage 2, but virtual stage 1 has no compute action\n");
  EXPECT_EQ(errors("0F0,2F0,2B0,0B0\n1F0,1B0\n"),
            "2:1: this row holds 1 virtual stage, row 1 holds 2: all stages must hold equally many\n");
}

TEST(ScheduleText, RefusesHalvesThatDoNotFit) {
  EXPECT_EQ(errors("0F0,0B0,0W0\n"), "1:5: '0B0' is the full backward, but there is '0W0' as well: write 0I0 for the input part\n");
  EXPECT_EQ(errors("0F0,0I0\n"),
            "1:5: '0I0' is the input part of a backward, but there is no '0W0': add it, or write 0B0 for the full backward\n");
}

TEST(ScheduleText, LocatesWhatDoesNotRun) {
  EXPECT_EQ(errors("0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n"), "1:12: '0B1' is missing\n");
  EXPECT_EQ(errors("0F0,0F0,0B0\n"), "1:5: '0F0' appears twice\n");
  EXPECT_EQ(errors("0B0,0F0\n"), "1:1: '0B0' never starts: it waits for '0F0', which is ordered after it\n");
  EXPECT_EQ(errors("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"), "1:5: '0B0' never starts: it waits for '1B0' of stage 1, which is ordered after "
                                                          "'1F1'; '1F1' waits for '0F1' of stage 0, which is ordered after '0B0'\n");
  EXPECT_EQ(errors("0F0,0F1,0I1,0W1,0I0,0W0\n"),
            "1:21: '0W0' comes after '0W1': gradients must accumulate in ascending order of micro-batches\n");
}

TEST(ScheduleText, KnowsThePlaceOfEachTask) {
  ReadSchedule read = checkCsv("0F0, ,0SEND_F0,0B0\n,1F0,(1B0;1F1)OVERLAP_F_B,1B1\n");
  ASSERT_FALSE(read.errors.empty()); // micro-batch 1 is not on stage 0
  EXPECT_EQ(read.errors[0].stage, 0);
  EXPECT_EQ(read.errors[0].place, 2);
  ASSERT_EQ(read.places[1].size(), 5u);
  EXPECT_EQ(read.places[1][2].column, 11);
  EXPECT_EQ(read.places[1][2].length, 3);
  EXPECT_EQ(read.places[1][4].column, 30);
}

TEST(ScheduleText, SurvivesHostileTexts) {
  EXPECT_EQ(errors(std::string(20'000'000, 'x')), "1:1: the schedule has 20000000 bytes, at most 16777216 (16 MiB) are read\n");
  EXPECT_EQ(errors(std::string("\x7f"
                               "ELF\x02\0\0",
                               7))
                .find("1:5: this is binary data, not text: byte '\\x02'"),
            0u);
  EXPECT_EQ(errors(std::string("0F0,\0,0B0", 9)), "1:5: this is binary data, not text: byte '\\x00'\n");
  EXPECT_EQ(checkCsv(std::string(10'000'000, ',')).errors.size(), 1u);
  EXPECT_EQ(checkCsv(std::string(10'000'000, '\n')).errors.size(), 1u);
  EXPECT_EQ(checkCsv("(" + std::string(10'000'000, ';') + ")OVERLAP_F_B").errors.size(), 20u);
  EXPECT_LE(errors(std::string(10'000'000, 'x')).size(), 200u);
  // A million micro-batches, of which there is one; as many micro-batches on many parts; one row with many parts.
  EXPECT_EQ(checkCsv("0F1048575,0B1048575\n").errors.size(), 100u);
  std::string parts, tasks;
  for (int part = 0; part < 16384; ++part)
    parts += std::to_string(part) + "F1048575,";
  EXPECT_EQ(checkCsv(parts).errors.size(), 100u);
  for (int part = 0; part < 16384; ++part)
    for (int micro = 0; micro < 8; ++micro)
      tasks += std::to_string(part) + "F" + std::to_string(micro) + ",";
  for (int part = 16384; part-- > 0;)
    for (int micro = 0; micro < 8; ++micro)
      tasks += std::to_string(part) + "B" + std::to_string(micro) + ",";
  EXPECT_EQ(errors(tasks), "");
}

// Bytes changed at random in a good text: it reads as another schedule, or has a located error; never anything else.
TEST(ScheduleText, SurvivesDamage) {
  std::mt19937 chance(11);
  const std::string good = recorded("dualpipe_v_4x10"), letters = "0123456789FBIW,;()\"\n \xff";
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = good;
    for (unsigned i = chance() % 4 + 1; i > 0; --i)
      text[chance() % text.size()] = letters[chance() % letters.size()];
    ReadSchedule read = checkCsv(text);
    for (const TextError &error : read.errors)
      EXPECT_TRUE(error.at.row >= 1 && error.at.column >= 1 && !error.reason.empty());
    if (read.errors.empty())
      roundTrip(read.schedule);
  }
}

} // namespace npar::schedules
