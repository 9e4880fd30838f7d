// Which launcher has started this process, and as which of how many: by the variables that launchers leave, without any of their libraries.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <functional>
#include <string>

namespace npar::engine {

/// The value of a variable of the environment; null where it is not set.
using Environment = std::function<const char *(const char *name)>;

/// How this process was started.
struct Launch {
  std::string launcher; ///< in words, such as "MPICH's mpiexec"; empty: a plain shell
  /// How its processes join: the MPI that it speaks with, "mpich" or "openmpi", or "tcp"; empty without launcher.
  std::string mpi;
  uint32_t process = 0, processes = 1;
  std::string address; ///< with "tcp": of process 0's host,
  uint16_t port = 0;   ///< where it listens,
  std::string run;     ///< and what tells jobs at that port apart

  bool isAlone() const { return processes == 1; }
};

/// Looks at what these set for each process that they start:
///
///   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE             Open MPI's mpiexec
///   PMI_RANK, PMI_SIZE                                     MPICH's mpiexec, and Slurm's srun --mpi=pmi2
///   PMIX_RANK with SLURM_STEP_NUM_TASKS                    Slurm's srun --mpi=pmix
///   SLURM_STEP_NUM_TASKS, SLURM_PROCID and none of these   Slurm's srun without PMI
///   RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT             torchrun, or whoever sets these; TORCHELASTIC_RUN_ID names the run
///
/// Where torchrun's agent listens at MASTER_PORT itself (TORCHELASTIC_USE_AGENT_STORE), process 0 takes the next port; NPAR_PORT names
/// another. A launcher with an MPI around these four is heard first where it gives the same numbers.
///
/// A shell inside of an allocation (salloc, a batch script) has variables of the job, SLURM_NTASKS say, but no step of its own: it is a
/// plain shell. Refuses several tasks that srun has started without PMI, for no MPI could join them; variables of two launchers that both
/// started several processes; and values that are no rank and number of processes.
Result<Launch> findLaunch(const Environment &environment);

} // namespace npar::engine
