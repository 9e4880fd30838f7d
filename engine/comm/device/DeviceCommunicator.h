// The communicator of a session whose device reaches those of other processes directly: device messages carry what they can, another
// communicator the rest.
#pragma once

#include "engine/comm/device/DeviceAgreement.h"
#include "engine/comm/device/DevicePlan.h"
#include "engine/comm/process/Lanes.h"
#include "engine/comm/process/Meetings.h"
#include "engine/comm/process/TurnRules.h"

#include <condition_variable>
#include <future>
#include <list>
#include <thread>

namespace npar::engine {

struct DeviceLinkOptions {
  double timeoutSeconds = 0; ///< for the processes to find each other
  bool required = false;     ///< devices that cannot be joined are an error; otherwise the other communicator does everything
  std::function<void(const std::string &)> remark; ///< called with the reason if they cannot be joined, in every process; may be empty
};

/// The other communicator handles groups whose ranks are all here, gathers between steps, and aborts. For any other group, the local
/// members meet in a table; the last one passes the operation to one thread, which starts it in its own stream of the device
/// (DevicePlan.h). There, operations are executed in the program's order, which is the same in all processes. So messages need no numbers,
/// and a process never waits for one that waits for a later operation.
class DeviceCommunicator final : public Communicator {
public:
  DeviceCommunicator(std::shared_ptr<Communicator> inner, Backend &backend, DeviceLinkOptions options);
  ~DeviceCommunicator() override;
  /// Joins the devices, if every process has one of its own and all have the same library; the same decision everywhere.
  Status prepare(const CommunicationPlan &plan) override;
  bool needsOrder() const override { return true; }
  void beginStep(int64_t trainingStep) override { inner->beginStep(trainingStep); }
  void post(const Operation &operation) override;
  void abort(const Status &status) override;
  std::vector<PendingOperation> pending() const override;
  Status abortedElsewhere() const override { return inner->abortedElsewhere(); }
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) override;

private:
  /// An operation in progress: all local members have arrived, and it is not done.
  struct Flight final : Completion {
    Flight(DeviceCommunicator &owner, const Group &group, std::vector<Operation> members)
        : owner(owner), group(group), members(std::move(members)) {}
    void completed(const Status &status) override { owner.land(*this, status); }
    DeviceCommunicator &owner;
    const Group &group;
    std::vector<Operation> members;
    std::list<Flight>::iterator self;
  };
  Status startThread(DeviceJob job);
  /// The first one counts.
  void stop(const Status &status);
  Status reasonToStop() const;
  void sweep();
  void complete(const std::vector<Operation> &operations, const Status &status);
  void land(Flight &flight, const Status &status);

  /// Agrees on the groups that the library must make, then plans all operations.
  Status makePlans(const std::vector<const Operation *> &operations);

  // These run on the thread:
  void run(const DeviceJob &job);
  Status join(const DeviceJob &job);
  Status start(const Flight &flight);
  Status carryOut(const DevicePlan &plan, const Flight &flight);
  Status takeScratch(uint64_t bytes);
  /// Polls for errors that are not reported.
  void watch();
  std::unique_ptr<DeviceMessages> messages;
  DeviceAddress scratch;
  uint64_t scratchBytes = 0;

  std::shared_ptr<Communicator> inner;
  Backend &backend;
  const DeviceLinkOptions options;
  bool direct = false; ///< devices are joined
  uint32_t process = 0;
  Groups groups;
  TurnRules rules;
  Meetings meetings;
  std::unordered_map<uint64_t, std::unique_ptr<DevicePlan>> plans; ///< by the tags of planned operations' first members here
  std::vector<std::vector<uint32_t>> libraryGroups;                ///< processes that the library does collectives of, ascending
  std::atomic<uint64_t> unfinished{0};                             ///< posted and not completed
  std::atomic<bool> aborted{false};

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::list<Flight> flights;
  std::deque<Flight *> waiting; ///< those that have not started, in their order
  bool stopping = false;
  Status reason;
  std::promise<Status> joined;
  std::thread thread;
};

} // namespace npar::engine
