// What the doctor looks at: this machine, or in tests one with faults.
#pragma once

#include "engine/network/Addresses.h"
#include "engine/runtime/MachineMemory.h"
#include "engine/status/Status.h"
#include "tools/lib/devices/Survey.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::doctor {

struct DiskSpace {
  uint64_t freeBytes = 0, freeFiles = 0; ///< for this user; `freeFiles` is the largest number where the file system has no limit
  bool readOnly = false;
};

/// What the kernel knows of the wall clock.
struct ClockState {
  bool synchronized = false;
  double largestError = 0; ///< seconds
};

/// An MPI that this npar has a module for.
struct MpiState {
  std::string library, mpiexec; ///< `mpiexec`: path; empty if none is found
  engine::Status loads;
};

/// The functions of the base class ask this machine. They change nothing: no file is made, and a port is closed at once.
class Surroundings {
public:
  virtual ~Surroundings() = default;
  /// An environment variable; null if it is not set.
  virtual const char *variable(const char *name) const;
  virtual devices::DeviceSurvey devices() const { return devices::surveyDevices(); }
  virtual std::optional<bool> hasFeature(std::string_view name) const;
  virtual engine::MachineMemory memory() const { return engine::machineMemory(); }
  /// Processors' worth of time that control groups leave to this process; nothing without a limit.
  virtual std::optional<double> processorQuota() const;
  /// Whether the system can start this many threads.
  virtual engine::Status startThreads(int threads) const;
  /// Of the file system that holds a path; nothing if the path does not exist.
  virtual std::optional<DiskSpace> space(const std::string &path) const;
  virtual std::vector<MpiState> mpi() const;
  /// Seconds since 1970 by the wall clock.
  virtual int64_t seconds() const;
  /// Nothing where the kernel does not tell.
  virtual std::optional<ClockState> clock() const;
  virtual engine::Status listenAt(uint32_t address, uint16_t port) const;
  virtual std::vector<uint32_t> addresses() const { return engine::ownAddresses(); }
};

} // namespace npar::doctor
