// What processes whose devices are to be joined tell each other before the first step. All of them call these, in the same order.
#pragma once

#include "engine/comm/process/Groups.h"
#include "engine/device/DeviceNetwork.h"

#include <set>

namespace npar::engine {

struct DeviceJob {
  std::vector<uint8_t> id;
  uint32_t processes = 0;
};

/// The job that devices join, made by process 0. BadInput, the same in all processes: they cannot be joined, and why.
Result<DeviceJob> agreeOnDevices(Communicator &inner, DeviceNetwork *network, uint32_t process, double timeoutSeconds);

/// The groups of processes that any process asks for, each once; the same list in all of them.
Result<std::vector<std::vector<uint32_t>>> agreeOnGroups(Communicator &inner, const std::set<std::vector<uint32_t>> &wanted,
                                                         double timeoutSeconds);

/// Operations meet by their order, so what each process will post in a group has to be the same: all compare digests of it.
Status comparePlans(Communicator &inner, Groups &groups, const std::vector<const Operation *> &operations, uint32_t process,
                    double timeoutSeconds);

} // namespace npar::engine
