// Exchanges between processes before the first step, by which they join their devices.
#include "engine/comm/device/DeviceAgreement.h"

#include "engine/comm/process/Envelope.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace npar::engine {

namespace {

/// A process's description of its device. If the process has no device to join, `library` is the reason and `device` is empty.
struct Introduction {
  std::string library, device;
  std::vector<uint8_t> bytes() const {
    std::string text = library + '\0' + device;
    return {text.begin(), text.end()};
  }
  static Introduction of(const std::vector<uint8_t> &bytes) {
    auto end = std::find(bytes.begin(), bytes.end(), 0);
    return {std::string(bytes.begin(), end), std::string(end == bytes.end() ? end : end + 1, bytes.end())};
  }
};

Introduction introduce(DeviceNetwork *network) {
  if (!network)
    return {"its backend has no devices to join", ""};
  Result<std::string> name = network->name();
  if (!name.ok())
    return {name.status().message(), ""};
  Result<std::string> device = network->device();
  return device.ok() ? Introduction{*name, *device} : Introduction{device.status().message(), ""};
}

/// Empty, or why these devices cannot be joined.
std::string whyApart(const std::vector<Introduction> &all) {
  auto process = [](size_t i) { return "process " + std::to_string(i); };
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].device.empty())
      return process(i) + ": " + all[i].library;
    if (all[i].library != all[0].library)
      return process(0) + " has " + all[0].library + ", and " + process(i) + " has " + all[i].library;
    for (size_t j = 0; j < i; ++j)
      if (all[i].device == all[j].device)
        return process(j) + " and " + process(i) + " share a device";
  }
  return "";
}

/// All that the members of a group will post in a training step, in order.
struct PlannedInGroup {
  const Group *group = nullptr;
  uint64_t digest = 0;
  void add(const Operation &operation) {
    Envelope of(operation, *group, 0);
    for (uint64_t value : {uint64_t{of.key.event}, uint64_t{of.key.micro}, of.key.transfer, of.members, of.parts, of.digest,
                           uint64_t{of.kind}, uint64_t{of.op}, uint64_t{of.type}})
      add(value);
    for (const Operation *part = &operation; part; part = part->next)
      add(uint64_t{part->library});
  }
  void add(uint64_t value) { digest = (digest ^ value) * uint64_t{0x9E3779B97F4A7C15} + (digest >> 29); }
};

} // namespace

Result<DeviceJob> agreeOnDevices(Communicator &inner, DeviceNetwork *network, uint32_t process, double timeoutSeconds) {
  Result<std::vector<std::vector<uint8_t>>> said = inner.gather(introduce(network).bytes(), timeoutSeconds);
  if (!said.ok())
    return said.status();
  std::vector<Introduction> all;
  for (const std::vector<uint8_t> &bytes : *said)
    all.push_back(Introduction::of(bytes));
  if (std::string why = whyApart(all); !why.empty())
    return Status::badInput("devices are not joined: " + why);
  // Whatever fails in one process alone all have to hear, so it travels as the text of a job of no bytes.
  std::vector<uint8_t> own;
  std::string wrong;
  if (process == 0) {
    Result<std::vector<uint8_t>> made = network->newJob();
    if (made.ok())
      own = *made;
    else
      wrong = made.status().message();
  }
  own.insert(own.begin(), wrong.empty() ? 1 : 0);
  own.insert(own.end(), wrong.begin(), wrong.end());
  said = inner.gather(own, timeoutSeconds);
  if (!said.ok())
    return said.status();
  std::vector<uint8_t> job = said->front();
  bool made = job.front() == 1;
  job.erase(job.begin());
  if (!made)
    return Status::runFailed("process 0: " + std::string(job.begin(), job.end()));
  return DeviceJob{std::move(job), static_cast<uint32_t>(all.size())};
}

Result<std::vector<std::vector<uint32_t>>> agreeOnGroups(Communicator &inner, const std::set<std::vector<uint32_t>> &wanted,
                                                         double timeoutSeconds) {
  std::vector<uint32_t> own; // of each group its size, then its processes
  for (const std::vector<uint32_t> &group : wanted) {
    own.push_back(static_cast<uint32_t>(group.size()));
    own.insert(own.end(), group.begin(), group.end());
  }
  auto *bytes = reinterpret_cast<const uint8_t *>(own.data());
  auto said = inner.gather({bytes, bytes + own.size() * sizeof(uint32_t)}, timeoutSeconds);
  if (!said.ok())
    return said.status();
  std::set<std::vector<uint32_t>> all;
  for (const std::vector<uint8_t> &theirs : *said) {
    std::vector<uint32_t> words(theirs.size() / sizeof(uint32_t));
    std::copy_n(theirs.data(), words.size() * sizeof(uint32_t), reinterpret_cast<uint8_t *>(words.data()));
    for (size_t at = 0; at < words.size(); at += words[at] + 1) {
      if (words[at] > words.size() - at - 1)
        return Status(Code::Internal, "a process asks for a group of devices that it does not name");
      all.insert({words.begin() + static_cast<ptrdiff_t>(at) + 1, words.begin() + static_cast<ptrdiff_t>(at + 1 + words[at])});
    }
  }
  return std::vector<std::vector<uint32_t>>(all.begin(), all.end());
}

Status comparePlans(Communicator &inner, Groups &groups, const std::vector<const Operation *> &operations, uint32_t process,
                    double timeoutSeconds) {
  std::map<uint64_t, PlannedInGroup> planned; // by the group's digest
  for (const Operation *operation : operations) {
    const Group &group = groups.of(*operation);
    PlannedInGroup &all = planned[group.digest];
    all.group = &group;
    if (group.members[group.ownParty().members.front()] == operation->rank())
      all.add(*operation);
  }
  std::vector<uint64_t> own;
  for (const auto &[digest, all] : planned)
    own.insert(own.end(), {digest, all.digest});
  auto *bytes = reinterpret_cast<const uint8_t *>(own.data());
  auto said = inner.gather({bytes, bytes + own.size() * sizeof(uint64_t)}, timeoutSeconds);
  if (!said.ok())
    return said.status();
  for (const auto &[digest, all] : planned)
    for (const Party &party : all.group->parties) {
      const std::vector<uint8_t> &theirs = (*said)[party.process];
      bool same = false;
      for (size_t at = 0; at + 2 * sizeof(uint64_t) <= theirs.size(); at += 2 * sizeof(uint64_t)) {
        uint64_t pair[2];
        std::memcpy(pair, theirs.data() + at, sizeof pair);
        same |= pair[0] == digest && pair[1] == all.digest;
      }
      if (!same)
        return Status(Code::Internal, "processes " + std::to_string(process) + " and " + std::to_string(party.process) +
                                          " plan different communication for the group of rank " + std::to_string(all.group->members[0]));
    }
  return {};
}

} // namespace npar::engine
