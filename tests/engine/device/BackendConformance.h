// Conformance suite for backends that compute: include it, provide a function that makes a backend, and instantiate it.
#pragma once

#include "engine/device/Backend.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>

namespace npar::testing {

struct BackendCase {
  const char *name;
  std::function<std::unique_ptr<engine::Backend>()> make;
};

class BackendConformance : public ::testing::TestWithParam<BackendCase> {
protected:
  void SetUp() override { backend = GetParam().make(), backend->enterThread(); }
  std::unique_ptr<engine::Backend> backend;
};

} // namespace npar::testing
