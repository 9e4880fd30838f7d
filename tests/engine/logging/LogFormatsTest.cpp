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
    EXPECT_EQ(format->rowsBefore(log, shape, 4).bytes, ends[3] + row.size());
    EXPECT_EQ(format->rowsBefore(log, shape, 100).bytes, log.size());
    EXPECT_EQ(format->rowsBefore(log.substr(0, ends[2] - 1), shape, 100).bytes, ends[1] + format->row(shape, evaluation(2)).size());
    EXPECT_EQ(format->rowsBefore("", shape, 100).bytes, 0u);
    EXPECT_EQ(format->rowsBefore("what is this,\n even", shape, 100).bytes, 0u);
    EXPECT_NE(format->rowsBefore("what is this,\n even", shape, 100).fault, "");
    std::string gap = format->head(shape) + format->row(shape, plain(0)) + format->row(shape, plain(2)); // a run without a log in between
    EXPECT_EQ(format->rowsBefore(gap, shape, 100).bytes, gap.size());
    EXPECT_EQ(format->rowsBefore(gap, shape, 100).fault, "");
    KeptRows turned = format->rowsBefore(gap + format->row(shape, plain(1)), shape, 100);
    EXPECT_EQ(turned.bytes, gap.size());
    EXPECT_EQ(turned.fault, "step 1 follows step 2");
  }
}

// Wherever a kill or a damaged disk leaves a log, a cut of it ends at a row, and nothing is read beyond its end.
TEST(LogFormatTest, cutsAnyPartOfALogAtARow) {
  for (const LogFormat *format : formats) {
    std::vector<size_t> ends;
    std::string log = logOf(*format, &ends), head = format->head(shape);
    for (size_t size = 0; size <= log.size(); ++size) {
      size_t kept = format->rowsBefore(log.substr(0, size), shape, 100).bytes;
      EXPECT_EQ(format->rowsBefore(log.substr(0, size), shape, 100).fault, "") << size;
      EXPECT_LE(kept, size);
      EXPECT_EQ(format->rowsBefore(log.substr(0, kept), shape, 100).bytes, kept);
      for (size_t end : ends)
        EXPECT_FALSE(size >= end && kept < end) << size;
    }
    for (size_t at = 0; at < log.size(); ++at) {
      std::string damaged = log;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
      EXPECT_LE(format->rowsBefore(damaged, shape, 100).bytes, log.size());
    }
  }
}

// A log with other columns is a fault that names one of them: its rows must not be lost.
TEST(LogFormatTest, otherColumnsAreNamed) {
  std::vector<size_t> ends;
  const std::string log = logOf(commaSeparated(), &ends);
  auto fault = [&](const LogShape &other) { return commaSeparated().rowsBefore(log, other, 100).fault; };
  LogShape more = shape, turned = shape;
  more.groups.push_back("a, \"b\"");
  std::swap(turned.groups[0], turned.groups[1]);
  EXPECT_EQ(fault({"tokens", {}, {}}), "it has a column 'eval_loss', which this run does not write");
  EXPECT_EQ(fault(more), "it has no column 'grad_norm a, \"b\"', which this run writes");
  EXPECT_EQ(fault(turned), "its columns have another order");
  EXPECT_EQ(commaSeparated().rowsBefore(commaSeparated().head(more), shape, 100).fault,
            "it has a column 'grad_norm a, \"b\"', which this run does not write");
  EXPECT_EQ(commaSeparated().rowsBefore("a,b\n1,2\n", shape, 100).fault, "it does not begin with the columns of a log");
}

} // namespace
} // namespace npar::testing
