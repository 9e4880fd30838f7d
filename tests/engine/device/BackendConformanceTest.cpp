// The processor's backend, and those that tests put in its place, against the conformance suite.
#include "tests/engine/device/BackendConformance.h"
#include "engine/backends/Backends.h"
#include "tests/engine/device/OffsetBackend.h"

namespace npar::testing {
namespace {

using namespace engine;

std::unique_ptr<Backend> makeCpu(int threads) { return std::move(*createBackend("cpu", {threads, threads > 1})); }

INSTANTIATE_TEST_SUITE_P(All, BackendConformance,
                         ::testing::Values(BackendCase{"cpuOneThread", [] { return makeCpu(1); }},
                                           BackendCase{"cpuFourThreads", [] { return makeCpu(4); }},
                                           BackendCase{"offset", [] { return std::make_unique<OffsetBackend>(makeCpu(1), false); }},
                                           BackendCase{"queued", [] { return std::make_unique<OffsetBackend>(makeCpu(1), true); }}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace npar::testing
