// Finds the launcher of this process, its number and the number of processes, from environment variables alone, without any launcher's
// library.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <functional>
#include <string>

namespace npar::engine {

/// Returns the value of an environment variable; null if it is not set.
using Environment = std::function<const char *(const char *name)>;

/// Description of the way this process was started.
struct Launch {
  std::string launcher; ///< in words, such as "MPICH's mpiexec"; empty: a plain shell
  /// The way its processes connect: an MPI library, "mpich" or "openmpi", or "tcp"; empty without launcher.
  std::string mpi;
  uint32_t process = 0, processes = 1;
  std::string address;     ///< with "tcp": address of process 0's host,
  std::string addressFrom; ///< the variable that has it,
  uint16_t port = 0;       ///< the port where it listens,
  std::string run;         ///< and a name that distinguishes jobs at that port
  std::string incomplete;  ///< why a process without launcher must not train alone: variables of a job are missing; empty: it may

  bool isAlone() const { return processes == 1; }
};

/// Reads the variables that these launchers set for each process:
///
///   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE             Open MPI's mpiexec
///   PMI_RANK, PMI_SIZE                                     MPICH's mpiexec, and Slurm's srun --mpi=pmi2
///   PMIX_RANK with SLURM_STEP_NUM_TASKS                    Slurm's srun --mpi=pmix
///   SLURM_STEP_NUM_TASKS, SLURM_PROCID and none of these   Slurm's srun without PMI
///   RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT             torchrun, or a script that sets these; TORCHELASTIC_RUN_ID names the run
///   TF_CONFIG                                              TensorFlow's MultiWorkerMirroredStrategy (HostList.h)
///   SM_HOSTS, SM_CURRENT_HOST                              SageMaker: a process on each host (HostList.h)
///
/// If torchrun's agent itself listens at MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE), process 0 takes the next port; NPAR_PORT names another
/// one. If an MPI launcher around these four variables gives the same numbers, it has priority. TF_CONFIG and SM_HOSTS count only where no
/// launcher has started several processes; if one has, it must have started equally many for each of their hosts.
///
/// A shell inside of an allocation (salloc, a batch script) has variables of the job, such as SLURM_NTASKS, but no step of its own, and
/// counts as a plain shell. Refuses several tasks that srun started without PMI, because no MPI could join them; several processes of a
/// launcher whose variables do not tell where process 0 is (horovodrun, jsrun and others); variables of two launchers that both started
/// several processes; and values that are not a valid rank and number of processes. Variables of one of several processes without those
/// that it needs to find the others, such as WORLD_SIZE=4 without RANK, make a launch `incomplete`.
Result<Launch> findLaunch(const Environment &environment);

} // namespace npar::engine
