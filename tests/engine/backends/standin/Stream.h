// Streams, events and the graphs that are captured from them.
#pragma once

#include "tests/engine/backends/standin/Device.h"

#include <set>
#include <thread>

namespace npar::standin {

/// The operations that capturing streams have recorded, each with the numbers of those that must end before it.
struct Graph {
  struct Node {
    Device *device;
    std::function<Outcome()> action;
    std::function<bool()> condition;
    std::set<size_t> before;
  };
  std::vector<Node> nodes;

  /// Numbers of the nodes that nothing comes after.
  std::set<size_t> leaves() const;
};

struct Stream;

/// A capture that is active or was invalidated.
struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Stream *origin;
  CaptureMode mode;
  std::thread::id thread;
  bool invalid = false;
};

struct Stream {
  Device *device;
  bool nonBlocking = false;
  WorkPointer last;
  std::shared_ptr<Capture> capture;
  std::set<size_t> captured; ///< nodes after which the next one captured comes
};

struct Event {
  Device *device;
  bool timed = true;
  WorkPointer record;
  std::shared_ptr<Capture> capture; ///< it was last recorded in this one, after
  std::set<size_t> captured;        ///< these nodes
};

/// A graph that can be launched; its launches come after one another.
struct ExecutableGraph {
  Device *device;
  std::shared_ptr<const Graph> graph;
  WorkPointer last;
};

} // namespace npar::standin
