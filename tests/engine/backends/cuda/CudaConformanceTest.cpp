// The backend for GPUs against the conformance suite.
#include "engine/backends/Backends.h"
#include "tests/engine/device/BackendConformance.h"

namespace npar::testing {
namespace {

using namespace engine;

std::unique_ptr<Backend> makeCuda() {
  Result<std::unique_ptr<Backend>> backend = createBackend("cuda", {});
  if (!backend.ok())
    ADD_FAILURE() << backend.status().message();
  return backend.ok() ? std::move(*backend) : nullptr;
}

INSTANTIATE_TEST_SUITE_P(All, BackendConformance, ::testing::Values(BackendCase{"cuda", makeCuda}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace npar::testing
