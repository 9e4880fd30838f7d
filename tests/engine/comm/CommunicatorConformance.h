// Conformance suite for communicators: include it, provide a function that makes the sessions of a world, and instantiate it.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace npar::testing {

/// One session's communicator and the memory that it works in.
struct Endpoint {
  engine::Backend *backend;
  engine::Communicator *communicator;
};

/// All sessions of a world of `ranks` ranks, distributed round robin: rank r is in session r modulo their number.
struct World {
  static constexpr size_t ranks = 24;
  std::vector<Endpoint> sessions;
  std::shared_ptr<void> parts; ///< owners of the endpoints' objects

  const Endpoint &of(int64_t rank) const { return sessions[static_cast<size_t>(rank) % sessions.size()]; }
  /// True if operations meet by the order in which each session posts them: then tests post in one order.
  bool byOrder() const { return sessions.front().communicator->needsOrder(); }
  void post(const engine::Operation &operation) const { of(operation.rank()).communicator->post(operation); }
  /// Prepares every session with its ranks, but no operations.
  void prepare() const;
};

struct CommunicatorCase {
  const char *name;
  std::function<World()> make;
};

class CommunicatorConformance : public ::testing::TestWithParam<CommunicatorCase> {
protected:
  void SetUp() override { world = GetParam().make(), world.prepare(); }
  World world;
};

} // namespace npar::testing
