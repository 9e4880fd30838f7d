// Reads the variables of each launcher, and resolves several of them.
#include "engine/comm/process/Launcher.h"

#include "engine/comm/process/HostList.h"
#include "engine/status/OptionNames.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

namespace npar::engine {
namespace {

/// Environment variables in which a launcher passes a process its number and the number of processes.
struct Variables {
  const char *process, *processes;
};

constexpr Variables ofOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};
constexpr Variables ofPmi = {"PMI_RANK", "PMI_SIZE"};
constexpr Variables ofPmix = {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"};
constexpr Variables ofTorchrun = {"RANK", "WORLD_SIZE"};
constexpr Variables ofStep = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};

/// A launcher whose variables number the processes and do not tell where process 0 is. Without `processes` they do not even tell how many
/// there are.
struct OtherLauncher {
  const char *name;
  Variables variables;
};

constexpr OtherLauncher otherLaunchers[] = {
    {"horovodrun", {"HOROVOD_RANK", "HOROVOD_SIZE"}},
    {"jsrun", {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"}},
    {"Flux", {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"}},
    {"mpirun_rsh of MVAPICH", {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}},
    {"a launcher for JAX", {"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"}},
    {"a launcher for PaddlePaddle", {"PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"}},
    {"a launcher for MindSpore", {"RANK_ID", "RANK_SIZE"}},
    {"a launcher for MXNet", {"DMLC_WORKER_ID", "DMLC_NUM_WORKER"}},
    {"a script for each node", {"NODE_RANK", "NNODES"}},
    {"a script for each node", {"NODE_RANK", "NUM_NODES"}},
    {"Azure Machine Learning", {"NODE_RANK", "AZUREML_NODE_COUNT"}},
    {"a script for each node", {"PET_NODE_RANK", "PET_NNODES"}},
    {"a launcher with PMIx", {"PMIX_RANK", nullptr}},
    {"Cray's PALS", {"PALS_RANKID", nullptr}},
    {"Cray's ALPS", {"ALPS_APP_PE", nullptr}},
};

std::optional<uint32_t> numberIn(const char *text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  return error == std::errc() && *end == 0 && *text ? std::optional(value) : std::nullopt;
}

/// Ends a message about a variable that is no port.
std::string notAPort() {
  return optionsAreMembers ? "', which is not a port: a trainer without 'job' ignores launchers' variables"
                           : "', which is not a port: npar --alone ignores launchers' variables";
}

/// Reads a pair of variables; nothing if they are not both set.
Result<std::optional<Launch>> read(const Environment &environment, const Variables &variables, std::string launcher, std::string mpi) {
  const char *process = environment(variables.process), *processes = environment(variables.processes);
  if (!process || !processes)
    return std::optional<Launch>();
  std::optional<uint32_t> number = numberIn(process), count = numberIn(processes);
  if (!number || !count || *number >= *count)
    return Status::badInput(std::string(variables.process) + " is '" + process + "' and " + variables.processes + " is '" + processes +
                            "', which is no process of a job of " + launcher + ": start npar with a launcher, or " + wayToBeAlone() +
                            ", which ignores these variables");
  Launch launch;
  launch.launcher = std::move(launcher), launch.mpi = std::move(mpi), launch.process = *number, launch.processes = *count;
  return std::optional<Launch>(std::move(launch));
}

std::optional<uint16_t> portIn(const char *text, uint32_t add) {
  std::optional<uint32_t> port = numberIn(text);
  return port && *port > 0 && *port + add <= UINT16_MAX ? std::optional(static_cast<uint16_t>(*port + add)) : std::nullopt;
}

/// Reads torchrun's variables; nothing if they are not all set.
Result<std::optional<Launch>> readTorchrun(const Environment &environment) {
  const char *address = environment("MASTER_ADDR"), *port = environment("MASTER_PORT");
  if (!address || !port)
    return std::optional<Launch>();
  Result<std::optional<Launch>> read = npar::engine::read(environment, ofTorchrun, "torchrun", "tcp");
  if (!read.ok() || !*read)
    return read;
  const char *own = environment("NPAR_PORT"), *agent = environment("TORCHELASTIC_USE_AGENT_STORE"),
             *run = environment("TORCHELASTIC_RUN_ID");
  bool taken = !own && agent && std::strcmp(agent, "True") == 0;
  std::optional<uint16_t> number = portIn(own ? own : port, taken ? 1 : 0);
  if (!number)
    return Status::badInput(std::string(own ? "NPAR_PORT" : "MASTER_PORT") + " is '" + (own ? own : port) + notAPort());
  Launch &launch = **read;
  launch.address = address, launch.addressFrom = "MASTER_ADDR", launch.port = *number, launch.run = run ? run : "";
  return read;
}

Status twoLaunchers(const Launch &one, const Launch &other) {
  auto counted = [](const Launch &launch) {
    return launch.launcher + " (process " + std::to_string(launch.process) + " of " + std::to_string(launch.processes) + ")";
  };
  return Status::badInput("the environment has the variables of " + counted(one) + " and of " + counted(other) +
                          ": start npar with one of them, or " + wayToBeAlone() + ", which ignores both");
}

/// The launch by TF_CONFIG or SM_HOSTS, which SageMaker sets together; nothing if neither lists hosts.
Result<std::optional<Launch>> readHostLists(const Environment &environment) {
  TRY(std::optional<Launch> config, readTfConfig(environment));
  TRY(std::optional<Launch> hosts, readSageMaker(environment));
  if (config && hosts && (config->process != hosts->process || config->processes != hosts->processes))
    return twoLaunchers(*config, *hosts);
  std::optional<Launch> launch = config ? config : hosts;
  const char *port = environment("NPAR_PORT");
  if (!launch || !port)
    return launch;
  std::optional<uint16_t> number = portIn(port, 0);
  if (!number)
    return Status::badInput(std::string("NPAR_PORT is '") + port + notAPort());
  launch->port = *number;
  return launch;
}

/// Refuses several processes of a launcher that npar knows by name only.
Status refuseOthers(const Environment &environment) {
  for (const OtherLauncher &other : otherLaunchers) {
    const char *process = environment(other.variables.process);
    const char *processes = other.variables.processes ? environment(other.variables.processes) : nullptr;
    std::optional<uint32_t> count = processes ? numberIn(processes) : std::nullopt;
    if (!process || !numberIn(process) || (other.variables.processes && (!count || *count < 2)))
      continue;
    std::string said = std::string(other.variables.process) + "=" + process;
    std::string counted = "several";
    if (processes)
      counted = processes, said += std::string(", ") + other.variables.processes + "=" + processes;
    return Status::badInput(
        std::string(other.name) + " has started " + counted + " processes (" + said +
        "), and its variables do not tell where process 0 is: set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in each "
        "process, start npar with mpiexec or torchrun, or " +
        wayToBeAlone() + " to run each process separately");
  }
  return {};
}

/// Why a process without a launcher is one of several, by a variable without the others that it needs; empty: it is not.
std::string whyIncomplete(const Environment &environment) {
  struct Claim {
    const char *variable;
    uint32_t alone; ///< the largest value of a process that works alone
    std::vector<const char *> needs;
  };
  const std::vector<const char *> ofJob = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  for (const Claim &claim : std::initializer_list<Claim>{
           {ofTorchrun.processes, 1, ofJob},
           {ofTorchrun.process, 0, ofJob},
           {"LOCAL_WORLD_SIZE", 1, ofJob},
           {"LOCAL_RANK", 0, ofJob},
           {ofOpenMpi.processes, 1, {ofOpenMpi.process}},
           {ofOpenMpi.process, 0, {ofOpenMpi.processes}},
           {ofPmi.processes, 1, {ofPmi.process}},
           {ofPmi.process, 0, {ofPmi.processes}},
           {"HOROVOD_SIZE", 1, {"HOROVOD_RANK"}},
           {"HOROVOD_RANK", 0, {"HOROVOD_SIZE"}},
       }) {
    const char *value = environment(claim.variable);
    std::optional<uint32_t> number = value ? numberIn(value) : std::nullopt;
    if (!number || *number <= claim.alone)
      continue;
    std::string missing;
    for (const char *needed : claim.needs)
      if (const char *given = environment(needed); !given || !*given)
        missing += (missing.empty() ? "" : ", ") + std::string(needed);
    if (!missing.empty())
      return std::string(claim.variable) + " is " + value + ", so this is one of several processes, but " + missing +
             (missing.find(',') == std::string::npos ? " is" : " are") +
             " not set: set what is missing in each process, start npar with torchrun or mpiexec, or " + wayToBeAlone() +
             " to run this process by itself";
  }
  return {};
}

Launch withoutLauncher(const Environment &environment) {
  Launch launch;
  launch.incomplete = whyIncomplete(environment);
  return launch;
}

} // namespace

Result<Launch> findLaunch(const Environment &environment) {
  bool step = environment(ofStep.process) && environment(ofStep.processes);
  bool hydra = environment("HYDI_CONTROL_FD") || !step; // Hydra starts its own helpers with srun where it finds Slurm
  std::vector<Launch> found;
  for (Result<std::optional<Launch>> each : {
           read(environment, ofOpenMpi, "Open MPI's mpiexec", "openmpi"),
           read(environment, ofPmi, hydra ? "MPICH's mpiexec" : "Slurm's srun (PMI)", "mpich"),
           readTorchrun(environment),
       }) {
    if (!each.ok())
      return each.status();
    if (*each)
      found.push_back(**each);
  }
  TRY(std::optional<Launch> listed, readHostLists(environment));
  if (found.empty() && listed)
    return *listed;
  if (found.empty()) {
    Result<std::optional<Launch>> pmix = read(environment, ofPmix, "Slurm's srun (PMIx)", "openmpi");
    if (!pmix.ok())
      return pmix.status();
    Result<std::optional<Launch>> bare = *pmix ? std::optional<Launch>() : read(environment, ofStep, "Slurm's srun", "");
    if (!bare.ok())
      return bare.status();
    if (*bare && !(*bare)->isAlone())
      return Status::badInput("Slurm's srun has started " + std::to_string((*bare)->processes) +
                              " processes, but MPI cannot join them: start srun with --mpi=pmi2 (MPICH) or --mpi=pmix (Open MPI), or "
                              "npar with --alone to run each process separately");
    if (*pmix)
      return **pmix;
    if (!*bare)
      TRY_STATUS(refuseOthers(environment));
    return withoutLauncher(environment);
  }
  // A single-process launcher may wrap the one that started several processes: for example, srun around mpiexec.
  const Launch *several = nullptr;
  for (const Launch &each : found)
    if (!each.isAlone()) {
      if (several && each.mpi == "tcp" && each.process == several->process && each.processes == several->processes)
        continue; // a script has set these from the others
      if (several)
        return twoLaunchers(*several, each);
      several = &each;
    }
  const Launch &chosen = several ? *several : found.front();
  if (listed && !listed->isAlone()) {
    if (!several && chosen.mpi != "tcp") // an MPI's launcher of one process on each host
      return *listed;
    if (chosen.processes % listed->processes != 0)
      return twoLaunchers(chosen, *listed);
  }
  return chosen;
}

} // namespace npar::engine
