// Exchanges between processes before the first step, by which they join their devices. All processes call these functions in the same
// order.
#pragma once

#include "engine/comm/process/Groups.h"
#include "engine/device/DeviceNetwork.h"

#include <set>

namespace npar::engine {

struct DeviceJob {
  std::vector<uint8_t> id;
  uint32_t processes = 0;
};

/// The job that devices join, made by process 0. Returns BadInput, the same in all processes, with the reason if the devices cannot be
/// joined.
Result<DeviceJob> agreeOnDevices(Communicator &inner, DeviceNetwork *network, uint32_t process, double timeoutSeconds);

/// The groups of processes that any process needs, each once; the same list in all processes.
Result<std::vector<std::vector<uint32_t>>> agreeOnGroups(Communicator &inner, const std::set<std::vector<uint32_t>> &wanted,
                                                         double timeoutSeconds);

/// Devices match operations by order, so all processes of a group must post the same ones: they compare digests of their plans.
Status comparePlans(Communicator &inner, Groups &groups, const std::vector<const Operation *> &operations, uint32_t process,
                    double timeoutSeconds);

} // namespace npar::engine
