// Products by cuBLASLt, over a library that stands in for it: bits, what is refused among its algorithms, workspaces, choices that are
// kept.
#include "engine/backends/Backends.h"
#include "engine/backends/cuda/library/CublasLt.h"
#include "engine/backends/cuda/library/ProductChoices.h"
#include "tests/engine/backends/cuda/BothBackends.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;
namespace fs = std::filesystem;

/// A product with m rows and n columns; the flags: A transposed, B transposed, added to C.
program::MatmulT productOf(int64_t m, int64_t n, int64_t k, ElementType type, ElementType result, int flags) {
  program::MatmulT p;
  p.type = type, p.result = result, p.accumulate = flags & 4;
  p.m = m, p.n = n, p.k = k, p.c_row = n;
  p.a_row = flags & 1 ? 1 : k, p.a_column = flags & 1 ? m : 1;
  p.b_row = flags & 2 ? 1 : n, p.b_column = flags & 2 ? k : 1;
  return p;
}

/// A folder for kept choices that is this test's own.
class LibraryProducts : public ::testing::Test {
protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto *test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder = ::testing::TempDir() + "npar_" + test->name() + "_" + std::to_string(::getpid());
    ::setenv("NPAR_CACHE", folder.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string folder;
};
using LibraryProductsDeathTest = LibraryProducts;

std::unique_ptr<Backend> loaded(const char *name, const char *products, const std::vector<program::MatmulT> &all) {
  std::unique_ptr<Backend> backend = makeBackend(name, products);
  program::ProgramT content;
  for (const program::MatmulT &product : all)
    content.matmuls.push_back(std::make_unique<program::MatmulT>(product));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  Status status = backend->load(*program::GetProgram(builder.GetBufferPointer()));
  EXPECT_TRUE(status.ok()) << status.message();
  return backend;
}

/// The results of both backends for the first product's operands.
struct MadeProduct {
  std::vector<BothBuffer> processor, gpu;
  std::string remark;
};
MadeProduct make(const program::MatmulT &p, const char *products, size_t a, size_t b, size_t c) {
  std::vector<BothBuffer> all = {{p.type, a, 1}, {p.type, b, 2}, {p.result, c, 3}};
  auto multiply = [](Backend &backend, const std::vector<DeviceAddress> &at) {
    EXPECT_TRUE(backend.runMatmul(0, at[0], at[1], at[2]).ok());
  };
  std::unique_ptr<Backend> cpu = loaded("cpu", "own", {p}), cuda = loaded("cuda", products, {p});
  return {after(*cpu, all, multiply), after(*cuda, all, multiply), cuda->remarks().empty() ? "" : cuda->remarks().back()};
}

void expectSame(const program::MatmulT &p, const char *products, const std::string &remark) {
  MadeProduct made = make(p, products, size_t(p.m * p.k), size_t(p.k * p.n), size_t(p.m * p.n));
  std::string what = std::string(wordOf(p.type)) + " " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
  expectSameBits(made.processor, made.gpu, what);
  EXPECT_NE(made.remark.find(remark), std::string::npos) << what << ": " << made.remark;
}

TEST_F(LibraryProducts, Float32HasTheBitsOfTheProcessor) {
  for (int flags = 0; flags < 8; ++flags)
    expectSame(productOf(40 + flags, 64, 33 + flags, ElementType::F32, ElementType::F32, flags), "library",
               "1 of 1 matrix products, 1 of them with the bits");
  expectSame(productOf(16, 32, 20, ElementType::F64, ElementType::F64, 4), "library", "1 of 1 matrix products, 1 of them with the bits");
  expectSame(productOf(2, 2, 1, ElementType::F32, ElementType::F32, 0), "matching", "1 of 1 matrix products, 1 of them with the bits");
}

// Other bits than the processor's are taken where that is asked for, and not where the bits are to match.
TEST_F(LibraryProducts, OtherBitsAreTakenWhenAsked) {
  for (auto [type, result] : {std::pair{ElementType::BF16, ElementType::BF16}, {ElementType::BF16, ElementType::F32}}) {
    program::MatmulT p = productOf(32, 16, 200, type, result, 2);
    expectSame(p, "matching", "0 of 1 matrix products, 0 of them with the bits");
    MadeProduct made = make(p, "library", 32 * 200, 200 * 16, 32 * 16);
    EXPECT_NE(made.remark.find("1 of 1 matrix products, 0 of them with the bits"), std::string::npos) << made.remark;
    EXPECT_EQ(made.processor[2].bytes == made.gpu[2].bytes, result == ElementType::BF16); // in so few of 16 bits nothing shows
  }
  expectSame(productOf(1, 16, 200, ElementType::F32, ElementType::F32, 0), "matching", "0 of 1 matrix products");
  expectSame(productOf(32, 16, 200, ElementType::F16, ElementType::F16, 0), "library", "1 of 1 matrix products, 0 of them with the bits");
  expectSame(productOf(2, 8, 3, ElementType::F32, ElementType::F32, 0), "matching", "0 of 1 matrix products"); // too few to tell
}

// Rows that begin at odd places are none of the library's business.
TEST_F(LibraryProducts, WhatTheLibraryRefusesIsOurs) {
  expectSame(productOf(8, 7, 16, ElementType::BF16, ElementType::BF16, 0), "library", "0 of 1 matrix products");
}

// Two loops of which the longer is the library's, with an operand shared along the other one.
TEST_F(LibraryProducts, Batches) {
  program::MatmulT p = productOf(16, 12, 5, ElementType::F32, ElementType::F32, 2);
  p.batch = {2, 1, 3}, p.a_batch = {240, 240, 80}, p.b_batch = {0, 0, 60}, p.c_batch = {576, 576, 192};
  MadeProduct made = make(p, "library", 480, 180, 1152);
  expectSameBits(made.processor, made.gpu, "a batch");
  EXPECT_NE(made.remark.find("1 of 1 matrix products, 1 of them"), std::string::npos) << made.remark;
}

// Heads that are neighbours in a row, like those of attention.
TEST_F(LibraryProducts, BatchesThatInterleave) {
  program::MatmulT p = productOf(24, 8, 16, ElementType::F32, ElementType::F32, 0);
  p.batch = {3}, p.a_batch = {16}, p.b_batch = {8}, p.c_batch = {8};
  p.a_row = 48, p.b_row = 24, p.c_row = 24;
  MadeProduct made = make(p, "library", 24 * 48, 16 * 24, 24 * 24);
  expectSameBits(made.processor, made.gpu, "heads");
  EXPECT_NE(made.remark.find("1 of 1 matrix products, 1 of them"), std::string::npos) << made.remark;
}

/// In a process of its own: the libraries read their environment once. Ends with 0 if nothing failed.
[[noreturn]] void inProductProcess(const char *wishes, const std::function<void()> &body) {
  ::setenv("NPAR_STANDIN_CUBLASLT", wishes, 1);
  body();
  std::fprintf(stderr, "done\n");
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

// The first algorithms of the library's list do not repeat their bits, round to TF32, or have another order than the others.
TEST_F(LibraryProductsDeathTest, UnsteadyAndRoundedAlgorithmsAreRejected) {
  auto body = [] {
    for (int flags : {0, 7})
      expectSame(productOf(40, 64, 65, ElementType::F32, ElementType::F32, flags), "library", "1 of 1 matrix products, 1 of them");
  };
  for (const char *wishes : {"restless", "tf32", "reversed", "restless,tf32,reversed"})
    EXPECT_EXIT(inProductProcess(wishes, body), ::testing::ExitedWithCode(0), "done") << wishes;
}

/// The greatest difference between results in float32.
double productDistance(const BothBuffer &left, const BothBuffer &right) {
  double most = 0;
  for (size_t i = 0; i < left.bytes.size(); i += sizeof(float)) {
    float one, other;
    std::memcpy(&one, &left.bytes[i], sizeof one), std::memcpy(&other, &right.bytes[i], sizeof other);
    most = std::max(most, std::abs(static_cast<double>(one) - static_cast<double>(other)));
  }
  return most;
}

// So they are where no algorithm has npar's own bits: sums of bf16, and a row alone.
TEST_F(LibraryProductsDeathTest, WhereNoBitsAreOursTheyAreSteadyAndNotRounded) {
  auto steady = [] {
    program::MatmulT p = productOf(32, 16, 200, ElementType::BF16, ElementType::F32, 2);
    MadeProduct first = make(p, "library", 6400, 3200, 512), again = make(p, "library", 6400, 3200, 512);
    expectSameBits(first.gpu, again.gpu, "bf16");
    EXPECT_NE(first.remark.find("1 of 1 matrix products, 0 of them"), std::string::npos) << first.remark;
  };
  EXPECT_EXIT(inProductProcess("restless", steady), ::testing::ExitedWithCode(0), "done");
  // The library offers two orders of sums, and each load tries both: times do not decide between them.
  auto untimed = [] {
    for (const char *name : {"NPAR_CACHE", "XDG_CACHE_HOME", "HOME"})
      ::unsetenv(name);
    program::MatmulT p = productOf(32, 16, 200, ElementType::BF16, ElementType::F32, 2);
    MadeProduct first = make(p, "library", 6400, 3200, 512);
    for (int i = 0; i < 12; ++i) {
      MadeProduct again = make(p, "library", 6400, 3200, 512);
      expectSameBits(first.gpu, again.gpu, "load " + std::to_string(i));
    }
  };
  EXPECT_EXIT(inProductProcess("reversed", untimed), ::testing::ExitedWithCode(0), "done");
  auto exact = [] {
    MadeProduct made = make(productOf(1, 300, 300, ElementType::F32, ElementType::F32, 0), "library", 300, 90000, 300);
    EXPECT_LT(productDistance(made.processor[2], made.gpu[2]), 3e-3); // in TF32 it is 0.2
    EXPECT_NE(made.remark.find("1 of 1 matrix products, 0 of them"), std::string::npos) << made.remark;
  };
  EXPECT_EXIT(inProductProcess("tf32", exact), ::testing::ExitedWithCode(0), "done");
}

program::MatmulT tf32(program::MatmulT p) {
  p.tf32 = true;
  return p;
}

// A product in TF32 asks the library for TF32, which rounds operands as npar does, or differently.
TEST_F(LibraryProducts, Tf32HasTheBitsOfTheProcessor) {
  for (int flags : {0, 3, 7})
    expectSame(tf32(productOf(40 + flags, 64, 33 + flags, ElementType::F32, ElementType::F32, flags)), "matching",
               "1 of 1 matrix products, 1 of them with the bits");
}

// If no algorithm has npar's bits, here for a single row, the first close one is used. An algorithm that truncates operands is close. One
// that computes in 16 bits is not, although fp16 has as many bits of mantissa.
TEST_F(LibraryProductsDeathTest, Tf32MayCutOperandsOffButNotComputeInSixteenBits) {
  for (bool cut : {true, false}) {
    auto body = [cut] {
      MadeProduct made = make(tf32(productOf(1, 300, 300, ElementType::F32, ElementType::F32, 0)), "library", 300, 90000, 300);
      EXPECT_NE(made.remark.find("1 of 1 matrix products, 0 of them"), std::string::npos) << made.remark;
      double apart = productDistance(made.processor[2], made.gpu[2]);
      EXPECT_LT(apart, cut ? 1.0 : 3e-3);
      EXPECT_GT(apart, cut ? 3e-2 : 0.0);
      expectSame(tf32(productOf(40, 64, 65, ElementType::F32, ElementType::F32, 0)), "matching", "1 of 1 matrix products, 1 of them");
    };
    for (const char *wishes : cut ? std::vector<const char *>{"truncated", "bf16,truncated"} : std::vector<const char *>{"bf16", "fp16"}) {
      fs::remove_all(folder);
      EXPECT_EXIT(inProductProcess(wishes, body), ::testing::ExitedWithCode(0), "done") << wishes;
    }
  }
}

// Each stream has a workspace of its own, which has results between two works of the stream.
TEST_F(LibraryProductsDeathTest, WorkspacesAreNotShared) {
  auto body = [] {
    program::MatmulT p = productOf(32, 32, 16, ElementType::F32, ElementType::F32, 0);
    std::unique_ptr<Backend> cpu = loaded("cpu", "own", {p}), cuda = loaded("cuda", "library", {p});
    EXPECT_NE(cuda->remarks().back().find("and 4096 bytes of workspace"), std::string::npos) << cuda->remarks().back();
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 3; ++thread)
      threads.emplace_back([&, thread] {
        cuda->enterThread();
        std::vector<BothBuffer> all = {{p.type, 512, 10 + thread}, {p.type, 512, 20 + thread}, {p.result, 1024, 3}};
        auto multiply = [](Backend &backend, const std::vector<DeviceAddress> &at) {
          for (int i = 0; i < 10; ++i)
            EXPECT_TRUE(backend.runMatmul(0, at[0], at[1], at[2]).ok());
        };
        auto found = after(*cuda, all, multiply), expected = after(*cpu, all, multiply);
        expectSameBits(expected, found, "thread " + std::to_string(thread));
      });
    for (std::thread &thread : threads)
      thread.join();
  };
  EXPECT_EXIT(inProductProcess("workspace", body), ::testing::ExitedWithCode(0), "done");
}

TEST_F(LibraryProductsDeathTest, MemoryThatIsMissingNamesTheWorkspaces) {
  auto body = [] {
    program::MatmulT p = productOf(32, 32, 16, ElementType::F32, ElementType::F32, 0);
    std::unique_ptr<Backend> cuda = loaded("cuda", "library", {p});
    ASSERT_TRUE(cuda->prepareLanes({0, 0, 0}).ok());
    Result<DeviceAddress> memory = cuda->allocate(90000000);
    ASSERT_FALSE(memory.ok());
    std::fprintf(stderr, "%s\n", memory.status().message().c_str());
  };
  ::setenv("NPAR_STANDIN_MEMORY", "80000000", 1);
  EXPECT_EXIT(inProductProcess("workspace", body), ::testing::ExitedWithCode(0),
              "cannot allocate memory of 90000000 bytes on GPU 0 .*; 196608 are taken by contexts of kernels, 12288 are taken by what "
              "ranks compute in");
  ::unsetenv("NPAR_STANDIN_MEMORY");
}

// Choices are saved. Damage to the file is reported and does no harm.
TEST_F(LibraryProducts, ChoicesAreKept) {
  program::MatmulT p = productOf(40, 64, 33, ElementType::F32, ElementType::F32, 0);
  expectSame(p, "library", "1 of them with the bits");
  std::vector<fs::path> files(fs::directory_iterator{folder}, fs::directory_iterator{});
  ASSERT_EQ(files.size(), 1u);
  std::string text;
  {
    std::ifstream stream(files[0]);
    text.assign(std::istreambuf_iterator<char>(stream), {});
  }
  EXPECT_NE(text.find("cuBLASLt 13.1.0, "), std::string::npos) << text;
  // A kept choice that says otherwise is believed: nothing is tried.
  size_t begin = text.find("f32 f32"), device = text.find("13.1.0, ") + 8;
  cuda::ProductChoices choices(text.substr(device, text.find('\n') - device), "13.1.0");
  std::string shape = text.substr(begin, text.find(':', begin) - begin);
  ASSERT_NE(choices.find(shape), nullptr) << shape;
  cuda::ProductChoice choice = *choices.find(shape);
  EXPECT_TRUE(choice.ownBits);
  choice.ownBits = false;
  choices.add(shape, choice);
  choices.save();
  expectSame(p, "library", "0 of them with the bits");

  std::ofstream(files[0], std::ios::app) << "x";
  std::vector<std::string> said = loaded("cuda", "library", {p})->remarks();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("is damaged and ignored: all are tried again"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("1 of them with the bits"), std::string::npos) << said[1];
  EXPECT_EQ(loaded("cuda", "library", {p})->remarks().size(), 1u); // it was written again
}

// Two processes write at once: each keeps what the other has written.
TEST_F(LibraryProducts, ChoicesOfOthersStay) {
  cuda::ProductChoice choice;
  choice.algorithm.data[7] = ~uint64_t{0}, choice.workspaceBytes = 5, choice.microseconds = 1.5, choice.ownBits = true;
  cuda::ProductChoices one("a device", "12.0.1"), other("a device", "12.0.1");
  one.add("one", choice), other.add("other", choice);
  one.save(), other.save();
  cuda::ProductChoices both("a device", "12.0.1"), newer("a device", "13.0.0");
  for (const char *name : {"one", "other"}) {
    ASSERT_NE(both.find(name), nullptr) << name;
    EXPECT_EQ(both.find(name)->algorithm.data[7], ~uint64_t{0});
    EXPECT_EQ(both.find(name)->workspaceBytes, 5u);
    EXPECT_EQ(both.find(name)->microseconds, 1.5);
    EXPECT_TRUE(both.find(name)->ownBits);
    EXPECT_EQ(newer.find(name), nullptr);
  }
  EXPECT_TRUE(both.remarks().empty());
}

TEST_F(LibraryProducts, AFolderThatCannotBeWrittenIsARemark) {
  fs::create_directories(folder);
  std::ofstream(folder + "/file") << "x";
  ::setenv("NPAR_CACHE", (folder + "/file").c_str(), 1);
  program::MatmulT p = productOf(4, 4, 4, ElementType::F32, ElementType::F32, 0);
  std::vector<std::string> said = loaded("cuda", "library", {p})->remarks();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].find("choices of algorithms cannot be kept in '"), 0u) << said[0];
}

[[noreturn]] void openLibrary(const char *path, const char *wishes) {
  ::setenv("NPAR_CUBLASLT", path, 1), ::setenv("NPAR_STANDIN_CUBLASLT", wishes, 1);
  program::ProgramT content;
  content.matmuls.push_back(std::make_unique<program::MatmulT>(productOf(4, 4, 4, ElementType::F32, ElementType::F32, 0)));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  Status status = makeBackend("cuda", "library")->load(*program::GetProgram(builder.GetBufferPointer()));
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::_Exit(static_cast<int>(status.code()));
}

TEST_F(LibraryProductsDeathTest, NoLibraryAnotherOneAndAnOldOne) {
  EXPECT_EXIT(openLibrary("/nowhere/libcublasLt.so", ""), ::testing::ExitedWithCode(1),
              "there is no cuBLASLt: /nowhere/libcublasLt.so: cannot open shared object file.*; --cuda-products own does not need it");
  EXPECT_EXIT(openLibrary("libm.so.6", ""), ::testing::ExitedWithCode(1),
              "cuBLASLt 'libm.so.6' lacks cublasLtCreate, .*cublasLtGetVersion");
  EXPECT_EXIT(openLibrary(std::getenv("NPAR_CUBLASLT"), "version=110900"), ::testing::ExitedWithCode(1),
              "cuBLASLt has version 11.9.0, and 12.0.0 is needed: install a newer one");
}

TEST_F(LibraryProducts, AnUnknownWordIsRefused) {
  Result<std::unique_ptr<Backend>> backend = createBackend("cuda", {}, "some");
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.status().message(), "unknown kind of products 'some': own, matching and library exist");
}

// NVIDIA's own library has all that npar calls; no GPU is needed to ask for its version.
TEST_F(LibraryProductsDeathTest, TheRealLibraryIsOpened) {
  const char *real = "/usr/local/cuda/lib64/libcublasLt.so";
  if (!fs::exists(real))
    GTEST_SKIP() << "no " << real << ": the CUDA toolkit is not installed";
  auto body = [real] {
    ::setenv("NPAR_CUBLASLT", real, 1);
    Result<const cuda::CublasLt *> library = cuda::CublasLt::open();
    std::fprintf(stderr, "%s\n", library.ok() ? (*library)->version().c_str() : library.status().message().c_str());
    std::_Exit(library.ok() ? 0 : 1);
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "^1[2-9]\\.[0-9]+\\.[0-9]+");
}

} // namespace
} // namespace npar::testing
