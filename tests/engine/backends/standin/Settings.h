// The properties of the stand-in's devices, read from the environment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::standin {

/// Faults on purpose; 0: never. Operations are what streams run, counted over all devices from 1, and so are allocations of device memory.
struct Faults {
  uint64_t lostAfter = 0;   ///< from this operation on: CUDA_ERROR_DEVICE_UNAVAILABLE
  uint64_t eccAfter = 0;    ///< from this operation on: CUDA_ERROR_ECC_UNCORRECTABLE
  uint64_t memoryAfter = 0; ///< from this allocation on: CUDA_ERROR_OUT_OF_MEMORY
};

struct Settings {
  int devices = 1;
  uint64_t memory = uint64_t{4} << 30; ///< bytes per device
  std::vector<int> architectures{90};  ///< of the devices in their order; the last one of all that follow
  bool peers = false;                  ///< whether devices can reach each other's memory
  int architectureOf(int device) const { return architectures[std::min(static_cast<size_t>(device), architectures.size() - 1)]; }
  uint64_t seed = 1;
  int driverVersion = 13000, ncclVersion = 22809;
  bool leaks = false;
  bool figures = false;
  bool sites = false;  ///< whether calls are counted by where they come from
  std::string leftOut; ///< the site whose calls do nothing (Sites.h); empty: none
  Faults faults;

  /// Reads NPAR_STANDIN_{DEVICES,MEMORY,ARCHITECTURE,PEERS,SEED,FAULT,LEAKS,FIGURES,SITES,LEAVE_OUT}. Ends the process, saying why, where
  /// one cannot be read: a test that sets it wants it.
  static Settings fromEnvironment();
  /// `lost-after=N,ecc-after=N,memory-after=N,driver=N,nccl=N`. Returns what cannot be read, else "".
  std::string readFaults(const std::string &text);
  /// Numbers with commas between.
  bool readArchitectures(const std::string &text);
};

} // namespace npar::standin
