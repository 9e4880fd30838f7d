// All that the stand-in knows: its devices, their memory and work, and what handles stand for.
#pragma once

#include "tests/engine/backends/standin/Handles.h"
#include "tests/engine/backends/standin/Memory.h"
#include "tests/engine/backends/standin/Module.h"
#include "tests/engine/backends/standin/Sites.h"
#include "tests/engine/backends/standin/Stream.h"

namespace npar::standin {

/// One per process. Its queue's mutex guards every member.
class Driver {
public:
  explicit Driver(const Settings &settings);

  static Driver &instance();
  /// Resets everything to the state of a new process. No other thread may be inside the driver.
  static void restart(const Settings &settings);

  /// Adds an operation to a stream, or to the graph that it captures.
  void enqueue(Stream &stream, std::function<Outcome()> action, std::function<bool()> condition = {});
  /// Everything that was asked of the device so far.
  WorkPointer everythingOf(Device &device);
  /// The captures that forbid this thread a call which could wait or change memory; they are invalid then.
  bool forbiddenByCapture();
  /// Returns true if streams of the device are being captured, by any thread and in any mode. A wait for all its work is forbidden then,
  /// and invalidates the captures.
  bool waitForbiddenByCapture(const Device &device);
  /// Destroys the context. The objects that it still has are lost and reported by left().
  void destroyContext(Device &device);
  /// A line for each kind of thing that was not given back; none where a device failed, for then nothing can be.
  std::vector<std::string> left() const;

  const Settings settings;
  Sites sites; ///< has a lock of its own
  bool initialized = false;
  Memory memory;
  std::vector<std::shared_ptr<Device>> devices;
  Handles<Device> contexts;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Module> modules;
  Handles<Function> functions;
  Handles<Graph> graphs;
  Handles<ExecutableGraph> executables;
  std::vector<std::pair<Device *, WorkPointer>> orphans; ///< the last work of streams that are gone
  std::vector<std::string> lost;                         ///< lines of contexts that are gone
  uint64_t allocations = 0;
  std::atomic<uint64_t> laneInstructions{0}, kernelNanoseconds{0}; ///< of all kernels that ran
  Queue queue;                                                     ///< its thread ends first
};

} // namespace npar::standin
