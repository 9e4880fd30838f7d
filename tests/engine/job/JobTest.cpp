// The processes of a job compare their descriptions and clocks, and merge their errors into one report.
#include "engine/job/Agreement.h"
#include "engine/job/ClockOffsets.h"
#include "engine/job/Introduction.h"
#include "engine/tables/Tables.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace npar::job {
namespace {

using Texts = std::vector<std::string>;

Introduction on(const std::string &host, std::vector<uint8_t> processors) {
  Introduction one;
  one.host = host, one.executable = "abc", one.arguments = {"run", "gpt2"}, one.features = "avx avx2", one.products = "pairs";
  one.processors = std::move(processors);
  return one;
}

TEST(Introduction, ArrivesAsItWasSent) {
  Introduction own = *introduceSelf(program::ProductOrder::Pairs);
  EXPECT_FALSE(own.host.empty());
  EXPECT_EQ(own.executable.size(), 32u);
  EXPECT_FALSE(own.features.empty());
  Introduction same = *unpackIntroduction(job::pack(own));
  EXPECT_EQ(job::pack(same), job::pack(own));
  EXPECT_EQ(same.host, own.host);
  EXPECT_EQ(same.products, "pairs");
  EXPECT_EQ(same.arguments, own.arguments);
  EXPECT_EQ(same.processors, own.processors);
  EXPECT_FALSE(unpackIntroduction({1, 2, 3}).ok());
  EXPECT_FALSE(unpackIntroduction({}).ok());
  // An npar that sends a list of CBOR.
  EXPECT_EQ(unpackIntroduction({0x86, 0x61, 'a', 0x61, 'b', 0x80, 0x61, 'c', 0x61, 'd', 0x81, 0x01}).status().message(),
            "the processes of this job run different versions of npar: install the same version on every host");
}

// A buffer of 5,000 bytes would become an object of a megabyte.
TEST(Introduction, TextsThatShareTheirBytesAreRefused) {
  for (size_t count : {1, 1000}) {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<flatbuffers::Offset<flatbuffers::String>> words(count, builder.CreateString(std::string(1000, 'x')));
    const std::vector<uint8_t> processors = {1};
    auto root = wire::CreateIntroductionDirect(builder, "a", "abc", &words, "avx", "pairs", &processors);
    EXPECT_EQ(unpackIntroduction(tables::finish(builder, root)).ok(), count == 1);
  }
}

TEST(Introduction, ProcessesOfOneJobAreAlike) {
  auto refused = [](const std::function<void(Introduction &)> &change) {
    std::vector<Introduction> processes = {on("a", {1}), on("b", {1}), on("c", {1})};
    change(processes[2]);
    return checkAlike(processes).message();
  };
  EXPECT_EQ(refused([](Introduction &) {}), "");
  EXPECT_EQ(refused([](Introduction &one) { one.executable = "abd"; }),
            "process 2 on 'c' runs another version of npar than process 0 on 'a': install the same version on every host");
  EXPECT_EQ(refused([](Introduction &one) {
              one.arguments = {"run", "llama"};
            }),
            "process 2 on 'c' was started as 'npar run llama', process 0 as 'npar run gpt2': give all processes of a job the same command "
            "line");
  EXPECT_EQ(refused([](Introduction &one) { one.features = "avx"; }),
            "process 2 on 'c' has a CPU without avx2, but process 0 on 'a' generates kernels for it: run on machines of one kind, or "
            "start a separate job per kind");
  EXPECT_EQ(refused([](Introduction &one) { one.features = "avx avx2 avx512f"; }),
            "process 2 on 'c' has a CPU with avx512f, which the CPU of process 0 on 'a' lacks, and would compute other bits: run on "
            "machines of one kind, or start a separate job per kind");
}

TEST(Introduction, ProcessesWithOtherOrdersOfProductsTakeThePortableOne) {
  std::vector<Introduction> processes = {on("a", {1}), on("b", {1})};
  EXPECT_EQ(agreedOrder(processes), program::ProductOrder::Pairs);
  processes[1].products = "portable";
  EXPECT_EQ(agreedOrder(processes), program::ProductOrder::Portable);
  EXPECT_TRUE(checkAlike(processes).ok());
  processes[0].products = processes[1].products = "unknown";
  EXPECT_EQ(agreedOrder(processes), program::ProductOrder::Portable);
}

TEST(Introduction, ProcessorsAreSharedByThoseThatMayRunOnThem) {
  // Four processes on eight processors, and two processes on another host.
  std::vector<Introduction> free = {on("a", {1, 1, 1, 1, 1, 1, 1, 1}),
                                    on("a", {1, 1, 1, 1, 1, 1, 1, 1}),
                                    on("a", {1, 1, 1, 1, 1, 1, 1, 1}),
                                    on("a", {1, 1, 1, 1, 1, 1, 1, 1}),
                                    on("b", {1, 1, 1, 1}),
                                    on("b", {1, 1, 1, 1})};
  EXPECT_EQ(threadsOf(free, 3), 2);
  EXPECT_EQ(threadsOf(free, 4), 2);
  // Each process bound to processors of its own, as some launchers do.
  std::vector<Introduction> bound = {on("a", {1, 1, 0, 0}), on("a", {0, 0, 1, 1})};
  EXPECT_EQ(threadsOf(bound, 0), 2);
  // More processes than processors.
  EXPECT_EQ(threadsOf({on("a", {1, 1}), on("a", {1, 1}), on("a", {1, 1})}, 2), 1);
}

TEST(Agreement, AnErrorOfAllIsSaidOnce) {
  Verdict same{engine::Code::BadInput, {"cannot read 'x'"}};
  Verdict agreed = agreeOn({same, same}, {"process 0 on 'a'", "process 1 on 'b'"});
  EXPECT_EQ(agreed.code, engine::Code::BadInput);
  EXPECT_EQ(agreed.errors, Texts{"cannot read 'x'"});
}

TEST(Agreement, AnErrorOfSomeSaysWhose) {
  Texts names = {"process 0 on 'a'", "process 1 on 'a'", "process 2 on 'b'", "process 3 on 'b'"};
  Verdict bad{engine::Code::BadInput, {"cannot read 'x'\nnpar: help: copy it"}};
  Verdict agreed = agreeOn({{}, {}, bad, bad}, names);
  EXPECT_EQ(agreed.code, engine::Code::BadInput);
  EXPECT_EQ(agreed.errors, Texts{"cannot read 'x'\nnpar: reported by process 2 on 'b', process 3 on 'b'\nnpar: help: copy it"});
  // An error that only process 0 reports is printed without a process name, as in a job of one process.
  EXPECT_EQ(agreeOn({bad, {}, {}, {}}, names).errors, bad.errors);
}

TEST(Agreement, TheFirstCodeCountsAndEveryTextIsSaid) {
  Verdict one{engine::Code::RunFailed, {"a"}}, other{engine::Code::BadInput, {"b"}};
  Verdict agreed = agreeOn({{}, one, other}, {"p0", "p1", "p2"});
  EXPECT_EQ(agreed.code, engine::Code::RunFailed);
  EXPECT_EQ(agreed.errors, (Texts{"a\nnpar: reported by p1", "b\nnpar: reported by p2"}));
  EXPECT_EQ(agreeOn({{}, {}, {}}, {"p0", "p1", "p2"}).code, engine::Code::Ok);
}

TEST(Agreement, VerdictsArriveAsTheyWereSent) {
  Verdict verdict = unpackVerdict(pack(Verdict{engine::Code::Timeout, {"a", "b\xFF"}}));
  EXPECT_EQ(verdict.code, engine::Code::Timeout);
  EXPECT_EQ(verdict.errors, (Texts{"a", "b\xFF"}));
  EXPECT_EQ(unpackVerdict(pack(Verdict{})).code, engine::Code::Ok);
  for (const std::vector<uint8_t> &bytes : {std::vector<uint8_t>(), pack(Verdict{static_cast<engine::Code>(200), {}})})
    EXPECT_EQ(unpackVerdict(bytes).errors, Texts{"internal error: the processes of the job perform different operations"});
}

// Process 1's clock is 40 s ahead, process 2's 7 s behind. The process that begins last, and the delays, change with each exchange.
TEST(ClockOffsets, AreFoundFromBothSides) {
  const double ahead[] = {0, 40, -7};
  std::vector<std::vector<ClockExchange>> exchanges(3);
  for (int round = 0; round < 24; ++round) {
    double begun[3], last = 0;
    for (int process = 0; process < 3; ++process) {
      begun[process] = round + 1e-4 * ((round * 7 + process * 5) % 11);
      last = std::max(last, begun[process]);
    }
    for (int process = 0; process < 3; ++process) {
      double ended = last + 1e-5 * (1 + (round * 3 + process) % 4);
      exchanges[static_cast<size_t>(process)].push_back({begun[process] + ahead[process], ended + ahead[process]});
    }
  }
  std::vector<ClockOffset> offsets = clockOffsets(exchanges);
  EXPECT_EQ(offsets[0].seconds, 0);
  for (size_t process : {1, 2}) {
    EXPECT_LE(std::abs(offsets[process].seconds + ahead[process]), offsets[process].uncertainty) << process;
    EXPECT_LT(offsets[process].uncertainty, 1e-4) << process;
  }
}

} // namespace
} // namespace npar::job
