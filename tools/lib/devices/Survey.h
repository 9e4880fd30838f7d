// Surveys the machine's processor, its GPUs, and the CUDA driver and libraries that npar can use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npar::devices {

struct ProcessorFacts {
  std::string name; ///< name reported by the system; may be empty
  int cores = 1;    ///< cores that this process may use
  std::vector<std::string> instructionSets;
  std::string usedSet; ///< the one used for products, which NPAR_INSTRUCTIONS can limit
  uint64_t memory = 0, freeMemory = 0;
};

struct GpuFacts {
  std::string name, architecture; ///< "sm_90"
  int multiprocessors = 0;
  uint64_t memory = 0, freeMemory = 0;
  std::vector<int> reaches; ///< GPUs whose memory it can access directly
  std::string trouble;      ///< why the other values are unknown
};

struct DeviceSurvey {
  ProcessorFacts processor;
  std::string driver;  ///< version of the CUDA driver, "13.0"
  std::string trouble; ///< why no GPU can be used
  std::vector<GpuFacts> gpus;
  std::string cublasLt, cudnn, nccl;                      ///< versions; empty: not found or not usable
  std::string cublasLtTrouble, cudnnTrouble, ncclTrouble; ///< why a library is not found or not usable
  std::string target;                                     ///< best target of the first GPU, for `npar compile`
};

/// Loads the driver and the libraries, and briefly opens each GPU to read its free memory.
DeviceSurvey surveyDevices();

} // namespace npar::devices
