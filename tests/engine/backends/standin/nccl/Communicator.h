// A communicator of the stand-in for NCCL: messages that streams have come to, and the thread that moves them.
#pragma once

#include "tests/engine/backends/standin/Call.h"
#include "tests/engine/backends/standin/nccl/Wires.h"

#include <list>
#include <random>

namespace npar::standin::nccl {

/// ncclResult_t.
enum class Result : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7,
};

struct Message {
  bool sends = false;
  uint64_t memory = 0; ///< of the device
  size_t bytes = 0;
  int peer = 0;
  size_t moved = 0; ///< with the head that says how many bytes follow
};

/// The messages of a group in one stream.
struct Launch {
  std::vector<Message> messages;
  std::atomic<bool> ended{false};
  Outcome outcome; ///< set before `ended`
};

class Communicator : public std::enable_shared_from_this<Communicator> {
public:
  Communicator(const std::string &job, int processes, int process, Device &device, uint64_t seed);
  ~Communicator();

  /// What ncclCommGetAsyncError says: in progress some times more than needed.
  Result state();
  /// Whether calls may be made: nothing is in progress, and nothing has failed.
  bool settled() const;
  Result failure() const;
  std::string lastError() const;
  int size() const { return processes; }
  const Device &device() const { return owner; }
  /// Of this stream, in its order. The queue is locked.
  void enqueue(Driver &driver, Stream &stream, std::vector<Message> messages);
  void finalize();
  bool isFinal() const;
  /// Ends what is under way, and whatever comes.
  void abort();

private:
  void run();
  /// Moves what can be moved of the oldest messages in each direction; true when anything was.
  bool progress();
  bool move(Launch &launch, Message &message);
  void fail(Result result, const std::string &why);

  Device &owner;
  const int processes, process;
  Wires wires;
  mutable std::mutex mutex;
  std::mutex moving; ///< held while bytes move
  std::mt19937_64 random;
  int denials; ///< how often it is still said to be in progress
  bool there = false, final = false;
  Result failed = Result::Success;
  std::string message;
  std::list<std::shared_ptr<Launch>> started; ///< that streams have come to
  std::atomic<bool> aborted{false}, ending{false};
  std::thread thread;
};

} // namespace npar::standin::nccl
