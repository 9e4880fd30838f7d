// Tests the formats of logs: TensorBoard's (against its own writer), columns, lines of JSON; and where a log is cut to resume it.
#include "engine/json/Json.h"
#include "engine/logging/Crc32c.h"
#include "engine/logging/StepLog.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace npar::testing {
namespace {

using namespace engine;

const LogShape shape{"tokens", {"other", "no decay"}, {}, {"loss", "perplexity"}};
const LogFormat *const formats[] = {&jsonLines(), &commaSeparated(), &tensorBoardEvents()};

StepRecord plain(int64_t step) {
  StepRecord record{step, 5.5, 1.25, 3e-4, 4096, 1000};
  record.time = 1700000000.25;
  return record;
}

StepRecord full() {
  StepRecord record{1, 4.125, 0.1, 6e-4, 4096, 1e6, 65536, true, 4000, "0123", 2, 48, 1.5e12, 0.75, {0.08, 0.06}};
  record.time = 1700000001.5;
  return record;
}

EvaluationRecord evaluation(int64_t step) { return {step, {{"loss", 1.5}, {"perplexity", 4.481689}}, 1700000003.0}; }

// The check values of RFC 3720, B.4.
TEST(Crc32cTest, hasThePublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

// Byte for byte the file that record_events.py made with the package `tensorboard`.
TEST(TensorBoardEventsTest, areThoseOfTensorBoardsWriter) {
  std::ifstream file(NPAR_TESTS "/events_recorded.bin", std::ios::binary);
  std::stringstream recorded;
  recorded << file.rdbuf();
  StepRecord lost{300, std::nan(""), INFINITY, 0, 4096, 0};
  lost.time = 1700000002.0;
  const LogFormat &events = tensorBoardEvents();
  EXPECT_EQ(events.head(shape) + events.row(shape, plain(0)) + events.row(shape, full()) + events.row(shape, lost) +
                events.row(shape, evaluation(301)),
            recorded.str());
}

TEST(CommaSeparatedTest, rowsHaveTheColumnsOfTheHead) {
  const LogFormat &columns = commaSeparated();
  EXPECT_EQ(
      columns.head({"samples", {"a, \"b\""}, {}, {}}),
      "step,kind,loss,grad_norm,lr,samples,samples_per_second,flops_per_second,peak_share,loss_scale,skipped,valid_tokens,epoch,sample,"
      "batch_hash,\"grad_norm a, \"\"b\"\"\"\n");
  EXPECT_EQ(columns.row(shape, plain(7)), "7,train,5.5,1.25,3e-04,4096,1000,,,,0,,,,,,,,\n");
  EXPECT_EQ(columns.row(shape, full()), "1,train,4.125,0.1,6e-04,4096,1e+06,1.5e+12,0.75,65536,1,4000,2,48,0123,,,0.08,0.06\n");
  EXPECT_EQ(columns.row(shape, evaluation(8)), "8,eval,,,,,,,,,,,,,,1.5,4.481689,,\n");
  LogShape several{"tokens", {}, {"words", "small"}, {}};
  StepRecord record = plain(7);
  record.losses = {{2.5, 17}, {0.25}};
  EXPECT_NE(columns.head(several).find(",batch_hash,loss words,counted words,loss small,counted small\n"), std::string::npos);
  EXPECT_EQ(columns.row(several, record), "7,train,5.5,1.25,3e-04,4096,1000,,,,0,,,,,2.5,17,0.25,\n");
  EXPECT_NE(tensorBoardEvents().row(several, record).find("loss/small"), std::string::npos);
  LogShape logging{"tokens", {}, {}, {}, {"moe.load.0", "moe.load.1"}};
  record = plain(8);
  record.logged = {12, std::nan("")};
  EXPECT_NE(columns.head(logging).find(",batch_hash,log moe.load.0,log moe.load.1\n"), std::string::npos);
  EXPECT_EQ(columns.row(logging, record), "8,train,5.5,1.25,3e-04,4096,1000,,,,0,,,,,12,\n");
  EXPECT_NE(tensorBoardEvents().row(logging, record).find("log/moe.load.1"), std::string::npos);
  EXPECT_EQ(Json::parse(stepLine(record, logging))["logged"].dump(), R"({"moe.load.0":12,"moe.load.1":null})");
  EXPECT_EQ(columns.row(shape, StepRecord{3, std::nan(""), INFINITY, 0, 1, 1}).substr(0, 12), "3,train,,,0,");
}

TEST(JsonLinesTest, haveNormsOfGroupsAndEvaluations) {
  Json line = Json::parse(stepLine(full(), shape));
  EXPECT_EQ(line["grad_norms"]["no decay"], 0.06);
  EXPECT_EQ(line["flops_per_second"], 1.5e12);
  EXPECT_EQ(line["peak_share"], 0.75);
  EXPECT_FALSE(Json::parse(stepLine(plain(0), shape)).contains("peak_share"));
  Json row = Json::parse(jsonLines().row(shape, evaluation(20)));
  EXPECT_EQ(row["step"], 20);
  EXPECT_EQ(row["eval_perplexity"], 4.481689);
}

TEST(LogFormatTest, isKnownByTheName) {
  EXPECT_EQ(&logFormatOf("a/log.csv"), &commaSeparated());
  EXPECT_EQ(&logFormatOf("a/events.out.tfevents.npar"), &tensorBoardEvents());
  EXPECT_EQ(&logFormatOf("tfevents.d/log.jsonl"), &jsonLines());
  EXPECT_EQ(&logFormatOf(".csv"), &jsonLines());
}

/// Steps 0 to 5 with an evaluation after each second one.
std::string logOf(const LogFormat &format, std::vector<size_t> *ends) {
  std::string log = format.head(shape);
  for (int64_t step = 0; step < 6; ++step) {
    log += format.row(shape, step == 1 ? full() : plain(step));
    ends->push_back(log.size());
    if (step % 2)
      log += format.row(shape, evaluation(step + 1));
  }
  return log;
}

// A run that resumes at step 4 keeps steps 0 to 3 and the evaluation after them; a log of a killed run keeps its complete rows.
TEST(LogFormatTest, goesOnAfterTheRowsBeforeAStep) {
  for (const LogFormat *format : formats) {
    std::vector<size_t> ends;
    std::string log = logOf(*format, &ends), row = format->row(shape, evaluation(4));
    EXPECT_EQ(format->bytesBefore(log, shape, 4), ends[3] + row.size());
    EXPECT_EQ(format->bytesBefore(log, shape, 100), log.size());
    EXPECT_EQ(format->bytesBefore(log.substr(0, ends[2] - 1), shape, 100), ends[1] + format->row(shape, evaluation(2)).size());
    EXPECT_EQ(format->bytesBefore("", shape, 100), 0u);
    EXPECT_EQ(format->bytesBefore("what is this,\n even", shape, 100), 0u);
    std::string gap = format->head(shape) + format->row(shape, plain(0)) + format->row(shape, plain(2));
    EXPECT_EQ(format->bytesBefore(gap, shape, 100), gap.size() - format->row(shape, plain(2)).size());
  }
}

// Wherever a kill or a damaged disk leaves a log, a cut of it ends at a row, and nothing is read beyond its end.
TEST(LogFormatTest, cutsAnyPartOfALogAtARow) {
  for (const LogFormat *format : formats) {
    std::vector<size_t> ends;
    std::string log = logOf(*format, &ends), head = format->head(shape);
    for (size_t size = 0; size <= log.size(); ++size) {
      size_t kept = format->bytesBefore(log.substr(0, size), shape, 100);
      EXPECT_LE(kept, size);
      EXPECT_EQ(format->bytesBefore(log.substr(0, kept), shape, 100), kept);
      for (size_t end : ends)
        EXPECT_FALSE(size >= end && kept < end) << size;
    }
    for (size_t at = 0; at < log.size(); ++at) {
      std::string damaged = log;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
      EXPECT_LE(format->bytesBefore(damaged, shape, 100), log.size());
    }
  }
}

// Columns of other groups are another log.
TEST(LogFormatTest, columnsOfAnotherShapeAreNotGoneOnWith) {
  std::vector<size_t> ends;
  EXPECT_EQ(commaSeparated().bytesBefore(logOf(commaSeparated(), &ends), {"tokens", {}, {}}, 100), 0u);
}

} // namespace
} // namespace npar::testing
