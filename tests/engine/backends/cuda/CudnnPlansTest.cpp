// The real cuDNN, where it is installed, makes plans for npar's graphs of attention on a GPU that need not be there: it knows their
// pattern, compiles their kernels, and says that their bits repeat.
#include "engine/backends/cuda/library/LibraryAttention.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tuple>

namespace npar::engine::cuda {
namespace {

/// The properties of a device, in cuDNN's own format.
const char *const h100 =
    R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
    R"("regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
    R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":2619000,"l2CacheSize":52428800,)"
    R"("totalGlobalMem":85028896768,"deviceName":"NVIDIA H100 80GB HBM3"})";

/// The layout of npar's models: [sample, row, head, column], lse without gaps.
LibraryAttentionShape shapeOf(bool gradient, bool causal, int64_t heads, int64_t keyHeads, int64_t rows, int64_t columns) {
  LibraryAttentionShape shape{program::ElementType::BF16, gradient, causal, 0.125, 2, heads, keyHeads, rows, rows, columns, columns, {}};
  for (size_t i = 0; i < shape.operands(); ++i) {
    DnnSizes size = shape.sizes(i);
    if (i == shape.lse())
      shape.strides.push_back({heads * rows, rows, 1});
    else
      shape.strides.push_back({size[1] * size[2] * size[3], size[3], size[1] * size[3]});
  }
  return shape;
}

class CudnnPlans : public ::testing::Test {
protected:
  void SetUp() override {
    // Before the library looks for libcuda.so.1, which is then this one.
    ASSERT_NE(::dlopen(NPAR_TEST_NO_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << ::dlerror();
    Result<const Cudnn *> opened = Cudnn::open();
    if (!opened.ok())
      GTEST_SKIP() << opened.status().message();
    dnn = *opened;
  }
  /// Returns the workspace of the first plan, or an error with the reason why none exists.
  Result<uint64_t> plansFor(const LibraryAttentionShape &shape) {
    CudnnGraph graph(*dnn);
    Result<Handle> described = describeAttention(graph, shape, nullptr);
    if (!described.ok())
      return described.status();
    Result<std::vector<DnnPlan>> plans = cuda::plansFor(*dnn, *described, h100);
    if (!plans.ok())
      return plans.status();
    return plans->empty() ? Result<uint64_t>(Status::badInput("none")) : plans->front().workspaceBytes;
  }
  const Cudnn *dnn = nullptr;
};

TEST_F(CudnnPlans, ThereAreSomeForEachKindOfAttention) {
  for (bool gradient : {false, true})
    for (auto [causal, heads, keyHeads, rows, columns] : {std::tuple{true, 4, 4, 128, 64}, {true, 4, 2, 48, 128}, {false, 4, 1, 17, 40}}) {
      Result<uint64_t> workspace = plansFor(shapeOf(gradient, causal, heads, keyHeads, rows, columns));
      std::string what = shapeOf(gradient, causal, heads, keyHeads, rows, columns).words();
      EXPECT_TRUE(workspace.ok()) << what << ": " << workspace.status().message();
      // A gradient in a fixed order stores a matrix of rows by keys, in whole tiles.
      if (gradient && workspace.ok()) {
        EXPECT_GE(*workspace, static_cast<uint64_t>(2 * heads * rows * rows * 2)) << what;
      }
    }
}

// The library has no plan either for the attentions that npar does not give to it.
TEST_F(CudnnPlans, HeadsOfOddSizesHaveNone) {
  EXPECT_FALSE(plansFor(shapeOf(false, true, 4, 4, 128, 36)).ok());
  EXPECT_FALSE(plansFor(shapeOf(true, true, 4, 4, 128, 36)).ok());
}

} // namespace
} // namespace npar::engine::cuda
