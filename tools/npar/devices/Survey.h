// What a machine has that npar can compute with: its processor, GPUs, their driver and libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npar::driver {

struct ProcessorFacts {
  std::string name; ///< as the system tells it; may be empty
  int cores = 1;    ///< that this process may use
  std::vector<std::string> instructionSets;
  std::string usedSet; ///< of these, after NPAR_INSTRUCTIONS
  uint64_t memory = 0, freeMemory = 0;
};

struct GpuFacts {
  std::string name, architecture; ///< "sm_90"
  int multiprocessors = 0;
  uint64_t memory = 0, freeMemory = 0;
  std::vector<int> reaches; ///< GPUs whose memory it can use over a link
  std::string trouble;      ///< why nothing more is known of it
};

struct DeviceSurvey {
  ProcessorFacts processor;
  std::string driver;  ///< version of CUDA's driver, "13.0"
  std::string trouble; ///< why there is no GPU to use
  std::vector<GpuFacts> gpus;
  std::string cublasLt, cudnn, nccl;                      ///< versions; empty: not found, or of no use
  std::string cublasLtTrouble, cudnnTrouble, ncclTrouble; ///< why
  std::string target;                                     ///< for `npar compile`: what the first GPU runs best
};

/// Loads the driver and both libraries, and opens each GPU for a moment to see how much memory is free.
DeviceSurvey surveyDevices();

} // namespace npar::driver
