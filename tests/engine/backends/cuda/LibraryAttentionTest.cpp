// Attention by cuDNN, over a library that stands in for it: numbers, bits that repeat, what stays npar's own, engines that are rejected.
#include "engine/backends/cuda/library/LibraryAttention.h"
#include "engine/backends/Backends.h"
#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Elements.h"
#include "tests/engine/backends/cuda/OneAttention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;

void ofSixteen(program::AttentionT &attention) { attention.features = 16, attention.values = 24; }

struct Made {
  std::vector<BothBuffer> results;
  std::string remark; ///< the last but one and the last
};
/// `attention`: who computes it.
Made make(OneAttention &one, const char *backendName, const char *attention) {
  std::unique_ptr<Backend> backend = makeBackend(backendName, "own", attention);
  Status status = backend->load(one.root());
  EXPECT_TRUE(status.ok()) << status.message();
  const int64_t context[] = {3, 0, 1, 1, 0};
  Made made;
  for (const std::string &remark : backend->remarks())
    made.remark += remark + "\n";
  std::vector<BothBuffer> buffers = one.buffers();
  if (one.attention().gradient) // logarithms of sums that probabilities of about one come from
    for (size_t i = 0; i < buffers[5].bytes.size() / sizeof(float); ++i)
      reinterpret_cast<float *>(buffers[5].bytes.data())[i] = std::log(static_cast<float>(one.attention().keys)) + 0.01f * float(i % 7);
  made.results = after(*backend, std::move(buffers), [&](Backend &on, const std::vector<DeviceAddress> &at) {
    EXPECT_TRUE(on.runAttention(0, at.data(), at.size(), context).ok());
    Status done = waitUntilDone(on);
    EXPECT_TRUE(done.ok()) << done.message();
  });
  return made;
}

std::vector<double> numbersOf(const BothBuffer &buffer) {
  std::vector<double> numbers;
  for (size_t i = 0; i < buffer.bytes.size() / program::sizeOf(buffer.type); ++i) {
    auto get = [&](auto value) {
      std::memcpy(&value, buffer.bytes.data() + i * sizeof value, sizeof value);
      return static_cast<double>(static_cast<float>(value));
    };
    numbers.push_back(buffer.type == ElementType::F32    ? get(float())
                      : buffer.type == ElementType::BF16 ? get(engine::BFloat16())
                                                         : get(engine::Float16()));
  }
  return numbers;
}

/// Largest difference, relative to the number and the root of the mean square together.
double distance(const BothBuffer &left, const BothBuffer &right) {
  std::vector<double> one = numbersOf(left), other = numbersOf(right);
  double squares = 0, most = 0;
  for (double number : one)
    squares += number * number;
  double usual = std::sqrt(squares / static_cast<double>(one.size()));
  for (size_t i = 0; i < one.size(); ++i)
    most = std::max(most, std::abs(one[i] - other[i]) / (usual + std::abs(one[i])));
  return most;
}

// Near the processor's numbers, not with its bits, and the same each time.
TEST(LibraryAttention, IsNearTheProcessor) {
  for (ElementType type : {ElementType::BF16, ElementType::F16})
    for (bool gradient : {false, true})
      for (bool causal : {false, true}) {
        OneAttention one(type, {40, causal ? 40 : 24, causal, gradient, ofSixteen});
        Made processor = make(one, "cpu", "own"), library = make(one, "cuda", "library"), again = make(one, "cuda", "library");
        std::string what = std::string(wordOf(type)) + (gradient ? " gradient" : "") + (causal ? " causal" : "");
        EXPECT_NE(library.remark.find("cuDNN 9.19.0 has 1 of 1 attentions, and "), std::string::npos) << what << ": " << library.remark;
        expectSameBits(library.results, again.results, what);
        bool differs = false;
        for (size_t i = gradient ? 6 : 3; i < library.results.size(); ++i) {
          EXPECT_LT(distance(processor.results[i], library.results[i]), type == ElementType::BF16 ? 0.05 : 0.007)
              << what << ", operand " << i;
          differs |= processor.results[i].bytes != library.results[i].bytes;
        }
        EXPECT_TRUE(differs) << what;
      }
}

// One head of queries for each of keys.
TEST(LibraryAttention, HeadsWithKeysOfTheirOwn) {
  auto single = [](program::AttentionT &attention) { ofSixteen(attention), attention.heads = 1; };
  for (bool gradient : {false, true}) {
    OneAttention one(ElementType::BF16, {24, 24, true, gradient, single});
    Made processor = make(one, "cpu", "own"), library = make(one, "cuda", "library");
    EXPECT_NE(library.remark.find("has 1 of 1"), std::string::npos) << library.remark;
    for (size_t i = gradient ? 6 : 3; i < library.results.size(); ++i)
      EXPECT_LT(distance(processor.results[i], library.results[i]), 0.05) << i;
  }
}

// Samples of a gradient whose matrices of queries by keys have no room together are launches of their own, forward they are one.
TEST(LibraryAttention, SamplesAreLaunchesWhereTheirMatricesHaveNoRoom) {
  auto mapped = [](int64_t rows, bool gradient) {
    OneAttention one(ElementType::BF16, {rows, rows, true, gradient, ofSixteen});
    Result<cuda::LibraryAttention> made =
        cuda::libraryAttention(one.root(), *one.root().attentions()->Get(0), cuda::alignmentsOfAttentions(one.root())[0]);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *made;
  };
  for (auto [rows, gradient, together] : {std::tuple<int64_t, bool, int64_t>{8192, true, 1}, {8192, false, 2}, {4096, true, 2}}) {
    cuda::LibraryAttention made = mapped(rows, gradient);
    EXPECT_EQ(made.shape.samples, together) << rows;
    EXPECT_EQ(made.samples.size, together) << rows;
    EXPECT_EQ(made.around.size(), together == 1 ? 1u : 0u) << rows;
    for (const cuda::AttentionLoop &launches : made.around) {
      EXPECT_EQ(launches.size, 2);
      EXPECT_EQ(launches.strides, made.samples.strides);
    }
  }
}

// All else is npar's own, with the processor's bits, and says why.
TEST(LibraryAttention, WhatStaysOurs) {
  struct Case {
    const char *why;
    ElementType type;
    int64_t rows, keys;
    bool causal, gradient;
    void (*alter)(program::AttentionT &);
  };
  const Case cases[] = {
      {"has type float32", ElementType::F32, 16, 16, true, false, ofSixteen},
      {"has type float64", ElementType::F64, 16, 16, true, true, ofSixteen},
      {"has heads of 37, not of a multiple of 8 up to 128", ElementType::BF16, 16, 16, true, false, [](program::AttentionT &) {}},
      {"has heads of 136, not of a multiple of 8 up to 128", ElementType::BF16, 8, 8, false, false,
       [](program::AttentionT &attention) { attention.features = 136, attention.values = 8; }},
      {"is part of a ring", ElementType::BF16, 16, 16, false, false,
       [](program::AttentionT &attention) { ofSixteen(attention), attention.unfinished = true; }},
      {"has a piece of a sequence", ElementType::BF16, 8, 24, true, false,
       [](program::AttentionT &attention) { ofSixteen(attention), attention.axes = {1}; }},
      {"has cached keys", ElementType::BF16, 4, 24, true, false,
       [](program::AttentionT &attention) { ofSixteen(attention), attention.other = true; }},
  };
  for (const Case &c : cases) {
    OneAttention one(c.type, {c.rows, c.keys, c.causal, c.gradient, c.alter});
    Made own = make(one, "cuda", "own"), library = make(one, "cuda", "library");
    EXPECT_EQ(own.remark, "");
    EXPECT_NE(library.remark.find(std::string("attention 0 ") + c.why + ": npar's own kernels compute it"), std::string::npos)
        << c.why << ": " << library.remark;
    EXPECT_NE(library.remark.find("cuDNN 9.19.0 has 0 of 1 attentions, and 0 bytes of workspace"), std::string::npos) << library.remark;
    expectSameBits(own.results, library.results, c.why);
  }
}

// Each thread has its own workspace: the stand-in marks it when an execution begins, and checks the mark when it continues.
TEST(LibraryAttention, ThreadsHaveWorkspacesOfTheirOwn) {
  OneAttention one(ElementType::BF16, {24, 24, true, true, ofSixteen});
  std::unique_ptr<Backend> backend = makeBackend("cuda", "own", "library");
  ASSERT_TRUE(backend->load(one.root()).ok());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&] {
      backend->enterThread();
      const int64_t context[] = {3, 0, 1, 1, 0};
      (void)after(*backend, one.buffers(), [&](Backend &on, const std::vector<DeviceAddress> &at) {
        for (int i = 0; i < 5; ++i)
          EXPECT_TRUE(on.runAttention(0, at.data(), at.size(), context).ok());
        Status done = waitUntilDone(on);
        EXPECT_TRUE(done.ok()) << done.message();
      });
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// The library is opened once per process, so each wish has one of its own.
void inProcess(const char *wish, const std::function<void()> &body) {
  ::setenv("NPAR_STANDIN_CUDNN", wish, 1);
  body();
  std::fprintf(stderr, "done\n");
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

class LibraryAttentionDeathTest : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Whatever comes first, what is taken has the numbers and the bits of the library without it.
TEST_F(LibraryAttentionDeathTest, WrongEnginesAreRejected) {
  auto body = [] {
    for (bool gradient : {false, true}) {
      OneAttention one(ElementType::BF16, {24, 24, true, gradient, ofSixteen});
      Made processor = make(one, "cpu", "own"), library = make(one, "cuda", "library"), again = make(one, "cuda", "library");
      EXPECT_NE(library.remark.find("has 1 of 1"), std::string::npos) << library.remark;
      expectSameBits(library.results, again.results, "again");
      for (size_t i = gradient ? 6 : 3; i < library.results.size(); ++i)
        EXPECT_LT(distance(processor.results[i], library.results[i]), 0.05) << i;
    }
  };
  EXPECT_EXIT(inProcess("restless,blind", body), ::testing::ExitedWithCode(0), "done");
}

TEST_F(LibraryAttentionDeathTest, WhatTheLibraryHasNoPlanForIsOurs) {
  auto body = [] {
    OneAttention one(ElementType::BF16, {24, 24, true, false, ofSixteen});
    Made own = make(one, "cuda", "own"), library = make(one, "cuda", "library");
    EXPECT_NE(library.remark.find("attention 0 has no plan: npar's own kernels compute it"), std::string::npos) << library.remark;
    expectSameBits(own.results, library.results, "no plan");
  };
  EXPECT_EXIT(inProcess("nothing", body), ::testing::ExitedWithCode(0), "done");
}

TEST_F(LibraryAttentionDeathTest, OldAndMissingLibrariesAreNamed) {
  auto body = [] {
    OneAttention one(ElementType::BF16, {24, 24, true, false, ofSixteen});
    Status status = makeBackend("cuda", "own", "library")->load(one.root());
    std::fprintf(stderr, "%s\n", status.message().c_str());
    EXPECT_EQ(status.code(), engine::Code::BadInput);
  };
  EXPECT_EXIT(inProcess("version=91002", body), ::testing::ExitedWithCode(0),
              "cuDNN has version 9.10.2, and 9.11.0 is needed: install a newer one; --cuda-attention own does not need it");
  std::string before = std::getenv("NPAR_CUDNN");
  ::setenv("NPAR_CUDNN", "./nothing.so", 1);
  EXPECT_EXIT(inProcess("", body), ::testing::ExitedWithCode(0),
              "there is no cuDNN: ./nothing.so: .*; --cuda-attention own does not need it");
  ::setenv("NPAR_CUDNN", before.c_str(), 1);
}

} // namespace
} // namespace npar::testing
