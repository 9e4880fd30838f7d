// What every communicator must do, as one suite: include it, give it a way to make a communicator, and instantiate it.
#pragma once

#include "engine/comm/Communicator.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>

namespace npar::testing {

/// A communicator with whatever it needs to live.
struct CommunicatorCase {
  const char *name;
  std::function<std::shared_ptr<engine::Communicator>()> make;
};

class CommunicatorConformance : public ::testing::TestWithParam<CommunicatorCase> {
protected:
  void SetUp() override { communicator = GetParam().make(); }
  std::shared_ptr<engine::Communicator> communicator;
};

} // namespace npar::testing
