// Error messages for a missing or old driver, no device, another architecture, too little memory, and a lost device.
#include "engine/backends/Backends.h"
#include "engine/backends/cuda/ptx/Ptx.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using Variables = std::vector<std::pair<const char *, const char *>>;

/// Runs in a process of its own, because a process opens the driver only once.
[[noreturn]] void inProcess(const Variables &variables, const std::function<Status(Backend &)> &use) {
  for (auto [name, value] : variables)
    ::setenv(name, value, 1);
  Result<std::unique_ptr<Backend>> backend = createBackend("cuda", {});
  Status status = backend.ok() ? use(**backend) : backend.status();
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::_Exit(static_cast<int>(status.code()));
}

Status nothing(Backend &) { return {}; }

class CudaErrors : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
using CudaErrorsDeathTest = CudaErrors;

constexpr int badInput = 1, runFailed = 4;

TEST_F(CudaErrorsDeathTest, NoDriver) {
  EXPECT_EXIT(inProcess({{"NPAR_CUDA_DRIVER", "/nowhere/libcuda.so.1"}}, nothing), ::testing::ExitedWithCode(badInput),
              "there is no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file");
}

TEST_F(CudaErrorsDeathTest, AnotherLibrary) {
  EXPECT_EXIT(inProcess({{"NPAR_CUDA_DRIVER", "libm.so.6"}}, nothing), ::testing::ExitedWithCode(badInput),
              "the CUDA driver 'libm.so.6' lacks cuInit, ");
}

TEST_F(CudaErrorsDeathTest, OldDriver) {
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_FAULT", "driver=11040"}}, nothing), ::testing::ExitedWithCode(badInput),
              "the CUDA driver has version 11.4, and 12.1 is needed: install a newer driver");
}

TEST_F(CudaErrorsDeathTest, NoDevice) {
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_DEVICES", "0"}}, nothing), ::testing::ExitedWithCode(badInput),
              "there is no GPU: the CUDA driver 13.0 sees none");
}

Status loadKernelsFor(Backend &backend, const std::vector<const char *> &architectures) {
  program::ProgramT content;
  content.kernels.push_back(std::make_unique<program::KernelT>());
  content.kernels.back()->symbol = "add_0";
  for (const char *architecture : architectures) {
    content.codes.push_back(std::make_unique<program::DeviceCodeT>());
    content.codes.back()->backend = "cuda", content.codes.back()->features = architecture;
  }
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  return backend.load(*program::GetProgram(builder.GetBufferPointer()));
}

TEST_F(CudaErrorsDeathTest, AnotherArchitecture) {
  auto load = [](Backend &backend) { return loadKernelsFor(backend, {"sm_89", "sm_90"}); };
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_ARCHITECTURE", "80"}}, load), ::testing::ExitedWithCode(badInput),
              "the program's kernels for GPUs are for sm_89, sm_90, and GPU 0 .* is sm_80: compile it with --target cuda:sm_80");
}

TEST_F(CudaErrorsDeathTest, NoKernelsForGpus) {
  auto load = [](Backend &backend) { return loadKernelsFor(backend, {}); };
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_ARCHITECTURE", "100"}}, load), ::testing::ExitedWithCode(badInput),
              "the program has no kernels for GPUs, and GPU 0 .* is sm_100: compile it with --target cuda:sm_90");
}

TEST_F(CudaErrorsDeathTest, OldDevice) {
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_ARCHITECTURE", "75"}}, nothing), ::testing::ExitedWithCode(badInput),
              "GPU 0 .* is sm_75: npar needs sm_80 or newer");
}

TEST_F(CudaErrorsDeathTest, OutOfMemory) {
  auto allocate = [](Backend &backend) { return backend.allocate(3000000).status(); };
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_MEMORY", "2097152"}}, allocate), ::testing::ExitedWithCode(runFailed),
              "cannot allocate memory of 3000000 bytes on GPU 0 .*: [0-9]+ of its 2097152 bytes are free");
  auto fit = [](Backend &backend) {
    Status lanes = backend.prepareLanes({0, 0});
    Result<DeviceAddress> memory = backend.allocate(4096);
    return lanes.ok() && memory.ok() && backend.fits(0, 4096).ok() ? backend.fits(0, 3000000) : Status();
  };
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_MEMORY", "2097152"}}, fit), ::testing::ExitedWithCode(badInput),
              "GPU 0 .* has too little memory for the first step: 3000000 bytes are needed, and [0-9]+ are free; 4096 are taken by "
              "the ranks and their messages, 131072 are taken by contexts of kernels");
}

// A context for each micro-batch, and the pointers of each step whose kernel finds them in memory: none is taken in the first step.
TEST_F(CudaErrorsDeathTest, ContextsOfAWholeProgram) {
  auto load = [](Backend &backend) {
    program::ProgramT content;
    content.micro_count = 3000;
    content.mesh.push_back(std::make_unique<program::MeshAxisT>());
    content.kernels.push_back(std::make_unique<program::KernelT>());
    content.kernels.back()->symbol = "update_0";
    content.codes.push_back(std::make_unique<program::DeviceCodeT>());
    content.codes.back()->backend = "cuda", content.codes.back()->features = "sm_80";
    std::string text = "// npar kernels sm_80\n// kernel update_0 threads 32 rows 1 extent 1 many : f32[1] -> f32[1]\n" +
                       cuda::moduleText({cuda::PtxKernel("update_0", 3, 32).text()});
    content.codes.back()->object.assign(text.begin(), text.end());
    for (uint32_t tasks : {1, 2}) {
      content.classes.push_back(std::make_unique<program::RankClassT>());
      program::RankClassT &rankClass = *content.classes.back();
      rankClass.fragments.push_back(std::make_unique<program::FragmentT>());
      program::Step step;
      step.mutate_kind(program::StepKind::Kernel), step.mutate_inputs(1), step.mutate_outputs(1);
      rankClass.fragments.back()->steps.assign(500, step);
      for (uint32_t i = 0; i < tasks; ++i)
        rankClass.tasks.emplace_back();
    }
    flatbuffers::FlatBufferBuilder builder;
    FinishProgramBuffer(builder, CreateProgram(builder, &content));
    Status status = backend.load(*program::GetProgram(builder.GetBufferPointer()));
    status = status.ok() ? backend.prepareLanes({0}) : status;
    return status.ok() ? backend.fits(0, 3000000) : status;
  };
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_MEMORY", "2097152"}}, load), ::testing::ExitedWithCode(badInput),
              "3000000 bytes are needed, and [0-9]+ are free; " + std::to_string(8 * (3000 * 4 + 2 * 500 * 2)) +
                  " are taken by contexts of kernels");
}

// Whoever waits hears of it, and so does everyone afterwards.
TEST_F(CudaErrorsDeathTest, LostDevice) {
  auto work = [](Backend &backend) {
    Result<DeviceAddress> memory = backend.allocate(1024);
    for (int i = 0; memory.ok() && i < 100; ++i) {
      backend.zero(*memory, 1024);
      if (Status status = waitUntilDone(backend); !status.ok())
        return waitUntilDone(backend).ok() ? Status() : status;
    }
    return memory.status();
  };
  EXPECT_EXIT(inProcess({{"NPAR_STANDIN_FAULT", "lost-after=40"}}, work), ::testing::ExitedWithCode(runFailed),
              "GPU 0 .* was lost in the middle of the run: CUDA_ERROR_DEVICE_UNAVAILABLE");
}

} // namespace
} // namespace npar::testing
