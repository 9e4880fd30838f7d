// Each process of a job first describes itself. The others check that all run the same npar, and learn which processes share a machine.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::job {

struct Introduction {
  std::string host;                   ///< $NPAR_HOST, or the name of the machine
  std::string executable;             ///< hash of the driver's own bytes
  std::vector<std::string> arguments; ///< of the command line, without the program's name
  std::string features;               ///< of the processor, as far as the bits of a computation may depend on them, parted by spaces
  std::string instructions;           ///< the best set for products that NPAR_INSTRUCTIONS leaves, or what is wrong with that
  std::vector<uint8_t> processors;    ///< one byte for each of the machine, 1 where this process may run on it
};

/// Describes this process.
engine::Result<Introduction> introduceSelf();

std::vector<uint8_t> pack(const Introduction &introduction);
engine::Result<Introduction> unpackIntroduction(const std::vector<uint8_t> &bytes);

/// Refuses processes, by number, that differ from the first in what must be the same everywhere: the driver, what it was asked, and the
/// processor's features, for which process 0 generates the kernels of all, with the instructions that products use.
engine::Status checkAlike(const std::vector<Introduction> &processes);

/// The workers that a process takes where nobody says how many: the processors that it may run on, each shared evenly by the processes of
/// its host that may run on it too; at least 1.
int threadsOf(const std::vector<Introduction> &processes, size_t process);

/// "process 2 on 'host'".
std::string nameOf(const std::vector<Introduction> &processes, size_t process);

} // namespace npar::job
