// A communicator of the stand-in for NCCL: messages that streams have come to, and the thread that moves them.
#pragma once

#include "tests/engine/backends/standin/Call.h"
#include "tests/engine/backends/standin/nccl/Collective.h"
#include "tests/engine/backends/standin/nccl/Wires.h"

#include <functional>
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
  size_t moved = 0; ///< including the head that describes the rest
  uint32_t of = 0;  ///< a collective, counted from 1, that it belongs to; 0: none
};

/// The work that a thread has asked for in a group.
struct Work {
  std::vector<Message> messages;
  std::vector<Collective> collectives;
};

/// The messages and collectives of a group in one stream. A collective is messages from each process to each other one, and what becomes of
/// them in the end.
struct Launch : Work {
  std::atomic<bool> ended{false};
  Outcome outcome; ///< set before `ended`
};

class Communicator : public std::enable_shared_from_this<Communicator> {
public:
  Communicator(const std::string &job, int processes, int process, Device &device, uint64_t seed);
  /// Who is in it is known when all processes have split theirs for that time.
  Communicator(std::shared_ptr<Wires> parent, uint32_t split, int colour, Device &device, uint64_t seed);
  ~Communicator();

  /// The result of ncclCommGetAsyncError, which is "in progress" a few times more than necessary.
  Result state();
  /// Returns true if calls are allowed: nothing is in progress, and nothing has failed.
  bool settled() const;
  Result failure() const;
  std::string lastError() const;
  int size() const { return processes; }
  /// A new communicator of those that say the same colour, or null for -1: both are in progress then.
  std::shared_ptr<Communicator> split(int colour, int key, uint64_t seed);
  /// Returns true if work that streams have reached has not ended.
  bool isBusy() const;
  const Device &device() const { return owner; }
  /// Of this stream, in its order. The queue is locked.
  void enqueue(Driver &driver, Stream &stream, Work work);
  void finalize();
  bool isFinal() const;
  /// Ends what is under way, and whatever comes.
  void abort();

private:
  void run();
  /// Moves what can be moved of the oldest messages in each direction; true when anything was.
  bool progress();
  bool move(Launch &launch, Message &message);
  /// The head of a message of this kind: kind, type, bytes.
  uint64_t headOf(const Launch &launch, const Message &message) const;
  /// The memory of a message: the device's, or of what a collective receives.
  uint8_t *memoryOf(Launch &launch, const Message &message) const;
  /// Writes the results of collectives whose messages have ended.
  void finish(Launch &launch) const;
  void findMembers(const Wires &parent, uint32_t number, int colour);
  void fail(Result result, const std::string &why);

  Device &owner;
  int processes = 0, process = 0;
  std::shared_ptr<Wires> wires; ///< null until its members are known
  uint32_t splits = 0;          ///< that have been asked for
  mutable std::mutex mutex;
  std::mutex moving; ///< held while bytes move
  std::mt19937_64 random;
  int denials; ///< how often it is still said to be in progress
  bool there = false, final = false;
  Result failed = Result::Success;
  std::string message;
  std::list<std::shared_ptr<Launch>> started; ///< that streams have come to
  std::function<bool()> known;                ///< finds the members; whether they are known
  std::atomic<bool> aborted{false}, ending{false};
  std::thread thread;
};

} // namespace npar::standin::nccl
