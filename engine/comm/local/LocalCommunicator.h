// Lets ranks of one process meet at a rendezvous per event instance. The last to arrive moves the data; no thread waits.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace npar::engine {

/// Operations stay in a table until all members have arrived, so no worker is held and any number of ranks runs on any number of workers.
/// Every member completes only after all data has moved, so its peers have read its buffers.
class LocalCommunicator final : public Communicator {
public:
  explicit LocalCommunicator(Backend &backend) : backend(backend) {}
  Status prepare(const CommunicationPlan &plan) override;
  bool needsOrder() const override { return false; }
  void beginStep(int64_t) override {}
  void post(const Operation &operation) override;
  void abort(const Status &status) override;
  std::vector<PendingOperation> pending() const override;
  Status abortedElsewhere() const override { return {}; }
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double) override {
    return std::vector<std::vector<uint8_t>>{own};
  }

private:
  struct Moving;
  struct Key {
    uint32_t event, micro;
    bool transfer;       ///< sends and collectives are numbered separately
    int64_t first, last; ///< first and last member: they distinguish groups (and directed pairs) of one event
    bool operator==(const Key &other) const {
      return event == other.event && micro == other.micro && transfer == other.transfer && first == other.first && last == other.last;
    }
  };
  struct Hash {
    size_t operator()(const Key &key) const;
  };
  struct Rendezvous {
    std::vector<Operation> members;  ///< in member order; unused ones have no completion
    uint32_t arrived = 0, first = 0; ///< first: the member that arrived first; all others must agree with it
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Key, Rendezvous, Hash> meetings;
  };
  /// Requires the shard's lock. Empty, or the reason why the operation cannot join.
  static std::string join(Rendezvous &meeting, const Operation &operation);
  Status abortStatus() const;
  void complete(const std::vector<Operation> &members, const Status &status);

  Backend &backend;
  std::array<Shard, 64> shards;
  mutable std::mutex abortMutex;
  std::atomic<bool> aborted{false};
  Status reason;
};

} // namespace npar::engine
