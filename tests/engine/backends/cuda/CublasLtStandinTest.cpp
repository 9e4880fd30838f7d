// The library that stands in for cuBLASLt refuses what the real one does, and offers what npar must not take.
#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/backends/cuda/library/CublasLt.h"

#include <gtest/gtest.h>

namespace npar::engine::cuda {
namespace {

constexpr auto invalid = static_cast<LtCode>(7), otherDevice = static_cast<LtCode>(8), notInitialized = static_cast<LtCode>(1);

/// A product of 8 x 8 x 8 in float32, described; operands and workspace in one allocation.
class CublasLtStandin : public ::testing::Test {
protected:
  void SetUp() override {
    Result<const CudaDriver *> driver = CudaDriver::open();
    Result<const CublasLt *> library = CublasLt::open();
    ASSERT_TRUE(driver.ok() && library.ok());
    device = std::move(*CudaDevice::open(**driver, 0));
    call = &(*library)->call();
    ASSERT_EQ(call->create(&handle), LtCode::Success);
    ASSERT_EQ(call->productCreate(&product, LtCompute::F32, LtType::F32), LtCode::Success);
    ASSERT_EQ(call->layoutCreate(&layout, LtType::F32, 8, 8, 8), LtCode::Success);
    ASSERT_EQ(call->preferenceCreate(&preference), LtCode::Success);
    ASSERT_EQ(device->cuda().call().streamCreate(&stream, streamNonBlocking), Code::Success);
    memory = *device->allocate(1 << 16, "a test");
  }
  void TearDown() override {
    device->cuda().call().streamSynchronize(stream);
    device->cuda().call().streamDestroy(stream);
    device->release(memory);
    call->preferenceDestroy(preference), call->layoutDestroy(layout), call->productDestroy(product), call->destroy(handle);
  }

  std::vector<LtCandidate> candidates() {
    std::vector<LtCandidate> found(8);
    int count = 0;
    EXPECT_EQ(call->candidates(handle, product, layout, layout, layout, layout, preference, 8, found.data(), &count), LtCode::Success);
    found.resize(static_cast<size_t>(count));
    return found;
  }
  int32_t partsOf(const LtCandidate &one) {
    int32_t parts = 0;
    size_t written = 0;
    EXPECT_EQ(call->algorithmGet(&one.algorithm, LtAlgorithmAttribute::PartsOfK, &parts, sizeof parts, &written), LtCode::Success);
    return parts;
  }
  LtCode start(const LtAlgorithm *algorithm, uint64_t a, uint64_t c, uint64_t workspace, size_t bytes) {
    float one = 1, none = 0;
    auto at = [&](uint64_t offset) { return reinterpret_cast<void *>(memory + offset); };
    return call->multiply(handle, product, &one, at(a), layout, at(1024), layout, &none, at(c), layout, at(c), layout, algorithm,
                          at(workspace), bytes, stream);
  }

  std::unique_ptr<CudaDevice> device;
  const LtFunctions *call = nullptr;
  Handle handle = nullptr, product = nullptr, layout = nullptr, preference = nullptr, stream = nullptr;
  DevicePointer memory = 0;
};

TEST_F(CublasLtStandin, SplitKComesFirstUnlessItIsExcluded) {
  uint64_t bytes = 1 << 20;
  ASSERT_EQ(call->preferenceSet(preference, LtPreferenceAttribute::WorkspaceBytes, &bytes, sizeof bytes), LtCode::Success);
  EXPECT_EQ(partsOf(candidates().front()), 3);
  uint32_t none = 0;
  ASSERT_EQ(call->preferenceSet(preference, LtPreferenceAttribute::ReductionSchemes, &none, sizeof none), LtCode::Success);
  std::vector<LtCandidate> left = candidates();
  EXPECT_EQ(left.size(), 2u);
  for (const LtCandidate &one : left)
    EXPECT_EQ(partsOf(one), 1);
  bytes = 0;
  ASSERT_EQ(call->preferenceSet(preference, LtPreferenceAttribute::WorkspaceBytes, &bytes, sizeof bytes), LtCode::Success);
  EXPECT_EQ(candidates().size(), 1u); // the other one needs a workspace
}

TEST_F(CublasLtStandin, DescriptionsAreChecked) {
  Handle other = nullptr;
  EXPECT_EQ(call->layoutCreate(&other, LtType::F32, 8, 8, 7), invalid); // columns overlap
  EXPECT_EQ(call->layoutCreate(&other, LtType::F32, 0, 8, 8), invalid);
  int64_t wide = 2;
  EXPECT_EQ(call->layoutSet(layout, LtLayoutAttribute::BatchCount, &wide, sizeof wide), invalid);
  EXPECT_EQ(call->productSet(product, LtProductAttribute::TransposeA, &wide, sizeof wide), invalid);
  EXPECT_EQ(call->productSet(layout, LtProductAttribute::TransposeA, &wide, 4), invalid); // a handle of another kind
  ASSERT_EQ(call->layoutCreate(&other, LtType::F32, 8, 4, 8), LtCode::Success);
  LtCandidate found = {};
  int count = 0;
  EXPECT_EQ(call->candidates(handle, product, other, other, layout, layout, preference, 1, &found, &count), invalid);
  EXPECT_EQ(call->candidates(handle, product, layout, layout, layout, layout, nullptr, 1, &found, &count), invalid);
  ASSERT_EQ(call->layoutDestroy(other), LtCode::Success);
  EXPECT_EQ(call->layoutDestroy(other), invalid);
  EXPECT_EQ(call->candidates(handle, product, other, layout, layout, layout, preference, 1, &found, &count), invalid);
  EXPECT_EQ(call->candidates(product, product, layout, layout, layout, layout, preference, 1, &found, &count), notInitialized);
  // 16-bit columns at odd places: there is no kernel for them, which is no mistake.
  ASSERT_EQ(call->layoutCreate(&other, LtType::BF16, 8, 8, 9), LtCode::Success);
  EXPECT_EQ(call->candidates(handle, product, other, other, other, other, preference, 1, &found, &count), LtCode::NotSupported);
  ASSERT_EQ(call->layoutDestroy(other), LtCode::Success);
}

TEST_F(CublasLtStandin, RunsAreChecked) {
  uint64_t room = 4096;
  ASSERT_EQ(call->preferenceSet(preference, LtPreferenceAttribute::WorkspaceBytes, &room, sizeof room), LtCode::Success);
  LtAlgorithm byWorkspace = {}, plain = {};
  for (const LtCandidate &one : candidates())
    if (partsOf(one) == 1)
      (one.workspaceBytes ? byWorkspace : plain) = one.algorithm;
  EXPECT_EQ(start(&plain, 0, 2048, 0, 0), LtCode::Success);
  EXPECT_EQ(start(&byWorkspace, 0, 2048, 4096, 256), LtCode::Success);
  EXPECT_EQ(start(nullptr, 0, 2048, 0, 0), invalid);
  EXPECT_EQ(start(&plain, 2, 2048, 0, 0), invalid);            // misaligned
  EXPECT_EQ(start(&byWorkspace, 8, 2048, 4096, 256), invalid); // for what it was asked for
  EXPECT_EQ(start(&plain, 0, 128, 0, 0), invalid);             // C overlaps A
  EXPECT_EQ(start(&byWorkspace, 0, 2048, 4096, 255), invalid); // too little workspace
  EXPECT_EQ(start(&byWorkspace, 0, 2048, 4096 + 128, 256), invalid);
  LtAlgorithm changed = plain;
  ++changed.data[1];
  EXPECT_EQ(start(&changed, 0, 2048, 0, 0), invalid);
  device->cuda().call().contextSetCurrent(nullptr);
  EXPECT_EQ(start(&plain, 0, 2048, 0, 0), otherDevice);
  Handle other = nullptr;
  EXPECT_EQ(call->create(&other), notInitialized);
  device->enter();
}

} // namespace
} // namespace npar::engine::cuda
